"""The processes of a cluster.

Every process is marked in its environment with the cluster and the component it belongs to.
The kernel keeps that mark, so a process is found whatever happened to the program that
started it, and no file of process ids can be stale. Only marked processes are ever ended.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .paths import ClusterPaths
from .errors import UserError

CLUSTER_MARK = "IPU_OPERATOR_LOCAL_CLUSTER"
COMPONENT_MARK = "IPU_OPERATOR_LOCAL_COMPONENT"
SLOT_MARK = "IPU_OPERATOR_LOCAL_SLOT"
END_SECONDS = 20


@dataclass(frozen=True)
class Process:
    pid: int
    program: str
    component: str
    slot: int


def start(paths: ClusterPaths, slot: int, component: str, command: list[str], directory: Path) -> subprocess.Popen:
    """Starts a daemon in a session of its own; its output is appended to its log."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(Path.home()),
        CLUSTER_MARK: str(paths.folder),
        COMPONENT_MARK: component,
        SLOT_MARK: str(slot),
    }
    paths.logs.mkdir(parents=True, exist_ok=True)
    with paths.log(component).open("ab") as log:
        try:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                    cwd=directory, start_new_session=True)
        except OSError as error:
            raise UserError(f"{component} cannot be started: {command[0]}: {error.strerror}") from error


def find(paths: ClusterPaths) -> list[Process]:
    """Every living process that carries the mark of this cluster."""
    found = (_read(int(entry), str(paths.folder)) for entry in os.listdir("/proc") if entry.isdigit())
    return [process for process in found if process is not None]


def running(paths: ClusterPaths, component: str, program: str) -> Process | None:
    """The process of that component that runs that program (the kernel keeps 15 letters of the name)."""
    for process in find(paths):
        if process.component == component and process.program == program[:15]:
            return process
    return None


def _read(pid: int, cluster: str) -> Process | None:
    folder = Path(f"/proc/{pid}")
    try:
        marks = dict(
            item.split("=", 1)
            for item in (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            if item.startswith("IPU_OPERATOR_LOCAL_") and "=" in item
        )
        if marks.get(CLUSTER_MARK) != cluster or _is_dead(folder):
            return None
        program = (folder / "comm").read_text().strip()
        return Process(pid, program, marks.get(COMPONENT_MARK, ""), int(marks.get(SLOT_MARK, "0")))
    except (OSError, ValueError):
        return None  # gone meanwhile, or another user's


def _is_dead(folder: Path) -> bool:
    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
    return state in "ZX"


def end_all(paths: ClusterPaths) -> None:
    """Ends every process of the cluster and waits until the last one is gone.

    A dying process loses its mark before it closes its sockets, so each is held by a
    descriptor, which tells the end of all of it.
    """
    deadline = time.monotonic() + END_SECONDS
    while remaining := find(paths):
        with contextlib.ExitStack() as held:
            dying = [descriptor for process in remaining
                     if (descriptor := _kill(process, paths, held)) is not None]
            for descriptor in dying:
                _wait_for_end(descriptor, deadline)
        if time.monotonic() > deadline:
            names = ", ".join(f"{process.program} ({process.pid})" for process in remaining)
            raise UserError(f"These processes did not exit after SIGKILL: {names}.")


def _kill(process: Process, paths: ClusterPaths, held: contextlib.ExitStack) -> int | None:
    """Kills it if it is still the one that was found; what tells its end."""
    try:
        descriptor = os.pidfd_open(process.pid)
        held.callback(os.close, descriptor)
        if _read(process.pid, str(paths.folder)) == process:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return descriptor


def _wait_for_end(descriptor: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll(max(0, deadline - time.monotonic()) * 1000)
