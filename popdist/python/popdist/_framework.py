"""What the framework modules share."""

import importlib
from typing import Any, Optional

from . import PopdistError, checkNumIpusPerReplica, getNumIpusPerReplica


def load(user: str, name: str, product: str) -> Any:
    """Imports the framework that the module `user` is for."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise ImportError(
            f"{user} needs {product}, which cannot be imported: {problem}. "
            f"Install the wheel of the Poplar SDK into this Python environment, and enable the SDK."
        ) from problem


def check_ipus(ipus_per_replica: Optional[int]) -> int:
    """The IPUs of a replica: what the caller says, unless the launcher says otherwise."""
    if ipus_per_replica is None:
        return getNumIpusPerReplica()
    if not checkNumIpusPerReplica(ipus_per_replica):
        raise PopdistError(
            f"the program wants {ipus_per_replica} IPUs per replica, but was started with "
            f"{getNumIpusPerReplica()}; start it with poprun --ipus-per-replica={ipus_per_replica}"
        )
    return ipus_per_replica
