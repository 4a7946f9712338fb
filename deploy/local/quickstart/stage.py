"""The stages that a person sees: what is done now, how long that usually takes, and how long it took."""

import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import steps
from local_cluster.places import REPOSITORY
from local_cluster.problem import Problem

LOGS = REPOSITORY / "build" / "quickstart-logs"
LIMIT_S = 40 * 60


class Stages:
    def __init__(self, count: int):
        self._count, self._number = count, 0

    @contextmanager
    def stage(self, what: str, usually: str):
        self._number += 1
        begun = time.monotonic()
        print(f"[{self._number}/{self._count}] {what} (usually {usually})", flush=True)
        yield
        print(f"      {steps.spent(begun)}", flush=True)


def must(name: str, *command: str | Path, echo: bool = False) -> None:
    """Runs a long command; its output is kept in a file and shown if it fails."""
    log = LOGS / f"{name}.log"
    words = [str(word) for word in command]
    if steps.run(words, log, LIMIT_S, echo=echo, indent="      "):
        if not echo:
            steps.show_end(log, 30, indent="      ")
        raise Problem(f"`{' '.join(words)}` failed; the lines above say why, and {log.relative_to(REPOSITORY)} has all "
                      "of its output.")


def answer(*command: str | Path, stdin: str | None = None, limit_s: float = 300) -> str:
    """What a short command prints; its complaint becomes the problem."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, timeout=limit_s)
    except FileNotFoundError as error:
        raise Problem(f"The program `{words[0]}` is not installed.") from error
    except subprocess.TimeoutExpired as error:
        raise Problem(f"`{' '.join(words)}` was not over after {limit_s:.0f} seconds.") from error
    if done.returncode:
        raise Problem(f"`{' '.join(words)}` failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout.strip()
