"""Runs a long command: its output goes to a log file, and a progress line appears every 30 seconds. On an interrupt or
a timeout, the command and all processes of its session end."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

SLICE_S = 0.5
PROGRESS_INTERVAL_S = 30
SHUTDOWN_S = 90  # for the command to clean up
TIMED_OUT = 124


class Stopped(Exception):
    """The caller set the stop event."""


def format_duration(since: float) -> str:
    seconds = round(time.monotonic() - since)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


def run(command: list[str], log: Path, limit_s: float, *, echo: bool = False, indent: str = "   ",
        environment: dict[str, str] | None = None, stop: threading.Event | None = None) -> int:
    """Returns the command's exit status, or TIMED_OUT. Prints all output if echo is set, otherwise the last line every 30 s.
    Raises Stopped soon after `stop` is set: only the main thread gets KeyboardInterrupt, other threads need the event."""
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
                watcher.poll()
            if stop and stop.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                print(f"{indent}timed out after {limit_s:.0f} s", flush=True)
                return TIMED_OUT
    finally:
        _end(process)
        _end_group(process)
        watcher.close()


class _Watcher:
    def __init__(self, log: Path, echo: bool, indent: str):
        self._log, self._echo, self._indent = log, echo, indent
        self._stream = log.open(errors="replace")
        self._begun = self._shown = time.monotonic()
        self._last, self._rest = "no output yet", ""

    def poll(self) -> None:
        *lines, self._rest = (self._rest + self._stream.read()).split("\n")
        lines = [line.rstrip() for line in lines if line.strip()]
        if lines:
            self._last = lines[-1]
        if self._echo and lines:
            self._print_lines(*lines)
        elif time.monotonic() - self._shown > PROGRESS_INTERVAL_S:
            # pytest prints a test's name first and ends the line with its result.
            self._print_lines(f"... {format_duration(self._begun)}: {(self._rest.strip() or self._last.strip())[:100]}")

    def close(self) -> None:
        if self._echo:
            self.poll()
        self._stream.close()

    def _print_lines(self, *lines: str) -> None:
        self._shown = time.monotonic()
        print("\n".join(self._indent + line for line in lines), flush=True)


def _end(process: subprocess.Popen) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
            process.wait(SHUTDOWN_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _end_group(process: subprocess.Popen) -> None:
    """Ends the processes that the command has left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def show_end(log: Path, count: int, indent: str = "   ") -> None:
    """Prints the last lines of the log of a failed command."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 64 * 1024))
        lines = stream.read().decode(errors="replace").splitlines()[-count:]
    print("\n".join(f"{indent}| {line}" for line in lines), flush=True, file=sys.stdout)
