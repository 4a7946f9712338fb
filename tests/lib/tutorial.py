"""A public tutorial of PopRun and PopDist: what it runs and what it shows. The instances of a run print when they like, so
what is compared is what each of them has printed."""

import re

HELLO_WORLD = "Hello World"
NOT_INVOKED = "poprun is not invoked.\n"
HELLO_WORDS = ["--num-replicas", "8", "--num-instances", "4", "--ipus-per-replica", "2"]
HELLO = """\
poprun is invoked with "--num-replicas 8", "--num-instances 4" and "--ipus-per-replica 2".
        - This message is generated from instance with index {index}.
        - The number of local replicas for this instance is 2.
        - The first replica index associated with this instance is {offset}.
        - The device ID for this instance is {device}.
        (To see the IPU chip IDs in this device, run "gc-info -d {device} --chip-id")
"""
# On a partition of 16 IPUs.
HELLO_OF_RANK = {rank: HELLO.format(index=rank, offset=2 * rank, device=24 + rank) for rank in range(4)}


def by_rank(printed, stream="stdout"):
    """What each rank has printed there. mpirun puts a tag before each piece that it gets, which may be less than a line."""
    pieces = re.split(r"\[1,(\d+)\]<(stdout|stderr)>:", printed)[1:]
    found = {}
    for rank, which, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if which == stream:
            found[int(rank)] = found.get(int(rank), "") + text
    return found
