"""The same as collectives_load.c in Python: popdist.collectives beside mpi4py and, if asked for, torch's gloo. Run it
by mpirun; rank 0 prints "NAME SIZE MPI POPDIST [TORCH]" lines, one for each round: seconds of a call."""
import itertools
import os
import socket
import sys
import time

import numpy

import popdist
import popdist.collectives as collectives
from mpi4py import MPI

SIZES = {"small": (2, 200), "large": (16 << 20, 1)}  # floats, calls of a round

world = MPI.COMM_WORLD
roots = itertools.cycle(range(world.size))  # each is the root in turn, so that none runs ahead


def with_mpi(data):
    part = data.reshape(world.size, -1)
    return {"all-reduce": lambda: world.Allreduce(MPI.IN_PLACE, data),
            "broadcast": lambda: world.Bcast(data, root=next(roots)),
            "all-gather": lambda: world.Allgather(MPI.IN_PLACE, part)}


def with_popdist(data):
    return {"all-reduce": lambda: collectives.allReduceSum(data, "sum"),
            "broadcast": lambda: collectives.broadcast(data, next(roots), "weights"),
            "all-gather": lambda: collectives.allGather(None, data, "parts")}


def with_torch(data):
    import torch
    import torch.distributed as distributed
    if not distributed.is_initialized():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = world.bcast(probe.getsockname()[1])
        os.environ.update(GLOO_SOCKET_IFNAME="lo", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        distributed.init_process_group("gloo", rank=world.rank, world_size=world.size)
    tensor, out = torch.from_numpy(data), torch.empty(data.size)
    part = tensor[: data.size // world.size]
    return {"all-reduce": lambda: distributed.all_reduce(tensor),
            "broadcast": lambda: distributed.broadcast(tensor, next(roots)),
            "all-gather": lambda: distributed.all_gather_into_tensor(out, part)}


def measure(call, calls):
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    world.Barrier()
    return (time.perf_counter() - begin) / calls


def compare(contenders, size, rounds):
    """Round 0 finds cold memory and connections and does not count. Who is first changes from round to round."""
    count, calls = SIZES[size]
    data = numpy.zeros(count, numpy.float32)
    operations = [contender(data) for contender in contenders]
    for name in operations[0]:
        for number in range(rounds + 1):
            order = range(len(contenders)) if number % 2 else reversed(range(len(contenders)))
            seconds = {i: measure(operations[i][name], calls) for i in order}
            if number and world.rank == 0:
                print(name, size, *(seconds[i] for i in range(len(contenders))), flush=True)


popdist.init()
chosen = [with_mpi, with_popdist] + ([with_torch] if sys.argv[3:] == ["torch"] else [])
compare(chosen, "small", int(sys.argv[1]))
compare(chosen, "large", int(sys.argv[2]))
