"""Every operation of the Python package, on any number of instances; prints "good" on each."""

import os
import threading

import numpy

import popdist
import popdist.collectives as collectives


class Tensor:
    """Has __dlpack__ and nothing else, as tensors of some frameworks."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()


class VersionedTensor(Tensor):
    """Likewise, of frameworks that know version 1 of DLPack."""

    def __dlpack__(self, *, max_version=None):
        return self.array.__dlpack__(max_version=max_version)


def reduce(key, shape, kind):
    data = numpy.ones(shape, kind)
    collectives.allReduceSum(data, key)
    assert (data == (True if kind == "?" else instances)).all(), (key, kind, data)


def in_any_order():
    threads = [threading.Thread(target=reduce, args=(f"thread {n}", 3000 * n + 1, "i8")) for n in range(4)]
    for thread in threads[:: 1 if index % 2 else -1]:
        thread.start()
    for thread in threads:
        thread.join()


def only_the_first():
    alone = numpy.ones(1)
    collectives.allReduceSum(alone, "inside")
    return alone[0]


popdist.init()
instances, index = popdist.getNumInstances(), popdist.getInstanceIndex()
for kind in "efdbhilqBHILQ?":
    for shape in ((), 0, 3, (7, 1100)):
        reduce(f"sum {kind}", shape, kind)

for size in (5, 70001):
    weights = numpy.full(size, index, "f4")
    collectives.broadcast(Tensor(weights), instances - 1, "weights")
    assert (weights == instances - 1).all()
    parts = numpy.full((instances, size), -1, "i4")
    collectives.allGather(numpy.full(size, index, "i4"), parts, "parts")
    assert (parts == numpy.arange(instances)[:, None]).all()
    parts[[i for i in range(instances) if i != index]] = -1
    collectives.allGather(None, VersionedTensor(parts), "parts")
    assert (parts == numpy.arange(instances)[:, None]).all()

try:
    collectives.allReduceSum(numpy.zeros(4, "f2" if index else "f4"), "odd")
    assert instances == 1
except popdist.PopdistError as problem:
    assert str(problem).startswith("Tensor layouts did not match on all instances"), problem

in_any_order()
assert popdist.execute_on_instances({0}, only_the_first) == (1 if index == 0 else None)
pair = popdist.execute_on_instances({0, instances - 1}, only_the_first)
assert pair == (min(instances, 2) if index in (0, instances - 1) else None)
alone = numpy.ones(1)
popdist.execute_on_instances({0}, collectives.allReduceSum, alone)  # without an id
assert alone[0] == 1
popdist.registerCommunicator({0, instances - 1}, "ends")
if index in (0, instances - 1):
    both = numpy.ones(2)
    collectives.allReduceSum(both, "ends")
    assert (both == min(instances, 2)).all()
    pair = numpy.full(min(instances, 2), -1)
    collectives.allGather(numpy.full(1, index), pair, "ends")
    assert pair.tolist() == sorted({0, instances - 1})
popdist.synchronize()
os.write(1, b"good\n")  # at once, so that lines of several instances do not mix
