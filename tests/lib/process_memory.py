"""What the kernel says of the memory of a process."""

import re
from pathlib import Path


def peak_kib(pid):
    """The most memory that it has had; None once it has ended. ru_maxrss would count that of its parent, from before the exec."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else None
