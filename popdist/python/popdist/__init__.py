"""PopDist: who this instance is among all instances of a distributed run, and what they do together.

The get... functions read what poprun or ipu-launch put into the environment; without it they answer for a
program that runs alone. Collective operations (popdist.collectives), synchronize and execute_on_instances need
init() when there are several instances.
"""

import os
import threading
from typing import Any, Callable, Iterable, List, Optional, TypeVar

from . import _ending, _popdist
from ._popdist import (
    PopdistError,
    finalizeBackend,
    getInstanceIndex,
    getLocalInstanceIndex,
    getNumInstances,
    getNumIpusPerReplica,
    getNumLocalReplicas,
    getNumTotalReplicas,
    getReplicaIndexOffset,
    isBackendInitialized,
    isPopdistEnvSet,
)

__all__ = [
    "PopdistError",
    "checkNumIpusPerReplica",
    "defaultCommunicatorId",
    "execute_on_instances",
    "finalizeBackend",
    "getDeviceId",
    "getInstanceIndex",
    "getLocalInstanceIndex",
    "getNumInstances",
    "getNumIpusPerReplica",
    "getNumLocalReplicas",
    "getNumTotalReplicas",
    "getReplicaIndexOffset",
    "getTimeout",
    "init",
    "initializeBackend",
    "isBackendInitialized",
    "isPopdistEnvSet",
    "progress",
    "registerBackend",
    "registerCommunicator",
    "registerDefaultBackend",
    "setTimeout",
    "synchronize",
]

Result = TypeVar("Result")


def getDeviceId(ipusPerReplica: int = 0) -> int:
    """The device for this instance; 0 means as many IPUs per replica as the environment says."""
    return _popdist.getDeviceId(ipusPerReplica)


def checkNumIpusPerReplica(ipusPerReplica: int) -> bool:
    """False when the environment says another number of IPUs per replica."""
    return _popdist.checkNumIpusPerReplica(ipusPerReplica)


def defaultCommunicatorId() -> str:
    """The name of the communicator of all instances."""
    return _popdist.defaultCommunicatorId


def progress(percent: float, *, eta: Optional[float] = None, **metrics: object) -> bool:
    """Reports to the operator how far this program is, so that the job's status shows it: the percentage, the remaining
    seconds and metrics such as loss=0.23. Does not wait, and sends at most one report in 5 s; that of 100 is always sent and
    waited for. Only instance 0 reports, and outside of a job nobody. False: the last report has not arrived."""
    words = [os.fsencode(f"{name}={value}") for name, value in metrics.items()]
    return _popdist.progress(int(percent), -1 if eta is None else int(eta), words)


def init() -> None:
    """Starts communication with the other instances, until the interpreter ends. Again, it does nothing."""
    _popdist.init()
    _ending.watch()


def registerDefaultBackend() -> None:
    """Registers the Open MPI backend, or for a program that runs alone one that needs no library."""
    _popdist.registerDefaultBackend()


def registerBackend(path: "os.PathLike[str] | str") -> None:
    """Registers a backend of your own, a library that exports popdist_backend (popdist/backend.h)."""
    _popdist.registerBackend(os.fspath(path))


def initializeBackend() -> None:
    """Starts the registered backend."""
    _popdist.initializeBackend()
    _ending.watch()


def registerCommunicator(
    participants: Iterable[int], communicator_id: str = _popdist.defaultCommunicatorId
) -> None:
    """Names a set of instances; all instances make this call with the same arguments. Without a name, operations that
    have no other communicator are among these instances."""
    _popdist.register_communicator(sorted(participants), communicator_id)


def synchronize(communicator_id: Optional[str] = None, timeout: Optional[float] = None) -> None:
    """Waits until all instances (or those of the communicator, or all that use this key) have come here, at most
    timeout seconds (getTimeout() unless given)."""
    _popdist.synchronize(communicator_id or "popdist.synchronize", timeout or 0)


def getTimeout() -> float:
    """Seconds that an operation waits for the other instances; 30, or what POPDIST_COLLECTIVE_TIMEOUT says."""
    return _popdist.get_timeout()


def setTimeout(seconds: float) -> None:
    _popdist.set_timeout(seconds)


def execute_on_instances(
    instances: Iterable[int], func: Callable[..., Result], *args: Any, **kwargs: Any
) -> Optional[Result]:
    """Calls func on these instances only and returns its result there, and None elsewhere, at once.

    Collective operations that func makes in its own thread are among these instances.
    """
    chosen = sorted(set(instances))
    everybody, me = _popdist.backend_place() if isBackendInitialized() else (getNumInstances(), getInstanceIndex())
    if chosen and not 0 <= chosen[0] <= chosen[-1] < everybody:
        raise ValueError(f"instances must be from 0 to {everybody - 1}, got {chosen}")
    if me not in chosen:
        return None
    if everybody == 1:
        return func(*args, **kwargs)
    with _Among(chosen):
        return func(*args, **kwargs)


class _Among:
    """While it lasts, this thread's collectives are among these instances."""

    _outer = threading.local()

    def __init__(self, instances: List[int]):
        self._instances = instances

    def __enter__(self) -> None:
        _popdist.use_instances(self._instances)
        self._before = getattr(self._outer, "instances", [])
        self._outer.instances = self._instances

    def __exit__(self, *_: object) -> None:
        self._outer.instances = self._before
        if isBackendInitialized():
            _popdist.use_instances(self._before)


def _send_reports() -> None:
    """Makes this instance report where poprun --autoreport-dir says, by way of POPLAR_ENGINE_OPTIONS."""
    import json

    if not os.environ.get("POPDIST_AUTOREPORT_DIRECTORY"):
        return
    text = os.environ.get("POPLAR_ENGINE_OPTIONS") or "{}"
    try:
        options = json.loads(text)
    except ValueError as problem:
        raise PopdistError(f"POPLAR_ENGINE_OPTIONS is not valid JSON: {problem}; correct or unset it") from None
    if not isinstance(options, dict):
        raise PopdistError("POPLAR_ENGINE_OPTIONS is not a JSON object; correct or unset it")
    directory, enable_all = _popdist.autoreport()
    options["autoReport.directory"] = directory
    if enable_all:
        options["autoReport.all"] = "true"
    os.environ["POPLAR_ENGINE_OPTIONS"] = json.dumps(options, separators=(",", ":"))


_send_reports()

from . import collectives as collectives  # noqa: E402
from . import popdist_core as popdist_core  # noqa: E402
