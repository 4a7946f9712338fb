"""Weights go from one rank to all others."""

import os
import tempfile
from typing import Any, List, Optional

import numpy as np

import popdist

from ._popart import popart


def empty(session: Any, tensor: str) -> np.ndarray:
    """Memory for one tensor of the session."""
    info = session.getInfo(tensor)
    return np.empty(info.shape(), dtype=np.dtype(info.data_type_lcase()))


def initializers(model: Any) -> List[str]:
    """The tensors of a model (its bytes, or a file) that have initial values."""
    return sorted(popart.Builder(model).getTrainableTensorIds())


def _initializers_of(session: Any) -> List[str]:
    """No release of PopART lists them by session, but all write its model."""
    known: Optional[List[str]] = getattr(session, "horovod_initializers", None)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        session.modelToHost(path)
        return initializers(path)


def _empty_weight(session: Any, tensor: str) -> Optional[np.ndarray]:
    """None: the compiler has removed the tensor, because nothing uses it."""
    try:
        return empty(session, tensor)
    except popart.popart_exception:
        return None


def broadcast_weights(session: Any, root_rank: int = 0) -> None:
    """All ranks get the weights of root_rank. Call it after prepareDevice and before weightsFromHost."""
    # The initial weights can be read only from where the device has left them.
    session.weightsFromHost()
    session.weightsToHost()
    found = {tensor: _empty_weight(session, tensor) for tensor in _initializers_of(session)}
    weights = {tensor: array for tensor, array in found.items() if array is not None}
    session.readWeights(popart.PyWeightsIO(weights))
    for tensor, array in weights.items():
        popdist.collectives.broadcast(array, root_rank, f"horovod.weight.{tensor}")
    session.writeWeights(popart.PyWeightsIO(weights))
