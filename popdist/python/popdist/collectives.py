"""Collective operations on host memory, in place and without a copy.

Data is a NumPy array or anything else with the buffer protocol or __dlpack__ in host memory, contiguous, of half,
float, double, bool or integers of 8 to 64 bits. Operations are matched by id, not by order: any order, any thread,
several at a time. An id that names a communicator means that one, without a key.

All raise PopdistError: "Tensor layouts did not match on all instances", or who did not come in time.
"""

from typing import Any, Optional

from . import _popdist

__all__ = ["allGather", "allReduceSum", "broadcast"]

_DEFAULT = _popdist.defaultCommunicatorId


def broadcast(data: Any, root: int = 0, id: str = _DEFAULT) -> None:
    """All get the data of the participant root, counted from 0."""
    _popdist.broadcast(data, root, id)


def allReduceSum(data: Any, id: str = _DEFAULT) -> None:
    """All get the sum over the participants, with the same bits; a mean is the caller's division."""
    _popdist.all_reduce_sum(data, id)


def allGather(data: Optional[Any], out: Any, id: str = _DEFAULT) -> None:
    """out gets the data of each participant, in their order. Without data, this instance's part stands in out."""
    _popdist.all_gather(data, out, id)
