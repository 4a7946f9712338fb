"""Waits for a condition, with a deadline; fails early if the process it depends on exits."""

import http.client
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .errors import with_log

INTERVAL_S = 0.05


def until(what: str, holds: Callable[[], bool], log: Path, seconds: float,
          process: subprocess.Popen | None = None) -> None:
    """Returns when holds() is true; raises UserError when the process exits or the deadline passes."""
    deadline = time.monotonic() + seconds
    while not holds():
        if process is not None and process.poll() is not None:
            raise with_log(f"{what}: the process exited ({_exit_reason(process.returncode)}).", log)
        if time.monotonic() > deadline:
            raise with_log(f"{what}: timed out after {seconds:.0f} seconds.", log)
        time.sleep(INTERVAL_S)


def _exit_reason(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def accepts_connections(host: str, port: int) -> bool:
    """Whether a TCP connection is accepted."""
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


def is_healthy(host: str, port: int, path: str = "/healthz") -> bool:
    """Whether the plain HTTP health endpoint returns 200."""
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
