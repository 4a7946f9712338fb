"""The same as collectives_load.c in Python: popdist.collectives beside mpi4py. Run it by mpirun."""
import itertools
import sys
import time

import numpy

import popdist
import popdist.collectives as collectives
from mpi4py import MPI

CALLS = {"small": 500, "large": 3}
COUNT = {"small": 2, "large": 16 << 20}

world = MPI.COMM_WORLD
roots = itertools.cycle(range(world.size))  # each is the root in turn, so that none runs ahead
popdist.init()


def operations(data):
    part = data.reshape(world.size, -1)
    return {
        "all-reduce": (lambda: world.Allreduce(MPI.IN_PLACE, data), lambda: collectives.allReduceSum(data, "sum")),
        "broadcast": (lambda: world.Bcast(data, root=next(roots)),
                      lambda: collectives.broadcast(data, next(roots), "weights")),
        "all-gather": (lambda: world.Allgather(MPI.IN_PLACE, part), lambda: collectives.allGather(None, part, "parts")),
    }


def measure(call, calls):
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    world.Barrier()
    return (time.perf_counter() - begin) / calls


def main(rounds):
    for size, count in COUNT.items():
        data = numpy.zeros(count, numpy.float32)
        for name, pair in operations(data).items():
            seen = [[measure(call, CALLS[size]) for call in pair] for _ in range(rounds if size == "small" else min(rounds, 5))]
            if world.rank == 0:
                print(name, size, *map(min, zip(*seen)), flush=True)


main(int(sys.argv[1]))
