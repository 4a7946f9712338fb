"""The second instance runs the code that is given, perhaps while a thread of its own (daemon or not) waits for another
instance; the first waits for it meanwhile."""

import os
import sys
import threading

import popdist

popdist.init()
if popdist.getInstanceIndex() == 1:
    code, *threads = sys.argv[1:]
    for kind in threads:
        threading.Thread(target=popdist.synchronize, args=("never",), daemon=kind == "daemon").start()
    exec(code)
popdist.synchronize()
os.write(1, b"good\n")
