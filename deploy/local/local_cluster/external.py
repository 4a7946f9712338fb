"""Running another program to its end."""

import subprocess
from pathlib import Path
from typing import IO

from .problem import Problem


def run(*command: str, directory: Path | None = None, stdin: IO[bytes] | int = subprocess.DEVNULL) -> str:
    """The program's output; its complaint becomes the problem."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=stdin,
                              cwd=directory, check=False)
    except FileNotFoundError as error:
        raise Problem(f"The program `{command[0]}` is not installed: run deploy/prerequisites.") from error
    if done.returncode != 0:
        raise Problem(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
