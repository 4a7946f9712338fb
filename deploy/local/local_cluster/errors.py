"""Errors that are shown to the user without a traceback."""

from pathlib import Path

TAIL_LINES = 15


class UserError(Exception):
    """Message with what failed, where, and what to do."""


def with_log(sentence: str, log: Path) -> UserError:
    """The message with the path and the last lines of the log."""
    return UserError(f"{sentence}\nIts log is {log}{tail(log)}")


def tail(log: Path, most_bytes: int = 32 * 1024) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - most_bytes))
            lines = stream.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
    except OSError as error:
        return f" (unreadable: {error.strerror})."
    if not lines:
        return " (empty)."
    return " and ends:\n" + "\n".join("  | " + line[:400] for line in lines)
