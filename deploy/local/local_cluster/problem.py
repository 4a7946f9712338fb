"""What went wrong, as a sentence for the person at the terminal."""

from pathlib import Path

TAIL_LINES = 15


class Problem(Exception):
    """Says what failed, where, and what to do; shown without a traceback."""


def with_log(sentence: str, log: Path) -> Problem:
    """The sentence, where the log is, and how the log ends."""
    return Problem(f"{sentence}\nIts log is {log}{tail(log)}")


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
