"""One instance dies of an exception while the other waits for it."""

import popdist

popdist.init()
if popdist.getInstanceIndex() == 1:
    1 / 0
popdist.synchronize("never")
