"""The files of an image, in memory. Owner is root and times are fixed, so that only contents and modes count."""

import posixpath
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    kind: str  # "file", "link" or "directory"
    mode: int
    content: bytes = b""
    target: str = ""


class RootFilesystem:
    """Paths are absolute. A directory that is a link (/lib on a merged /usr) is followed, never replaced."""

    def __init__(self):
        self.entries: dict[str, Entry] = {}

    def add_directory(self, path: str, mode: int = 0o755):
        path = self._resolved(path)
        there = self.entries.get(path)
        if not there or there.kind != "link":
            self._put(path, Entry("directory", mode))

    def add_link(self, path: str, target: str):
        self._put(self._resolved(path), Entry("link", 0o777, target=target))

    def add_file(self, path: str, content: bytes, mode: int = 0o644):
        self._put(self._resolved(path), Entry("file", mode, content))

    def size(self) -> int:
        return sum(len(entry.content) for entry in self.entries.values())

    def _put(self, path: str, entry: Entry):
        self._make_parents(path)
        self.entries[path] = entry

    def _make_parents(self, path: str):
        parent = posixpath.dirname(path)
        if parent not in ("/", "") and parent not in self.entries:
            self._make_parents(parent)
            self.entries[parent] = Entry("directory", 0o755)

    def _resolved(self, path: str) -> str:
        """The path with links among its parents followed."""
        parent, name = posixpath.split(posixpath.normpath("/" + path.lstrip("/")))
        if parent in ("/", ""):
            return "/" + name
        parent = self._resolved(parent)
        entry = self.entries.get(parent)
        if entry and entry.kind == "link":
            parent = self._resolved(posixpath.join(posixpath.dirname(parent), entry.target))
        return posixpath.join(parent, name)
