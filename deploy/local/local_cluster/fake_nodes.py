"""Nodes that only pretend: KWOK plays their kubelets against the real API server.

The scheduler and the controller manager stay real. KWOK's process carries the mark of the cluster, so that `down` ends it too.
"""

import json
import subprocess

from . import processes, wait
from .cluster import Cluster
from .go_programs import KWOK
from .errors import UserError

COMPONENT = "kwok"
READY_SECONDS = 120
MOST = 1000


def start(cluster: Cluster, count: int) -> None:
    """Makes the nodes, and a KWOK that plays them unless one runs already; returns when all are ready."""
    if not 1 <= count <= MOST:
        raise UserError(f"--count takes 1 to {MOST} nodes.")
    if cluster.nodes or cluster.record.bare:
        raise UserError("Fake nodes are for a cluster made with --no-node alone: the real scheduler binds pods to them.")
    plane, process = cluster.control_plane, None
    names = [f"fake-{number}" for number in range(1, count + 1)]
    for name in names:
        plane.api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                           "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
    if processes.running(cluster.paths, COMPONENT, KWOK.path().name) is None:
        process = _spawn(cluster)
    wait.until("The fake nodes' readiness", lambda: all(map(plane.api.node_is_ready, names)),
               cluster.paths.log(COMPONENT), READY_SECONDS, process)
    _await_tolerance(cluster, names)


def _spawn(cluster: Cluster) -> subprocess.Popen:
    return processes.start(cluster.paths, cluster.addresses.slot, COMPONENT, [
        str(KWOK.path()), f"--kubeconfig={cluster.paths.kubeconfig}", "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40", f"--config={KWOK.module / 'stages.yaml'}", "--cidr=10.0.0.0/8", "-v=WARN",
    ], directory=cluster.paths.folder)


def _await_tolerance(cluster: Cluster, names: list[str]) -> None:
    """The controller manager takes the taint of a new node away once it has seen it ready."""
    def untainted(name: str) -> bool:
        status, answer = cluster.control_plane.api.request("GET", f"/api/v1/nodes/{name}")
        return status == 200 and not json.loads(answer)["spec"].get("taints")

    wait.until("Pods being let onto the fake nodes", lambda: all(map(untainted, names)),
               cluster.paths.log("kube-controller-manager"), READY_SECONDS)
