"""The host's side of a cluster's network, and networks and ports in use on this machine."""

import contextlib
import json
import subprocess
from pathlib import Path

from . import addresses, locks, paths
from .addresses import Addresses
from .subprocesses import run
from .errors import UserError

LONGEST_ALIAS = 255


def slots_being_chosen():
    """Held from the choice of a slot until the cluster visibly uses it."""
    return locks.held(Path("/tmp/ipu-operator-slots.lock"), "another cluster is choosing its subnet and ports")


def taken_networks() -> set[addresses.Network]:
    routes = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]")
    links = json.loads(run("ip", "-json", "-4", "address", "show") or "[]")
    return addresses.parse_networks(routes, links)


def taken_ports() -> set[int]:
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError):  # no IPv6 on this machine
            ports |= addresses.parse_listening_ports(Path(table).read_text())
    return ports


def claimed_slots(but: str) -> set[int]:
    """The slots of all other clusters that have a folder, running or not."""
    slots = set()
    for cluster in paths.known_clusters():
        if cluster.name != but:
            with contextlib.suppress(OSError, ValueError, KeyError):  # being made or removed just now
                slots.add(int(json.loads(cluster.record.read_text())["slot"]))
    return slots


def create_bridge(own: Addresses, owner: str) -> None:
    """The bridge's alias is the cluster's folder, which identifies the owner."""
    run("ip", "link", "add", "name", own.bridge, "type", "bridge")
    run("ip", "link", "set", own.bridge, "alias", owner[:LONGEST_ALIAS])
    run("ip", "address", "add", f"{own.bridge_ip}/24", "dev", own.bridge)
    run("ip", "link", "set", own.bridge, "up")


def connect_node(own: Addresses, index: int, namespace_pid: int) -> None:
    """A veth from the bridge to eth0 of the node, and the host's ways to its pods and services."""
    veth, node_ip = own.veth(index), own.node_ip(index)
    run("ip", "link", "add", "name", veth, "type", "veth", "peer", "name", "eth0", "netns", str(namespace_pid))
    run("ip", "link", "set", veth, "master", own.bridge, "up")
    run("ip", "route", "add", own.node_pods(index), "via", node_ip, "dev", own.bridge)
    if index == 1:
        run("ip", "route", "add", own.services, "via", node_ip, "dev", own.bridge)


def belongs_to_another(own: Addresses, owner: str) -> bool:
    """Whether that slot's bridge was made for another cluster: the slot of a cluster that does not
    run can be taken by one whose folder is elsewhere."""
    aliases = {link["ifname"]: link.get("ifalias", "") for link in _links()}
    return aliases.get(own.bridge, "") not in ("", owner[:LONGEST_ALIAS])


def links_of(own: Addresses) -> list[str]:
    names = [link["ifname"] for link in _links()]
    return [name for name in names if name == own.bridge or name.startswith(own.bridge + "-")]


def _links() -> list[dict]:
    return json.loads(run("ip", "-json", "link", "show") or "[]")


def remove_links(own: Addresses) -> None:
    for name in links_of(own):
        done = subprocess.run(["ip", "link", "delete", name], capture_output=True, text=True, check=False)
        # The kernel deletes a veth with its peer's namespace, at any moment.
        if done.returncode != 0 and name in links_of(own):
            raise UserError(f"The network link {name} cannot be deleted: {done.stderr.strip()}")
