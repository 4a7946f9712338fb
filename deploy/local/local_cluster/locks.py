"""File locks that the kernel releases when the holder dies."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path


def build_once(built: Path, lock: Path, waiting_for: str, build: Callable[[], None]) -> None:
    """Calls build(), which creates `built`, unless that exists; in one process at a time."""
    if not built.exists():
        with held(lock, waiting_for):
            if not built.exists():
                build()


@contextlib.contextmanager
def held(path: Path, waiting_for: str):
    """Holds the lock file, and removes it afterwards. Prints `waiting_for` if another process holds it."""
    descriptor = _acquire(path, waiting_for)
    try:
        yield
    finally:
        # Unlinked while held: a waiter that gets this inode notices below.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, waiting_for: str) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting: {waiting_for}", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_same_file(path, descriptor):
            return descriptor
        os.close(descriptor)


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
