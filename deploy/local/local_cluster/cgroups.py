"""The control groups of a cluster's nodes, in every hierarchy that this machine has (version 1 or 2)."""

import contextlib
import os
import time
from pathlib import Path

from .errors import UserError

REMOVE_SECONDS = 20
CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")


def hierarchies(mounts: str | None = None) -> dict[Path, str]:
    """Mount point -> file system type."""
    if mounts is None:
        mounts = Path("/proc/self/mounts").read_text()
    rows = (line.split() for line in mounts.splitlines())
    return {Path(row[1]): row[2] for row in rows if row[2] in ("cgroup", "cgroup2")}


def create(path: str) -> None:
    """Makes the group in every hierarchy, able to hold what a kubelet puts below it."""
    for root, kind in hierarchies().items():
        group = root
        for part in path.split("/"):
            if kind == "cgroup2":
                _hand_down_controllers(group)
            parent, group = group, group / part
            group.mkdir(exist_ok=True)
            if kind == "cgroup":
                _inherit_cpuset(parent, group)
        if kind == "cgroup2":
            _hand_down_controllers(group)


def _hand_down_controllers(group: Path) -> None:
    for controller in (group / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):  # some controllers cannot be delegated; the kubelet tells which it misses
            (group / "cgroup.subtree_control").write_text("+" + controller)


def _inherit_cpuset(parent: Path, group: Path) -> None:
    for name in CPUSET_FILES:
        source, target = parent / name, group / name
        if source.exists() and not target.read_text().strip():
            target.write_text(source.read_text())


def remove(top: str) -> None:
    """Removes the group with all below it; a group can stay busy for a moment after its last process ended."""
    for root in hierarchies():
        deadline = time.monotonic() + REMOVE_SECONDS
        while busy := _remove_tree(root / top):
            if time.monotonic() > deadline:
                raise UserError(f"The control group {busy} cannot be removed: something still runs in it.")
            time.sleep(0.02)


def _remove_tree(top: Path) -> str:
    """The first group that could not be removed, or nothing."""
    busy = ""
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            busy = busy or folder
    return busy
