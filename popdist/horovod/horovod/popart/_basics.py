"""Who am I among the ranks."""

import os
from typing import Tuple

import popdist
from popdist import _popdist

TIMEOUT = "HOROVOD_POPART_BROADCAST_TIMEOUT"


def init() -> None:
    """Starts communication, unless PopDist has been started already. May be called again."""
    seconds = os.environ.get(TIMEOUT)
    if seconds:
        try:
            popdist.setTimeout(float(seconds))
        except ValueError:
            raise ValueError(f'{TIMEOUT} is "{seconds}", which is not a positive number of seconds') from None
    popdist.init()
    # The official horovodrun --gloo starts processes that MPI does not connect: each would train alone.
    expected, connected = os.environ.get("HOROVOD_SIZE"), size()
    if expected and expected.isdigit() and int(expected) != connected:
        raise RuntimeError(
            f"the launcher started {expected} processes, but only {connected} can communicate; start them with mpirun, "
            f"poprun, or the horovodrun of horovod-popart"
        )


def shutdown() -> None:
    """Ends communication; all ranks must come here. The end of the program does the same."""
    if popdist.isBackendInitialized():
        popdist.finalizeBackend()


def is_initialized() -> bool:
    return popdist.isBackendInitialized()


def size() -> int:
    return _place()[0]


def rank() -> int:
    return _place()[1]


def local_rank() -> int:
    """Among the ranks of this host."""
    _place()
    return int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK") or popdist.getLocalInstanceIndex())


def local_size() -> int:
    return int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") or _place()[0])


def _place() -> Tuple[int, int]:
    if not popdist.isBackendInitialized():
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _popdist.backend_place()
