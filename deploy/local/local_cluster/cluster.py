"""One cluster: its record on disk, bringing it up, taking it down.

The record is written before anything is created that outlives this program, and says `complete` only when the cluster was
ready. What is running is never read from a file, but from the marks of the processes; so `up` and `down` work from any state.
"""

import json
import os
import shutil
import sys
import time
import zlib
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from . import addresses, cgroups, locks, network, paths, processes, programs, wait
from .addresses import Addresses
from .control_plane import ControlPlane
from .node import WORKERS, Node
from .paths import ClusterPaths
from .errors import UserError

SLOT_SECONDS = 10


@dataclass
class Record:
    """Requested shape of the cluster, and its slot."""

    slot: int
    nodes: int
    bare: bool
    boot: str
    complete: bool = False
    audit: bool = False

    @property
    def shape(self) -> str:
        return self._parts + (", audited" if self.audit else "")

    @property
    def _parts(self) -> str:
        if self.nodes:
            return "one node" if self.nodes == 1 else f"{self.nodes} nodes"
        return "etcd and API server only" if self.bare else "no node"


def load(files: ClusterPaths) -> Record | None:
    try:
        return Record(**json.loads(files.record.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        # Truncated by a crash: treated as missing, so `up` and `down` start over.
        return None


def save(files: ClusterPaths, record: Record) -> None:
    new = files.record.with_suffix(".new")
    new.write_text(json.dumps(asdict(record)))
    new.replace(files.record)


@dataclass
class Cluster:
    paths: ClusterPaths
    record: Record

    @cached_property
    def addresses(self) -> Addresses:
        return Addresses(self.record.slot)

    @cached_property
    def control_plane(self) -> ControlPlane:
        return ControlPlane(self.paths, self.addresses, self.record.nodes, self.record.bare, self.record.audit)

    @cached_property
    def nodes(self) -> list[Node]:
        return [Node(self.paths, self.addresses, self.control_plane, index)
                for index in range(1, self.record.nodes + 1)]

    def dead_components(self) -> list[str]:
        """Components that are expected to run but do not."""
        running = {(process.component, process.program) for process in processes.find(self.paths)}
        wanted = dict(self.control_plane.components)
        for node in self.nodes:
            wanted |= node.components
        return [component for component, program in wanted.items() if (component, program[:15]) not in running]

    def is_healthy(self) -> bool:
        return (self.record.complete and not self.dead_components() and self.control_plane.api.is_ready()
                and all(self.control_plane.api.node_is_ready(node.name) for node in self.nodes))


def find(name: str) -> Cluster:
    """The cluster of that name, running or not."""
    files = ClusterPaths(paths.checked_name(name))
    record = load(files)
    if record is None:
        known = ", ".join(one.name for one in paths.known_clusters()) or "none"
        raise UserError(f"Cluster '{name}' not found (existing: {known}); run `deploy/cluster up --name {name}` to create it.")
    return Cluster(files, record)


def lock(name: str):
    return locks.held(paths.state_home() / f"{paths.checked_name(name)}.lock",
                      f"another command is using the cluster '{name}'")


def up(name: str, nodes: int, bare: bool, audit: bool) -> Cluster:
    """Creates the cluster, or restarts what has crashed, or reports that it runs."""
    files = ClusterPaths(paths.checked_name(name))
    _check_can_run(nodes)
    with lock(name):
        old = load(files)
        if old is not None and old.complete:
            if (old.nodes, old.bare, old.audit) != (nodes, bare, audit):
                raise UserError(f"The cluster '{name}' exists with a different shape ({old.shape}): "
                              f"`deploy/cluster down --name {name}` first, or use another name.")
            cluster = Cluster(files, old)
            if cluster.is_healthy():
                _say(f"the cluster '{name}' is already running")
                return cluster
            return _restart(cluster) or _recover(cluster)
        return _make(files, nodes, bare, audit)


def down(name: str) -> None:
    """Stops the cluster and removes all of it; does nothing if there is no such cluster."""
    files = ClusterPaths(paths.checked_name(name))
    with lock(name):
        _stop(files)
        _remove_folder(files)


def _make(files: ClusterPaths, nodes: int, bare: bool, audit: bool) -> Cluster:
    _fetch_programs(nodes, bare)
    _stop(files)
    _remove_folder(files)
    try:
        with network.slots_being_chosen():
            own = addresses.free(network.claimed_slots(but=files.name), network.taken_networks(),
                                 network.taken_ports(), zlib.crc32(os.fsencode(files.folder)))
            cluster = Cluster(files, Record(own.slot, nodes, bare, _boot(), audit=audit))
            files.logs.mkdir(mode=0o700, parents=True)
            save(files, cluster.record)
            _start_control_plane(cluster)
        _start_nodes(cluster)
    except BaseException:
        _stop(files)
        _remove_all_but_logs(files)
        raise
    return _completed(cluster)


def _restart(cluster: Cluster) -> Cluster | None:
    """Restarts only dead components, as a service manager does; the others and all containers keep running. None if a
    component died that others depend on."""
    dead = cluster.dead_components()
    starts = {name: lambda name=name: cluster.control_plane.start(name)
              for name in cluster.control_plane.components if name != "etcd"}
    for node in cluster.nodes:
        starts |= {component: lambda node=node, program=program: node.start_program(program)
                   for component, program in node.components.items() if program in WORKERS}
    if not dead or not all(component in starts for component in dead):
        return None
    _say(f"the cluster '{cluster.paths.name}' is degraded (dead: {', '.join(dead)}); restarting these")
    for component in starts:  # the API server first
        if component in dead:
            starts[component]()
    return cluster


def _recover(cluster: Cluster) -> Cluster:
    dead = ", ".join(cluster.dead_components()) or "none, but the API server does not respond"
    _say(f"the cluster '{cluster.paths.name}' is degraded (dead: {dead}); restarting it with its data")
    _fetch_programs(cluster.record.nodes, cluster.record.bare)
    _stop(cluster.paths)
    try:
        with network.slots_being_chosen():
            _await_own_slot(cluster)
            _start_control_plane(cluster)
        _start_nodes(cluster)
    except BaseException:
        _stop(cluster.paths)
        raise
    return _completed(cluster)


def _await_own_slot(cluster: Cluster) -> None:
    """Sockets of a process that was just killed can stay in use for a moment."""
    deadline = time.monotonic() + SLOT_SECONDS
    while taken := addresses.conflict(cluster.addresses, network.taken_networks(), network.taken_ports()):
        if time.monotonic() > deadline:
            raise UserError(f"The cluster '{cluster.paths.name}' cannot be restarted: {taken} is now in use by another "
                          f"program. Run `deploy/cluster down --name {cluster.paths.name}`, then `up`.")
        time.sleep(wait.INTERVAL_S)


def _start_control_plane(cluster: Cluster) -> None:
    _say("starting the control plane (about 5 seconds)")
    if cluster.nodes:
        network.create_bridge(cluster.addresses, str(cluster.paths.folder))
    plane = cluster.control_plane
    plane.prepare()
    try:
        plane.start_store()
    except UserError:
        if cluster.record.boot == _boot():
            raise
        # etcd runs without fsync; its files can be corrupt after a power cut.
        _say("etcd cannot read its data after the machine restarted; starting with an empty cluster")
        processes.end_all(cluster.paths)
        shutil.rmtree(cluster.paths.etcd)
        plane.start_store()
    plane.start_servers()


def _start_nodes(cluster: Cluster) -> None:
    for node in cluster.nodes:
        _say(f"starting {node.name}: containerd, kubelet, kube-proxy, DNS (about 10 seconds)")
        node.start()


def _completed(cluster: Cluster) -> Cluster:
    cluster.record.complete = True
    cluster.record.boot = _boot()
    save(cluster.paths, cluster.record)
    return cluster


def _stop(files: ClusterPaths) -> None:
    """Stops the processes and removes links, mounts and control groups; keeps the folder."""
    slots = {process.slot for process in processes.find(files)} - {0}
    record = load(files)
    if record is not None:
        slots.add(record.slot)
    processes.end_all(files)
    for own in map(Addresses, slots):
        if not network.belongs_to_another(own, str(files.folder)):
            network.remove_links(own)
            cgroups.remove(own.cgroup)


def _remove_folder(files: ClusterPaths) -> None:
    if files.folder.exists():
        shutil.rmtree(files.folder)


def _remove_all_but_logs(files: ClusterPaths) -> None:
    for entry in files.folder.iterdir() if files.folder.exists() else []:
        if entry.is_dir() and entry != files.logs:
            shutil.rmtree(entry)
        elif not entry.is_dir():
            entry.unlink()


def _fetch_programs(nodes: int, bare: bool) -> None:
    """Builds missing programs before anything starts, so that a long build does not hold a slot."""
    needed = ["etcd", "kube-apiserver"]
    if not bare:
        needed += ["kube-controller-manager", "kube-scheduler"]
    if nodes:
        needed += ["kubelet", "kube-proxy", "coredns", "pause"]
    for program in needed:
        programs.find(program)


def _check_can_run(nodes: int) -> None:
    needed = ["openssl", "ip"]
    if nodes:
        needed += ["containerd", "containerd-shim-runc-v2", "ctr", "runc", "iptables", "conntrack", "unshare", "nsenter"]
        if os.geteuid() != 0:
            raise UserError("A node needs root (namespaces, control groups, mounts): "
                          "run this as root, or without a node (--no-node).")
    missing = [program for program in needed if not shutil.which(program)]
    if nodes and not Path("/usr/lib/cni/ptp").exists():
        missing.append("/usr/lib/cni/ptp")
    if missing:
        raise UserError(f"Not installed: {', '.join(missing)}. Run `deploy/prerequisites cluster`.")


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
