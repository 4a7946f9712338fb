"""The last instance stays away from one operation; all meet again in the next."""

import os
import sys

import numpy

import popdist

popdist.init()
data = numpy.ones(4)
if popdist.getInstanceIndex() < popdist.getNumInstances() - 1:
    try:
        popdist.collectives.allReduceSum(data, "step")
    except popdist.PopdistError as problem:
        os.write(1, f"{problem}\n".encode())
popdist.setTimeout(100)
popdist.synchronize("again")
if popdist.getInstanceIndex() == 0:
    os.write(1, b"back\n")
sys.stdout.flush()
