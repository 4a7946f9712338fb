"""Waiting for a condition, with a deadline and with an eye on the processes it depends on."""

import http.client
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .problem import with_log

INTERVAL_S = 0.05


def until(what: str, holds: Callable[[], bool], log: Path, seconds: float,
          process: subprocess.Popen | None = None) -> None:
    """Returns when holds() does; fails when the process ends or the time is over."""
    deadline = time.monotonic() + seconds
    while not holds():
        if process is not None and process.poll() is not None:
            raise with_log(f"{what} did not happen: the process ended ({_ending(process.returncode)}).", log)
        if time.monotonic() > deadline:
            raise with_log(f"{what} did not happen within {seconds:.0f} seconds.", log)
        time.sleep(INTERVAL_S)


def _ending(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"exit status {code}"


def answers(host: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


def is_healthy(host: str, port: int, path: str = "/healthz") -> bool:
    """Whether the health page there, in plain HTTP, says so."""
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
