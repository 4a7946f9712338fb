"""All sum large data again and again, until the second instance ends in the way that the argument names."""

import os
import signal
import sys
import threading

import numpy

import popdist

popdist.init()
data = numpy.zeros(1 << 20)
how = sys.argv[1]
begun = threading.Event()


def end():
    begun.wait()
    os.kill(os.getpid(), getattr(signal, how))


if popdist.getInstanceIndex() == 1 and how != "exception":
    threading.Thread(target=end, daemon=True).start()
while True:
    for _ in range(3):
        popdist.collectives.allReduceSum(data, "step")
    begun.set()
    if popdist.getInstanceIndex() == 1 and how == "exception":
        1 / 0
