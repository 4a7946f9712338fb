"""One job: its state, its log, its events, and what can be done with it."""

import math
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional

from . import manifest
from .errors import ApiError, IpuJobsError, JobDeleted, JobFailed, Unreachable
from .lines import Position

if TYPE_CHECKING:
    from .backend import Backend

ENDED = ("Completed", "Failed")
DELETED = "Deleted"  # not a state of the operator: the object is gone
STATES = ("Pending", "Starting", "Running", "Restarting", "Suspended", "Terminating", *ENDED, DELETED)
FRESH_S = 1.0
WATCH_S = 300
POD_WATCH_S = 10  # how late the log of a job is left that has ended without a pod
UNREACHABLE_S = 300
PAUSE_MAX_S = 15.0
REPLACED = (400, 404)  # a log of a pod that was replaced meanwhile


class Event(NamedTuple):
    time: str
    type: str
    reason: str
    note: str


class Progress(NamedTuple):
    """What the job's program reports of its progress."""

    summary: str  # "42%", and whether the last report is stale or invalid
    percentage: Optional[int]
    end_time: Optional[str]
    metrics: Dict[str, str]


class Job:
    """An IPUJob. `state`, `reason` and `message` are current: they are read again when they are older than a second."""

    def __init__(self, backend: "Backend", job_object: Dict[str, Any]) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._object = job_object
        self._deleted = False
        self._read_at = time.monotonic()

    def __repr__(self) -> str:
        return f"<Job {self.namespace}/{self.name}: {self._state()}>"

    @property
    def name(self) -> str:
        return str(self._object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self._object["metadata"]["namespace"])

    @property
    def uid(self) -> str:
        return str(self._object["metadata"]["uid"])

    @property
    def object(self) -> Dict[str, Any]:
        """As it was last read; not to be changed."""
        return self._object

    @property
    def state(self) -> str:
        """One of STATES."""
        self._read_if_old()
        return self._state()

    @property
    def reason(self) -> str:
        self._read_if_old()
        return str(self._status().get("reason", ""))

    @property
    def message(self) -> str:
        self._read_if_old()
        return self._message()

    @property
    def progress(self) -> Optional[Progress]:
        """None if the program has not reported any."""
        self._read_if_old()
        found = self._status().get("progress")
        if not found:
            return None
        metrics = (self._status().get("trainerStatus") or {}).get("metrics") or []
        return Progress(found.get("summary", ""), found.get("percentage"), found.get("estimatedEndTime"),
                        {each["name"]: each["value"] for each in metrics})  # fmt: skip

    def _status(self) -> Dict[str, Any]:
        status: Dict[str, Any] = self._object.get("status") or {}
        return status

    def _state(self) -> str:
        return DELETED if self._deleted else str(self._status().get("launcherStatus", "Pending"))

    def _message(self) -> str:
        return str(self._status().get("lastMessage", ""))

    def _read_if_old(self) -> None:
        if not self._deleted and time.monotonic() - self._read_at > FRESH_S:
            self.refresh()

    def refresh(self) -> "Job":
        """Reads the job now."""
        found = self._backend.get(self.namespace, self.name)
        with self._lock:
            self._read_at = time.monotonic()
            if found is None or found["metadata"]["uid"] != self.uid:
                self._deleted = True
            else:
                self._accept(found)
        return self

    def _accept(self, seen: Dict[str, Any]) -> None:
        """What a watch or another thread reads may be older than what a write has returned: never goes back."""
        if is_newer(seen["metadata"]["resourceVersion"], self._object["metadata"]["resourceVersion"]):
            self._object = seen

    def watch(self, timeout: Optional[float] = None) -> Iterator["Job"]:
        """The job, now and at each change of state, reason or message, until it has ended or is deleted."""
        end = None if timeout is None else time.monotonic() + timeout
        before = None
        for _ in self._changes(end):
            now = (self._state(), self._status().get("reason"), self._message())
            if now != before:
                before = now
                yield self
            if now[0] in (*ENDED, DELETED):
                return
        raise self._timed_out("has not ended", timeout)

    def _changes(self, end: Optional[float]) -> Iterator[None]:
        """Yields after each reading of the job, until that time."""
        patience = Patience(end)
        while True:
            try:
                self.refresh()
                patience.reset()
                yield
                left = WATCH_S if end is None else end - time.monotonic()
                if left <= 0:
                    return
                version = self._object["metadata"]["resourceVersion"]
                for kind, seen in self._backend.watch_job(self.namespace, self.name, version, min(WATCH_S, math.ceil(left))):
                    self._take(kind, seen)
                    yield
            except (Unreachable, ApiError) as error:
                patience.wait(error)

    def _take(self, kind: str, seen: Dict[str, Any]) -> None:
        with self._lock:
            if seen["metadata"]["uid"] != self.uid:
                self._deleted = True
                return
            self._accept(seen)
            self._read_at = time.monotonic()
            self._deleted = self._deleted or kind == "DELETED"

    def wait(self, until: str = "Completed", timeout: Optional[float] = None) -> "Job":
        """Waits for a state: "Completed", "Running", "Suspended", "Deleted", ... A job that has failed raises JobFailed, and one
        that is deleted JobDeleted. Ctrl-C ends the waiting, not the job."""
        if until not in STATES:
            raise IpuJobsError(f"until must be one of {', '.join(STATES)}, got {until!r}")
        end = None if timeout is None else time.monotonic() + timeout
        try:
            for _ in self._changes(end):
                state = self._state()
                if state == until or (state == "Completed" and until in ("Starting", "Running")):
                    return self
                if state == DELETED:
                    raise JobDeleted(f"{self.namespace}/{self.name} is deleted")
                if state == "Failed" and until != DELETED:
                    raise JobFailed(self._summary(), next(iter(self._status().get("failures") or []), {}))
                if state == "Completed" and until != DELETED:
                    raise IpuJobsError(f"{self.namespace}/{self.name} is Completed and cannot become {until}")
        except KeyboardInterrupt:
            print(f"{self.namespace}/{self.name} continues; job.delete() ends it", file=sys.stderr)
            raise
        raise self._timed_out(f"is not {until}", timeout)

    def _timed_out(self, what: str, timeout: Optional[float]) -> TimeoutError:
        return TimeoutError(f"{self.namespace}/{self.name} {what} after {timeout:g} s; it is {self._told_state()}")

    def _summary(self) -> str:
        return f"{self.namespace}/{self.name} is {self._told_state()}"

    def _told_state(self) -> str:
        return self._state() + (f": {self._message()}" if self._message() else "")

    def logs(self, worker: Optional[int] = None, instance: int = 0, follow: bool = False, tail: Optional[int] = None) -> Iterator[str]:
        """The lines that a pod has written: a worker of the instance, without `worker` the launcher if the job has one, else the first
        worker. With `follow` the lines come as they are written, also those of restarts, until the job has ended. `tail` begins that
        many lines before the end."""
        pod = manifest.pod_name(self._object, worker, instance)
        return self._follow(pod, tail) if follow else self._read_log(pod, tail)

    def _read_log(self, pod: str, tail: Optional[int]) -> Iterator[str]:
        found = self._backend.get_pod(self.namespace, pod)
        if found is None or not _has_started(found):
            has_ended = self.refresh()._state() in (*ENDED, DELETED)
            what = f"pod {pod} is gone, or was never started" if has_ended else f"pod {pod} has no log yet"
            raise IpuJobsError(f"{what}; {self._summary()}")
        yield from self._backend.read_log(self.namespace, pod, _first_container(found), tail)

    def _follow(self, pod: str, tail: Optional[int]) -> Iterator[str]:
        uid, position, is_read = "", Position(), False
        patience = Patience(None)
        while True:
            try:
                found = self._backend.get_pod(self.namespace, pod)
                patience.reset()
                if found is not None and found["metadata"]["uid"] != uid:
                    uid, position, is_read = found["metadata"]["uid"], Position(), False
                if found is not None and not is_read and _has_started(found):
                    has_ended = _has_ended(found)  # before the stream begins, so that it has the last line
                    yield from self._backend.follow_log(self.namespace, pod, _first_container(found), position, tail)
                    tail, is_read = None, has_ended
                    if not has_ended:  # it has just ended, or the stream did
                        self._backend.await_pod_change(self.namespace, pod, found, 1)
                    continue
                self.refresh()
                if self._state() in (*ENDED, DELETED) and (found is None or is_read or _never_starts(found)):
                    return
                self._backend.await_pod_change(self.namespace, pod, found, POD_WATCH_S)
            except (Unreachable, ApiError) as error:
                tail = None if position.is_used() else tail
                if not isinstance(error, ApiError) or error.status not in REPLACED:
                    patience.wait(error)

    def events(self) -> List[Event]:
        """What the operator reports about the job, the oldest first."""
        found = (
            Event(str(each.get("eventTime") or ""), each.get("type", ""), each.get("reason", ""), each.get("note", ""))
            for each in self._backend.list_events(self.namespace, self.name, self.uid)
        )
        return sorted(found, key=lambda event: event.time)

    def suspend(self) -> "Job":
        """Ends the pods and releases the IPUs; resume() starts again."""
        return self._patch({"suspend": True})

    def resume(self) -> "Job":
        return self._patch({"suspend": False})

    def _patch(self, spec: Dict[str, Any]) -> "Job":
        written = self._backend.patch(self.namespace, self.name, {"metadata": {"uid": self.uid}, "spec": spec})
        with self._lock:
            self._accept(written)
        self._read_at = -math.inf
        return self

    def delete(self) -> "Job":
        """Ends the job and removes it with its pods; wait("Deleted") waits until its IPUs are released."""
        self._backend.delete(self.namespace, self.name, self.uid)
        self._read_at = -math.inf
        return self


