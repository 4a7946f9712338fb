"""PopTorch options for one instance of a distributed run."""

import threading
from typing import Any, NoReturn, Optional

from . import _popdist, getDeviceId, getInstanceIndex, getNumInstances, getNumLocalReplicas, isPopdistEnvSet
from ._framework import check_ipus, load

poptorch = load("popdist.poptorch", "poptorch", "PopTorch")
_options = load("popdist.poptorch", "poptorch.options", "PopTorch")

__all__ = ["Options"]


def _reject(name: str) -> NoReturn:
    raise RuntimeError(f"Cannot call `{name}` with popdist.poptorch.Options")


class _Distributed(_options._DistributedOptions):  # type: ignore[misc,name-defined]
    """Says no to what the launcher has decided."""

    def disable(self, *_: Any, **__: Any) -> NoReturn:
        _reject("Distributed.disable")

    def setEnvVarNames(self, *_: Any, **__: Any) -> NoReturn:
        _reject("Distributed.setEnvVarNames")

    def configureProcessId(self, *_: Any, **__: Any) -> NoReturn:
        _reject("Distributed.configureProcessId")


# PopTorch's constructor may call what its users must not.
_building = threading.local()


class Options(poptorch.Options):  # type: ignore[misc,name-defined]
    """poptorch.Options with replicas, device and process as the launcher says, which cannot be changed."""

    def __init__(self, ipus_per_replica: Optional[int] = None):
        ipus = check_ipus(ipus_per_replica)
        _building.yes = True
        try:
            super().__init__()
            self.replicationFactor(getNumLocalReplicas())
            # A program alone takes any free IPUs, as many as its model needs.
            if isPopdistEnvSet():
                self.useIpuId(getDeviceId(ipus))
        finally:
            _building.yes = False
        self.Distributed.configureProcessId(getInstanceIndex(), getNumInstances())
        # Options are frozen by attribute, so a wrapper would not be one of them; the class is what can change.
        self.Distributed.__class__ = _Distributed
        cache = _popdist.executable_cache_path()
        if cache:
            self.enableExecutableCaching(cache)

    def useIpuId(self, *args: Any, **kwargs: Any) -> Any:
        if not getattr(_building, "yes", False):
            _reject("useIpuId")
        return super().useIpuId(*args, **kwargs)

    def replicationFactor(self, *args: Any, **kwargs: Any) -> Any:
        if not getattr(_building, "yes", False):
            _reject("replicationFactor")
        return super().replicationFactor(*args, **kwargs)
