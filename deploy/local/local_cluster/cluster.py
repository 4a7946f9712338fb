"""One cluster: its record on disk, bringing it up, taking it down.

The record is written before anything is made that outlives this program, and says
`complete` only when all of it stood. What is running is never read from a file, but
from the marks of the processes; so both ways up and down begin from whatever is there.
"""

import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from . import addresses, cgroups, locks, network, places, processes, programs, waiting
from .addresses import Addresses
from .control_plane import ControlPlane
from .node import WORKERS, Node
from .places import Places
from .problem import Problem

SLOT_SECONDS = 10


@dataclass
class Record:
    """What was asked for, and the slot it got."""

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


def load(where: Places) -> Record | None:
    try:
        return Record(**json.loads(where.record.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        # Cut short by a crash: as good as none, `up` and `down` both begin anew.
        return None


def save(where: Places, record: Record) -> None:
    new = where.record.with_suffix(".new")
    new.write_text(json.dumps(asdict(record)))
    new.replace(where.record)


@dataclass
class Cluster:
    places: Places
    record: Record

    @cached_property
    def addresses(self) -> Addresses:
        return Addresses(self.record.slot)

    @cached_property
    def control_plane(self) -> ControlPlane:
        return ControlPlane(self.places, self.addresses, self.record.nodes, self.record.bare, self.record.audit)

    @cached_property
    def nodes(self) -> list[Node]:
        return [Node(self.places, self.addresses, self.control_plane, index)
                for index in range(1, self.record.nodes + 1)]

    def dead_components(self) -> list[str]:
        """The components that should run and do not."""
        running = {(process.component, process.program) for process in processes.find(self.places)}
        wanted = dict(self.control_plane.components)
        for node in self.nodes:
            wanted |= node.components
        return [component for component, program in wanted.items() if (component, program[:15]) not in running]

    def is_healthy(self) -> bool:
        return (self.record.complete and not self.dead_components() and self.control_plane.api.is_ready()
                and all(self.control_plane.api.node_is_ready(node.name) for node in self.nodes))


def find(name: str) -> Cluster:
    """The cluster of that name, running or not."""
    where = Places(places.checked_name(name))
    record = load(where)
    if record is None:
        known = ", ".join(one.name for one in places.known_clusters()) or "none"
        raise Problem(f"There is no cluster '{name}' (there is: {known}); `deploy/cluster up --name {name}` makes it.")
    return Cluster(where, record)


def lock(name: str):
    return locks.held(places.state_home() / f"{places.checked_name(name)}.lock",
                      f"another command works on the cluster '{name}'")


def up(name: str, nodes: int, bare: bool, audit: bool) -> Cluster:
    """Makes the cluster, or brings it back after a crash, or finds it running."""
    where = Places(places.checked_name(name))
    _check_can_run(nodes)
    with lock(name):
        old = load(where)
        if old is not None and old.complete:
            if (old.nodes, old.bare, old.audit) != (nodes, bare, audit):
                raise Problem(f"The cluster '{name}' exists with another shape ({old.shape}): "
                              f"`deploy/cluster down --name {name}` first, or use another name.")
            cluster = Cluster(where, old)
            if cluster.is_healthy():
                _say(f"the cluster '{name}' is already running")
                return cluster
            return _restart(cluster) or _recover(cluster)
        return _make(where, nodes, bare, audit)


def down(name: str) -> None:
    """Ends and removes everything of the cluster; nothing there is fine too."""
    where = Places(places.checked_name(name))
    with lock(name):
        _stop(where)
        _remove_folder(where)


def _make(where: Places, nodes: int, bare: bool, audit: bool) -> Cluster:
    _fetch_programs(nodes, bare)
    _stop(where)
    _remove_folder(where)
    try:
        with network.slots_being_chosen():
            own = addresses.free(network.claimed_slots(but=where.name), network.taken_networks(),
                                 network.taken_ports())
            cluster = Cluster(where, Record(own.slot, nodes, bare, _boot(), audit=audit))
            where.logs.mkdir(mode=0o700, parents=True)
            save(where, cluster.record)
            _start_control_plane(cluster)
        _start_nodes(cluster)
    except BaseException:
        _stop(where)
        _remove_all_but_logs(where)
        raise
    return _completed(cluster)


def _restart(cluster: Cluster) -> Cluster | None:
    """Starts the dead again and leaves the others and all containers alone, as a service manager would. None when
    something died that others stand on."""
    dead = cluster.dead_components()
    starts = {name: lambda name=name: cluster.control_plane.start(name)
              for name in cluster.control_plane.components if name != "etcd"}
    for node in cluster.nodes:
        starts |= {component: lambda node=node, program=program: node.start_program(program)
                   for component, program in node.components.items() if program in WORKERS}
    if not dead or not all(component in starts for component in dead):
        return None
    _say(f"the cluster '{cluster.places.name}' is not whole (dead: {', '.join(dead)}); starting them again")
    for component in starts:  # the API server first
        if component in dead:
            starts[component]()
    return cluster


def _recover(cluster: Cluster) -> Cluster:
    dead = ", ".join(cluster.dead_components()) or "none, but it does not answer"
    _say(f"the cluster '{cluster.places.name}' is not whole (dead: {dead}); starting it again with its data")
    _fetch_programs(cluster.record.nodes, cluster.record.bare)
    _stop(cluster.places)
    try:
        with network.slots_being_chosen():
            _await_own_slot(cluster)
            _start_control_plane(cluster)
        _start_nodes(cluster)
    except BaseException:
        _stop(cluster.places)
        raise
    return _completed(cluster)


def _await_own_slot(cluster: Cluster) -> None:
    """What somebody else killed just now may hold its sockets for another moment."""
    deadline = time.monotonic() + SLOT_SECONDS
    while taken := addresses.conflict(cluster.addresses, network.taken_networks(), network.taken_ports()):
        if time.monotonic() > deadline:
            raise Problem(f"The cluster '{cluster.places.name}' cannot come back: {taken} is now used by something "
                          f"else. `deploy/cluster down --name {cluster.places.name}`, then `up`.")
        time.sleep(waiting.INTERVAL_S)


def _start_control_plane(cluster: Cluster) -> None:
    _say("starting the control plane (usually 5 seconds)")
    if cluster.nodes:
        network.create_bridge(cluster.addresses, str(cluster.places.folder))
    plane = cluster.control_plane
    plane.prepare()
    try:
        plane.start_store()
    except Problem:
        if cluster.record.boot == _boot():
            raise
        # etcd does not sync here; after a power cut its files may be of no use.
        _say("etcd cannot read its data since the machine was restarted; beginning with an empty cluster")
        processes.end_all(cluster.places)
        shutil.rmtree(cluster.places.etcd)
        plane.start_store()
    plane.start_servers()


def _start_nodes(cluster: Cluster) -> None:
    for node in cluster.nodes:
        _say(f"starting {node.name}: containerd, kubelet, kube-proxy, DNS (usually 10 seconds)")
        node.start()


def _completed(cluster: Cluster) -> Cluster:
    cluster.record.complete = True
    cluster.record.boot = _boot()
    save(cluster.places, cluster.record)
    return cluster


def _stop(where: Places) -> None:
    """Ends the processes and removes what the kernel keeps beyond them; the folder stays."""
    slots = {process.slot for process in processes.find(where)} - {0}
    record = load(where)
    if record is not None:
        slots.add(record.slot)
    processes.end_all(where)
    for own in map(Addresses, slots):
        if not network.belongs_to_another(own, str(where.folder)):
            network.remove_links(own)
            cgroups.remove(own.cgroup)


def _remove_folder(where: Places) -> None:
    if where.folder.exists():
        shutil.rmtree(where.folder)


def _remove_all_but_logs(where: Places) -> None:
    for entry in where.folder.iterdir() if where.folder.exists() else []:
        if entry.is_dir() and entry != where.logs:
            shutil.rmtree(entry)
        elif not entry.is_dir():
            entry.unlink()


def _fetch_programs(nodes: int, bare: bool) -> None:
    """Before anything is started, so that a long build holds no slot."""
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
            raise Problem("A node needs root (namespaces, control groups, mounts): "
                          "run this as root, or without a node (--no-node).")
    missing = [program for program in needed if not shutil.which(program)]
    if nodes and not Path("/usr/lib/cni/ptp").exists():
        missing.append("/usr/lib/cni/ptp")
    if missing:
        raise Problem(f"Not installed: {', '.join(missing)}. Run `deploy/prerequisites cluster`.")


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