class Patience:
    """With an API server that is away, or has trouble of its own."""

    def __init__(self, end: Optional[float]) -> None:
        self._end, self._since, self._pause = end, math.inf, 0.0

    def reset(self) -> None:
        self._since, self._pause = math.inf, 0.0

    def wait(self, error: IpuJobsError) -> None:
        """Raises what does not pass by itself, or has lasted too long."""
        now = time.monotonic()
        self._since = min(self._since, now)
        if isinstance(error, ApiError) and error.status < 500:
            raise error
        if now - self._since > UNREACHABLE_S or (self._end is not None and now > self._end):
            raise error
        self._pause = min(max(2 * self._pause, 0.5), PAUSE_MAX_S)
        time.sleep(self._pause)


def is_newer(version: str, than: str) -> bool:
    """Versions of one resource are numbers (KEP-5504)."""
    return not (version.isdigit() and than.isdigit()) or int(version) > int(than)


def _statuses(pod: Dict[str, Any]) -> Dict[str, Any]:
    found = (pod.get("status") or {}).get("containerStatuses") or []
    return {each["name"]: each.get("state") or {} for each in found}


def _first_container(pod: Dict[str, Any]) -> str:
    return str(pod["spec"]["containers"][0]["name"])


def _has_started(pod: Dict[str, Any]) -> bool:
    state = _statuses(pod).get(_first_container(pod), {})
    return "running" in state or "terminated" in state


def _has_ended(pod: Dict[str, Any]) -> bool:
    return "terminated" in _statuses(pod).get(_first_container(pod), {})


def _never_starts(pod: Dict[str, Any]) -> bool:
    return not pod["spec"].get("nodeName") or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
