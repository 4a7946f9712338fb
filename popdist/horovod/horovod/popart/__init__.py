"""Horovod for PopART: all ranks start with the same weights and apply the same, averaged gradients.

    opts.hostAllReduce = True
    session = popart.TrainingSession(...)
    session.prepareDevice()
    hvd.init()
    hvd.DistributedOptimizer(optimizer, session, opts).insert_host_allreduce()
    hvd.broadcast_weights(session, root_rank=0)
    session.weightsFromHost()

Ranks are those of horovodrun, mpirun or poprun; the operations are PopDist's.
"""

from ._basics import init, is_initialized, local_rank, local_size, rank, shutdown, size
from ._optimizer import DistributedOptimizer
from ._session import DistributedTrainingSession
from ._weights import broadcast_weights

__all__ = [
    "DistributedOptimizer",
    "DistributedTrainingSession",
    "broadcast_weights",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "rank",
    "shutdown",
    "size",
]
