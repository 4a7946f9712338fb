"""A control group with little memory, as a container with a limit has one, and a program that needs more."""

import os
import sys
from pathlib import Path

from waiting import until

LIMIT_BYTES = 128 << 20
MOUNT = Path("/sys/fs/cgroup")
# Shell words that become a process which the kernel kills.
HOG = f'exec {sys.executable} -IS -c "b\'x\' * (1 << 30)"'


def parent():
    """The group of this process, in which others can be made, and the name of their limit."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return MOUNT / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
    return MOUNT, "memory.max"


class MemoryCgroup:
    """OSError: this user or machine cannot make one."""

    def __init__(self):
        above, limit = parent()
        self.path = above / f"ipu-launch-test-{os.getpid()}"
        self.path.mkdir()
        try:
            (self.path / limit).write_text(str(LIMIT_BYTES))
        except OSError:
            self.path.rmdir()
            raise

    @property
    def within(self):
        """A command that runs another, its arguments, in the group."""
        return ("sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh")

    def destroy(self):
        until(self._is_removed, f"the end of all processes in {self.path}")

    def _is_removed(self):
        try:
            self.path.rmdir()
        except OSError:
            return False
        return True
