"""One command of a lane: its output goes to a file, a line now and then tells that it is alive."""

import os
import signal
import subprocess
import time
from pathlib import Path

SIGN_OF_LIFE_S = 30
END_S = 90  # for a test program to take back what it made


def seconds(since: float) -> str:
    spent = round(time.monotonic() - since)
    return f"{spent // 60} min {spent % 60} s" if spent >= 60 else f"{spent} s"


def run(title: str, command: list[str], log: Path, limit_s: int, environment: dict[str, str] | None = None) -> int:
    """Runs the command to its end, or to the limit; returns its exit status (124: the limit was reached)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    print(f"   {title}", flush=True)
    with log.open("wb") as output:
        # A session of its own: a limit or an interrupt reaches everything that it started.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env=os.environ | (environment or {}), start_new_session=True)
    try:
        return _wait(process, title, log, begun, begun + limit_s)
    finally:
        _end(process)


def _wait(process: subprocess.Popen, title: str, log: Path, begun: float, deadline: float) -> int:
    while True:
        try:
            return process.wait(max(0.0, min(SIGN_OF_LIFE_S, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                print(f"   {title}: not over after {seconds(begun)}; it is ended", flush=True)
                return 124
            print(f"   ... {seconds(begun)}: {last_line(log)}", flush=True)


def _end(process: subprocess.Popen) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
            process.wait(END_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def last_line(log: Path, most: int = 100) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = stream.read().decode(errors="replace").replace("\r", "\n").split("\n")
    return next((line.strip()[:most] for line in reversed(lines) if line.strip()), "no output yet")


def tail(log: Path, count: int) -> list[str]:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 64 * 1024))
        return stream.read().decode(errors="replace").splitlines()[-count:]
