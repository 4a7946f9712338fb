"""PopART session options and device for one instance of a distributed run."""

from typing import Any, Optional

from . import (
    PopdistError,
    _popdist,
    getDeviceId,
    getNumInstances,
    getNumLocalReplicas,
    getNumTotalReplicas,
    getReplicaIndexOffset,
    isPopdistEnvSet,
)
from ._framework import check_ipus, load

popart = load("popdist.popart", "popart", "PopART")

__all__ = ["configureSessionOptions", "getDevice"]


def configureSessionOptions(opts: Any) -> None:
    """Sets what the launcher has decided: replicas of this instance and of all, and the executable cache."""
    opts.enableReplicatedGraphs = getNumLocalReplicas() > 1
    opts.replicatedGraphCount = getNumLocalReplicas()
    opts.enableDistributedReplicatedGraphs = getNumInstances() > 1
    opts.globalReplicaOffset = getReplicaIndexOffset()
    opts.globalReplicationFactor = getNumTotalReplicas()
    cache = _popdist.executable_cache_path()
    if cache:
        opts.enableEngineCaching = True
        opts.cachePath = cache


def getDevice(ipus_per_replica: Optional[int] = None, connectionType: Optional[Any] = None) -> Any:
    """This instance's popart.DeviceInfo; connectionType is Always unless given."""
    if connectionType is None:
        connectionType = popart.DeviceConnectionType.Always
    ipus = check_ipus(ipus_per_replica)
    if isPopdistEnvSet():
        wanted = f"device {getDeviceId(ipus)}"
        device = popart.DeviceManager().acquireDeviceById(getDeviceId(ipus), connectionType=connectionType)
    else:
        wanted = f"a device of {ipus} IPUs"
        device = popart.DeviceManager().acquireAvailableDevice(ipus, connectionType=connectionType)
    if device is None:
        raise PopdistError(
            f"{wanted} cannot be acquired; see with gc-monitor who has it, and with gc-info -l what there is"
        )
    return device
