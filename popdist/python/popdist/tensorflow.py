"""TensorFlow's IPU configuration for one instance of a distributed run."""

from typing import Any, Optional

from . import getDeviceId, getInstanceIndex, getNumInstances
from ._framework import check_ipus, load

load("popdist.tensorflow", "tensorflow", "TensorFlow for the IPU")

__all__ = ["set_ipu_config"]


def set_ipu_config(config: Any, ipus_per_replica: Optional[int] = None, configure_device: bool = True) -> Any:
    """Sets device and place of this instance in an IPUConfig, and configures the system unless told otherwise."""
    config.select_ipus = [getDeviceId(check_ipus(ipus_per_replica))]
    config.multi_replica_distribution.process_count = getNumInstances()
    config.multi_replica_distribution.process_index = getInstanceIndex()
    if configure_device:
        config.configure_ipu_system()
    return config
