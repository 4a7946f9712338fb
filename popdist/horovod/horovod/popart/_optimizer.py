"""Gradients leave the IPU, are averaged over all ranks, and go back.

PopART names the streams: a prefix, and the tensor's id. What comes out of a gradient stream is reduced and kept;
the variable's stream asks for it later.
"""

import ctypes
from typing import Any, Callable, Dict

import numpy as np

import popdist

from ._basics import size
from ._popart import popart
from ._weights import empty

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _memory(stream: Any, array: np.ndarray) -> np.ndarray:
    """The stream's own memory, which PopART gives as an address or as a capsule with one, shaped as the array."""
    address = stream if isinstance(stream, int) else _pointer_of(stream, None)
    raw = (ctypes.c_byte * array.nbytes).from_address(address)
    return np.frombuffer(raw, dtype=array.dtype).reshape(array.shape)


def _tensors(session: Any, prefix: str) -> Dict[str, str]:
    """Tensor id -> stream id, of the streams with this prefix."""
    return {name[len(prefix) :]: name for name in session.getHostReduceStreamIds() if name.startswith(prefix)}


class DistributedOptimizer:
    """Averages the gradients of a session that was made with hostAllReduce."""

    def __init__(self, optimizer: Any, session: Any, session_options: Any):
        if not session_options.hostAllReduce:
            raise ValueError("the session has no streams for gradients; set SessionOptions.hostAllReduce before it is made")
        for option in ("hostAllReduceRemoteBuffer", "hostWeightUpdate"):
            if getattr(session_options, option, False):
                raise ValueError(f"SessionOptions.{option} is not supported; leave it off, then gradients go through streams")
        self.optimizer = optimizer
        self._session = session
        self._reduced: Dict[str, np.ndarray] = {}

    def insert_host_allreduce(self) -> None:
        """Connects the streams. Call it after prepareDevice and before the first run."""
        gradients = _tensors(self._session, popart.hostReduceGradCopyPrefix())
        for tensor, stream in gradients.items():
            self._reduced[tensor] = empty(self._session, tensor)
            self._session.connectStreamToCallback(stream, self._reduce(tensor), 0)
        for tensor, stream in _tensors(self._session, popart.hostReduceVarCopyPrefix()).items():
            if tensor not in gradients:
                raise ValueError(f"PopART asks for the gradient of {tensor}, but offers none")
            self._session.connectStreamToCallback(stream, self._give_back(tensor), 0)

    def _reduce(self, tensor: str) -> Callable[[Any], None]:
        reduced = self._reduced[tensor]

        def take(stream: Any) -> None:
            np.copyto(reduced, _memory(stream, reduced))
            popdist.collectives.allReduceSum(reduced, f"horovod.gradient.{tensor}")
            np.divide(reduced, size(), out=reduced)

        return take

    def _give_back(self, tensor: str) -> Callable[[Any], None]:
        reduced = self._reduced[tensor]
        return lambda stream: np.copyto(_memory(stream, reduced), reduced)
