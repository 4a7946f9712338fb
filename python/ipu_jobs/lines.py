"""Lines of a log from pieces of bytes, without loss or repetition when a broken stream is opened again. Pure."""

import re
from typing import Iterable, Iterator, Optional

LINE_MAX = 1 << 20  # a longer line comes in pieces
TIMED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)(?: |$)")


def lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield _text(line)
        while len(rest) > LINE_MAX:
            yield _text(rest[:LINE_MAX])
            rest = rest[LINE_MAX:]
    if rest:
        yield _text(rest)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


class Position:
    """How much of a log was read. The API finds a place by whole seconds only, so the lines of the last second are counted.
    In a file it is an offset."""

    def __init__(self) -> None:
        self.offset = 0
        self.since: Optional[str] = None  # begin the next stream with the lines of this second, and skip()
        self._seen = 0
        self._skip = 0

    def is_used(self) -> bool:
        return self.since is not None or self.offset > 0

    def reopen(self) -> None:
        self._skip = self._seen

    def take(self, line: str) -> Optional[str]:
        """The line without its time; None if it was read before."""
        found = TIMED.match(line)
        if not found:
            return line  # a piece of a long line
        second = found[1] + found[2]
        if second == self.since:
            if self._skip:
                self._skip -= 1
                return None
            self._seen += 1
        else:
            self.since, self._seen, self._skip = second, 1, 0
        return line[found.end() :]
