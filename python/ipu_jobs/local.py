"""Jobs on this machine, without a cluster: each is a process of the program ipu-run, which continues when Python ends.

A job has a folder below ~/.local/state/ipu-jobs. Whether its process lives is told by a lock that the process inherits, so that any
Python process sees the same, and a number of a process that was used again is never taken for it."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections import deque
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, BinaryIO, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .backend import Backend, Object
from .errors import IpuJobsError
from .job import ENDED
from .lines import Position, lines

NAMESPACE = "default"
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
STATUS = re.compile(r" *([\d.]+) s  (\w+) *(.*)")
PROGRESS = "Progress"  # in place of a state: a report of the program
REPORT = re.compile(r"((?:(\d+)%|unknown)[^,:]*)(?:, (\S+) ([^:]*))?(?:: (.*))?")
POD = re.compile(r"-(worker-\d+|launcher(-\d+)?)$")
TIME = "%Y-%m-%dT%H:%M:%SZ"
PAUSE_S = 0.1
REJECTED = 2
MESSAGE = "ipu-run: "
NO_CAUSES = ("what differs on this machine:", "warning: ", "logs and final state are in ")
PIECE = 64 << 10


class Status(NamedTuple):
    seconds: float  # since the start
    state: str
    message: str


class Local(Backend):
    """ipus: how many are simulated; 64 if not set. program: where ipu-run is, if not in PATH."""

    def __init__(self, ipus: Optional[int] = None, program: str = "ipu-run") -> None:
        self._ipus, self._program = ipus, program
        home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
        self._root = Path(home) / "ipu-jobs"
        self._children: Dict[Path, "subprocess.Popen[bytes]"] = {}
        self._seen: Dict[str, Tuple[int, List[Status]]] = {}  # of each uid

    def default_namespace(self) -> str:
        return NAMESPACE

    def create(self, job: Object, config_map: Optional[Object], namespace: Optional[str]) -> Object:
        return self._start(job, [job] + ([config_map] if config_map else []), namespace, False)

    def apply_objects(self, objects: List[Object], job: Object, namespace: Optional[str]) -> Object:
        return self._start(job, objects, namespace, True)

    def _start(self, job: Object, objects: List[Object], namespace: Optional[str], may_replace: bool) -> Object:
        namespace = namespace or job["metadata"].get("namespace") or NAMESPACE
        name = job["metadata"].get("name")
        folder = self._folder(namespace, name)
        if folder.exists():
            if not may_replace or _is_running(folder):
                raise IpuJobsError(f"an IPUJob {name} exists already on this machine; delete it, or choose another name")
            shutil.rmtree(folder)
        metadata = {**job["metadata"], "namespace": namespace, "uid": str(uuid.uuid4()), "resourceVersion": "0",
                    "creationTimestamp": datetime.now(timezone.utc).strftime(TIME)}  # fmt: skip
        try:
            folder.mkdir(parents=True, mode=0o700)
            (folder / "job.json").write_text(json.dumps({**job, "metadata": metadata}))
            (folder / "input.yaml").write_text("\n---\n".join(
                json.dumps({**each, "metadata": {**each["metadata"], "namespace": namespace}}) for each in objects))  # fmt: skip
            child = self._children[folder] = self._spawn(folder)
            (folder / "pid").write_text(str(child.pid))
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            if error.filename == self._program:
                raise IpuJobsError(f"cannot run {self._program}: {error.strerror}; install it, or add its folder to PATH") from error
            raise IpuJobsError(f"cannot keep a job in {folder}: {error.strerror}") from error
        # It takes its own directory when it has accepted the job.
        while child.poll() is None and not (folder / "run" / "lock").exists():
            time.sleep(PAUSE_S / 10)
        if child.poll() == REJECTED:
            text = (folder / "messages").read_text(errors="replace").strip()
            shutil.rmtree(folder)
            # The file is one of this module, and no line of it is one of the user's.
            file = re.escape(str(folder / "input.yaml"))
            text = re.sub(rf"^{MESSAGE}(?:{file}: (?:line \d+: )?)?", "", text, flags=re.MULTILINE)
            raise IpuJobsError(re.sub(r"; use --ipus (\d+)$", r"; use Local(ipus=\1)", text, flags=re.MULTILINE))
        made = self.get(namespace, name)
        assert made is not None
        return made

    def _spawn(self, folder: Path) -> "subprocess.Popen[bytes]":
        import fcntl  # late: Windows has none

        command = [self._program, str(folder / "input.yaml"), "--run-dir", str(folder / "run")]
        command += ["--ipus", str(self._ipus)] if self._ipus is not None else []
        with open(folder / "lock", "wb") as lock, open(folder / "output", "wb") as output, open(folder / "messages", "wb") as messages:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=messages, start_new_session=True,
                                    pass_fds=(lock.fileno(),))  # fmt: skip

    def _folder(self, namespace: str, name: Any) -> Path:
        for each in (namespace, name):
            if not isinstance(each, str) or not NAME.fullmatch(each):
                raise IpuJobsError(f"a name has lower case letters, digits, '-' and '.', got {each!r}")
        return self._root.joinpath(namespace, str(name))

    def get(self, namespace: str, name: str) -> Optional[Object]:
        folder = self._folder(namespace, name)
        try:
            is_running = self._is_alive(folder)  # before anything is read, so that nothing is missing when it has ended
            job: Object = json.loads((folder / "job.json").read_text())
            is_deleted = (folder / "deleted").exists()
        except (FileNotFoundError, ValueError):
            return None
        if is_deleted and not is_running:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        seen = self._statuses(folder, job["metadata"]["uid"])
        status: Dict[str, Any] = {"launcherStatus": "Pending", "lastMessage": ""}
        if is_running:
            # The end is told when the final object is there.
            going = [each for each in seen if each.state not in (*ENDED, PROGRESS)]
            if going:
                status = {"launcherStatus": going[-1].state, "lastMessage": going[-1].message}
            status.update(_progress([each.message for each in seen if each.state == PROGRESS]))
        else:
            status = _final(folder, name)
        job["metadata"]["resourceVersion"] = str(len(seen) + (not is_running) + is_deleted)
        return {**job, "status": {**status, **({"launcherStatus": "Terminating"} if is_deleted else {})}}

    def _is_alive(self, folder: Path) -> bool:
        child = self._children.get(folder)
        if child is not None:
            child.poll()  # its parent takes its exit status
        return _is_running(folder)

    def _statuses(self, folder: Path, uid: str) -> List[Status]:
        """The lines of the output that are not a pod's, which begin with a rank. Only what is new is read."""
        offset, found = self._seen.get(uid, (0, []))
        with open(folder / "output", "rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                match = STATUS.fullmatch(line[:-1].decode("utf-8", "replace"))
                if match:
                    found.append(Status(float(match[1]), match[2], match[3]))
        self._seen[uid] = (offset, found)
        return found

    def list(self, namespace: str) -> List[Object]:
        folder = self._folder(namespace, "x").parent
        names = sorted(each.name for each in folder.iterdir()) if folder.exists() else []
        return [job for job in (self.get(namespace, name) for name in names) if job is not None]

    def patch(self, namespace: str, name: str, patch: Object) -> Object:
        raise IpuJobsError("ipu-run cannot suspend or resume a job; delete it, and submit it again")

    def delete(self, namespace: str, name: str, uid: str) -> None:
        job = self.get(namespace, name)
        if job is None or job["metadata"]["uid"] != uid:
            return
        folder = self._folder(namespace, name)
        try:
            (folder / "deleted").touch(exist_ok=False)
            if self._is_alive(folder):
                os.kill(int((folder / "pid").read_text()), signal.SIGINT)
        except (FileExistsError, ProcessLookupError):
            pass  # it is ending: a second signal would not let it end in order

    def watch_job(self, namespace: str, name: str, version: str, seconds: int) -> Iterator[Tuple[str, Object]]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            job = self.get(namespace, name)
            if job is None:
                return  # the caller finds that out
            if job["metadata"]["resourceVersion"] != version:
                version = job["metadata"]["resourceVersion"]
                yield "MODIFIED", job
            time.sleep(PAUSE_S)

    def get_pod(self, namespace: str, name: str) -> Optional[Object]:
        folder = self._folder_of_pod(namespace, name)
        job = self.get(namespace, folder.name)
        if job is None:
            return None
        container = job["spec"]["workers"]["template"]["spec"]["containers"][0]["name"]
        if not _log(folder, name, container).exists():
            return None
        state = "running" if self._is_alive(folder) else "terminated"
        return {"metadata": {"name": name, "uid": job["metadata"]["uid"]},
                "spec": {"nodeName": "localhost", "containers": [{"name": container}]},
                "status": {"containerStatuses": [{"name": container, "state": {state: {}}}]}}  # fmt: skip

    def await_pod_change(self, namespace: str, name: str, seen: Optional[Object], seconds: int) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.get_pod(namespace, name) == seen:
            time.sleep(PAUSE_S)

    def _folder_of_pod(self, namespace: str, pod: str) -> Path:
        return self._folder(namespace, POD.sub("", pod))

    def read_log(self, namespace: str, pod: str, container: str, tail: Optional[int]) -> Iterator[str]:
        with open(_log(self._folder_of_pod(namespace, pod), pod, container), "rb") as file:
            yield from _last(file, tail)

    def follow_log(self, namespace: str, pod: str, container: str, position: Position, tail: Optional[int]) -> Iterator[str]:
        folder = self._folder_of_pod(namespace, pod)
        with open(_log(folder, pod, container), "rb") as file:
            file.seek(position.offset)
            if tail is not None:
                yield from _last(file, tail)
            yield from lines(self._growing(file, folder))
            position.offset = file.tell()

    def _growing(self, file: BinaryIO, folder: Path) -> Iterator[bytes]:
        """What is there, and what comes until the process has ended."""
        while True:
            is_running = self._is_alive(folder)
            piece = file.read(PIECE)
            if piece:
                yield piece
            elif is_running:
                time.sleep(PAUSE_S)
            else:
                return

    def list_events(self, namespace: str, name: str, uid: str) -> List[Object]:
        """ipu-run prints no events but the changes of the job's state."""
        job, folder = self.get(namespace, name), self._folder(namespace, name)
        if job is None or job["metadata"]["uid"] != uid:
            return []
        began = datetime.strptime(job["metadata"]["creationTimestamp"], TIME)
        return [{"eventTime": (began + timedelta(seconds=each.seconds)).strftime(TIME), "note": each.message, "reason": each.state,
                 "type": "Warning" if each.state == "Failed" else "Normal"} for each in self._statuses(folder, uid) if each.state != PROGRESS]  # fmt: skip


def _progress(reports: List[str]) -> Dict[str, Any]:
    """The members of the status, as far as the last report that was printed has them."""
    match = REPORT.fullmatch(reports[-1]) if reports else None
    if not match:
        return {}
    metrics = [{"name": match[3], "value": match[4]}] if match[3] else []
    progress = {"summary": match[1], "percentage": int(match[2]) if match[2] else None, "problem": match[5]}
    return {"progress": {key: value for key, value in progress.items() if value is not None}, "trainerStatus": {"metrics": metrics}}


def _is_running(folder: Path) -> bool:
    import fcntl

    with open(folder / "lock", "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _final(folder: Path, name: str) -> Dict[str, Any]:
    """The status that ipu-run left; without one it was killed, or could not go on."""
    try:
        status: Dict[str, Any] = json.loads((folder / "run" / f"{name}.json").read_text())["status"]
        return status
    except (OSError, ValueError, KeyError):
        causes = [line for line in (folder / "messages").read_text(errors="replace").splitlines() if _is_cause(line)]
        return {"launcherStatus": "Failed", "reason": "Killed", "lastMessage": (causes or ["ipu-run was killed"])[-1]}


def _is_cause(line: str) -> bool:
    return line.startswith(MESSAGE) and not line.startswith(tuple(MESSAGE + each for each in NO_CAUSES))


def _log(folder: Path, pod: str, container: str) -> Path:
    return folder / "run" / "logs" / f"{pod}.{container}.log"


def _last(file: BinaryIO, tail: Optional[int]) -> Iterable[str]:
    found = lines(iter(lambda: file.read(PIECE), b""))
    return found if tail is None else deque(found, tail)
