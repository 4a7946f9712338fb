"""Nodes that only pretend: KWOK plays their kubelets against the real API server.

The scheduler and the controller manager stay real. KWOK is built from its Go module once per machine and kept in the
cache under the hash of what pins it. Its process carries the mark of the cluster, so that `down` ends it too.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from . import locks, places, processes, waiting
from .cluster import Cluster
from .external import run
from .problem import Problem

MODULE = places.REPOSITORY / "deploy" / "local" / "kwok"
PACKAGE = "sigs.k8s.io/kwok/cmd/kwok"
COMPONENT = "kwok"
READY_SECONDS = 120
MOST = 1000


def program() -> Path:
    """Where KWOK is; builds it if there is none yet."""
    kept = kept_at()
    if not kept.exists():
        with locks.held(places.cache_home() / "kwok.lock", "another command is building KWOK"):
            if not kept.exists():
                _build(kept)
    return kept


def kept_at() -> Path:
    pins = b"\0".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    return places.cache_home() / f"kwok-{hashlib.sha256(pins).hexdigest()[:16]}"


def _build(kept: Path) -> None:
    if not shutil.which("go"):
        raise Problem("Go is not installed, and KWOK is built with it: install Go and put it in PATH.")
    print("building KWOK from source (once per machine, usually 2-3 minutes on 2 cores)", file=sys.stderr, flush=True)
    new = kept.with_suffix(".new")
    run("nice", "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w",
        "-o", str(new), PACKAGE, directory=MODULE)
    new.replace(kept)


def start(cluster: Cluster, count: int) -> None:
    """Makes the nodes, and a KWOK that plays them unless one runs already; returns when all are ready."""
    if not 1 <= count <= MOST:
        raise Problem(f"--count takes 1 to {MOST} nodes.")
    if cluster.nodes or cluster.record.bare:
        raise Problem("Fake nodes are for a cluster made with --no-node alone: the real scheduler binds pods to them.")
    plane, process = cluster.control_plane, None
    names = [f"fake-{number}" for number in range(1, count + 1)]
    for name in names:
        plane.api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                           "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
    if processes.running(cluster.places, COMPONENT, program().name) is None:
        process = _spawn(cluster)
    waiting.until("The fake nodes' readiness", lambda: all(map(plane.api.node_is_ready, names)),
                  cluster.places.log(COMPONENT), READY_SECONDS, process)
    _await_tolerance(cluster, names)


def _spawn(cluster: Cluster) -> subprocess.Popen:
    return processes.start(cluster.places, cluster.addresses.slot, COMPONENT, [
        str(program()), f"--kubeconfig={cluster.places.kubeconfig}", "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40", f"--config={MODULE / 'stages.yaml'}", "--cidr=10.0.0.0/8", "-v=WARN",
    ], directory=cluster.places.folder)


def _await_tolerance(cluster: Cluster, names: list[str]) -> None:
    """The controller manager takes the taint of a new node away once it has seen it ready."""
    def untainted(name: str) -> bool:
        status, answer = cluster.control_plane.api.request("GET", f"/api/v1/nodes/{name}")
        return status == 200 and not json.loads(answer)["spec"].get("taints")

    waiting.until("Pods being let onto the fake nodes", lambda: all(map(untainted, names)),
                  cluster.places.log("kube-controller-manager"), READY_SECONDS)
