"""One command as a step that a person watches: its output goes to a file, and a line now and then tells that
it is alive. Everything that the command started ends with it when it is interrupted or takes too long."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

SLICE_S = 0.5
SIGN_OF_LIFE_S = 30
END_S = 90  # for the command to take back what it made
TOO_LONG = 124


class Stopped(Exception):
    """Somebody who waits for this step no longer wants it."""


def spent(since: float) -> str:
    seconds = round(time.monotonic() - since)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


def run(command: list[str], log: Path, limit_s: float, *, echo: bool = False, indent: str = "   ",
        environment: dict[str, str] | None = None, stop: threading.Event | None = None) -> int:
    """The command's exit status, or TOO_LONG. With echo its lines are shown, otherwise the newest now and then.
    Stopped, soon after `stop` is set: interrupts reach the main thread alone, and steps may run in others."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env=os.environ | (environment or {}), start_new_session=True)
    watcher = _Watcher(log, echo, indent)
    deadline = time.monotonic() + limit_s
    try:
        while True:
            try:
                return process.wait(SLICE_S)
            except subprocess.TimeoutExpired:
                watcher.look()
            if stop and stop.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                print(f"{indent}not over after {limit_s:.0f} s: it is ended", flush=True)
                return TOO_LONG
    finally:
        _end(process)
        watcher.close()


class _Watcher:
    def __init__(self, log: Path, echo: bool, indent: str):
        self._log, self._echo, self._indent = log, echo, indent
        self._stream = log.open(errors="replace")
        self._begun = self._shown = time.monotonic()
        self._last, self._rest = "no output yet", ""

    def look(self) -> None:
        *lines, self._rest = (self._rest + self._stream.read()).split("\n")
        lines = [line.rstrip() for line in lines if line.strip()]
        if lines:
            self._last = lines[-1]
        if self._echo and lines:
            self._say(*lines)
        elif time.monotonic() - self._shown > SIGN_OF_LIFE_S:
            # A test's name stands there before its result ends the line.
            self._say(f"... {spent(self._begun)}: {(self._rest.strip() or self._last.strip())[:100]}")

    def close(self) -> None:
        if self._echo:
            self.look()
        self._stream.close()

    def _say(self, *lines: str) -> None:
        self._shown = time.monotonic()
        print("\n".join(self._indent + line for line in lines), flush=True)


def _end(process: subprocess.Popen) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
            process.wait(END_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def show_end(log: Path, count: int, indent: str = "   ") -> None:
    """The end of the log, for a step that failed."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 64 * 1024))
        lines = stream.read().decode(errors="replace").splitlines()[-count:]
    print("\n".join(f"{indent}| {line}" for line in lines), flush=True, file=sys.stdout)
