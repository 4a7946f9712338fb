"""Runs other programs to completion."""

import subprocess
from pathlib import Path
from typing import IO

from .errors import UserError


def run(*command: str, directory: Path | None = None, stdin: IO[bytes] | int = subprocess.DEVNULL) -> str:
    """Standard output of the program; raises UserError with its standard error if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=stdin,
                              cwd=directory, check=False)
    except FileNotFoundError as error:
        raise UserError(f"The program `{command[0]}` is not installed: run deploy/prerequisites.") from error
    if done.returncode != 0:
        raise UserError(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
