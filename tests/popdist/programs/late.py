"""The second instance comes only after the first would have given up at the usual time."""

import os
import threading

import popdist

popdist.init()
if popdist.getInstanceIndex() == 1:
    threading.Event().wait(3 * popdist.getTimeout())
popdist.synchronize(timeout=100)
os.write(1, b"together\n")
