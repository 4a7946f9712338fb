"""TensorFlow's IPU configuration for one instance of a distributed run."""

from typing import Any, Optional

from . import getDeviceId, getInstanceIndex, getNumInstances, isPopdistEnvSet
from ._framework import check_ipus, load

load("popdist.tensorflow", "tensorflow", "TensorFlow for the IPU")

__all__ = ["set_ipu_config"]


def set_ipu_config(config: Any, ipus_per_replica: Optional[int] = None, configure_device: bool = True) -> Any:
    """Sets this instance's place among all, and its device unless told otherwise, in an IPUConfig, and returns it. The
    caller configures the system with it afterwards."""
    ipus = check_ipus(ipus_per_replica)
    if configure_device and isPopdistEnvSet():
        config.select_ipus = [getDeviceId(ipus)]
    elif configure_device:
        config.auto_select_ipus = ipus
    distribution = config.experimental.multi_replica_distribution
    distribution.process_count = getNumInstances()
    distribution.process_index = getInstanceIndex()
    return config
