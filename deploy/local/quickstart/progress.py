"""The stages that quickstart prints: current action, expected duration, actual duration."""

import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import long_command
from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

LOGS = REPOSITORY / "build" / "quickstart-logs"
LIMIT_S = 40 * 60


class Stages:
    def __init__(self, count: int):
        self._count, self._number = count, 0

    @contextmanager
    def stage(self, action: str, duration: str):
        self._number += 1
        begun = time.monotonic()
        print(f"[{self._number}/{self._count}] {action} (about {duration})", flush=True)
        yield
        print(f"      {long_command.format_duration(begun)}", flush=True)


def run_checked(name: str, *command: str | Path, echo: bool = False) -> None:
    """Runs a long command. Its output goes to a log file, whose end is shown if the command fails."""
    log = LOGS / f"{name}.log"
    words = [str(word) for word in command]
    if long_command.run(words, log, LIMIT_S, echo=echo, indent="      "):
        if not echo:
            long_command.show_end(log, 30, indent="      ")
        raise UserError(f"`{' '.join(words)}` failed; see the lines above, or {log.relative_to(REPOSITORY)} for "
                      "the full output.")


def output_of(*command: str | Path, stdin: str | None = None, limit_s: float = 300) -> str:
    """Standard output of a short command; raises UserError with its standard error if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, timeout=limit_s)
    except FileNotFoundError as error:
        raise UserError(f"The program `{words[0]}` is not installed.") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"`{' '.join(words)}` timed out after {limit_s:.0f} seconds.") from error
    if done.returncode:
        raise UserError(f"`{' '.join(words)}` failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout.strip()
