"""Paths of clusters and cached programs, and valid cluster names."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import UserError

NAME_RULE = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")
REPOSITORY = Path(__file__).resolve().parents[3]


def checked_name(name: str) -> str:
    if not NAME_RULE.fullmatch(name):
        raise UserError(
            f"'{name}' is not a valid cluster name: use 1 to 30 lowercase letters, digits and '-', "
            "starting with a letter and not ending with '-'."
        )
    return name


def _home(variable: str, fallback: str) -> Path:
    named = os.environ.get(variable, "")
    base = Path(named) if os.path.isabs(named) else Path.home() / fallback
    return base / "ipu-operator"


def state_home() -> Path:
    return _home("XDG_STATE_HOME", ".local/state")


def cache_home() -> Path:
    return _home("XDG_CACHE_HOME", ".cache")


@dataclass(frozen=True)
class ClusterPaths:
    """The folder of one cluster and its files."""

    name: str

    @property
    def folder(self) -> Path:
        return state_home() / self.name

    @property
    def record(self) -> Path:
        return self.folder / "cluster.json"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def etcd(self) -> Path:
        return self.folder / "etcd"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def log(self, component: str) -> Path:
        return self.logs / f"{component}.log"

    def node(self, node: str) -> Path:
        return self.folder / "nodes" / node


def known_clusters() -> list[ClusterPaths]:
    """All clusters that have a folder, running or stopped."""
    return [ClusterPaths(record.parent.name) for record in sorted(state_home().glob("*/cluster.json"))]
