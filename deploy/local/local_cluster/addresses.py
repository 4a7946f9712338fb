"""Subnet and ports of a cluster.

A cluster owns one number S of a fixed range, its slot. Everything it needs follows
from it: the network 10.S.0.0/16, a block of ports, and names for links and control
groups. Pure: what is taken is handed in.
"""

import ipaddress
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .errors import UserError

FIRST_SLOT, LAST_SLOT = 200, 254
FIRST_PORT, PORTS_PER_SLOT = 16400, 8

Network = ipaddress.IPv4Network


@dataclass(frozen=True)
class Addresses:
    slot: int

    @property
    def network(self) -> Network:
        return Network(f"10.{self.slot}.0.0/16")

    @property
    def bridge_ip(self) -> str:
        return f"10.{self.slot}.0.1"

    def node_ip(self, index: int) -> str:
        return f"10.{self.slot}.0.{1 + index}"

    @property
    def services(self) -> str:
        return f"10.{self.slot}.16.0/20"

    @property
    def kubernetes_service_ip(self) -> str:
        return f"10.{self.slot}.16.1"

    @property
    def pods(self) -> str:
        return f"10.{self.slot}.128.0/17"

    def node_pods(self, index: int) -> str:
        return f"10.{self.slot}.{127 + index}.0/24"

    @property
    def ports(self) -> range:
        first = FIRST_PORT + (self.slot - FIRST_SLOT) * PORTS_PER_SLOT
        return range(first, first + PORTS_PER_SLOT)

    @property
    def api_port(self) -> int:
        return self.ports[0]

    @property
    def etcd_port(self) -> int:
        return self.ports[1]

    @property
    def etcd_peer_port(self) -> int:
        return self.ports[2]

    @property
    def controller_manager_port(self) -> int:
        return self.ports[3]

    @property
    def scheduler_port(self) -> int:
        return self.ports[4]

    @property
    def bridge(self) -> str:
        return f"ipuop-{self.slot}"

    def veth(self, index: int) -> str:
        return f"ipuop-{self.slot}-{index}"

    @property
    def cgroup(self) -> str:
        return f"ipuop-{self.slot}"


def free(claimed: Collection[int], networks: Iterable[Network], ports: Collection[int], first: int = 0) -> Addresses:
    """The first unclaimed slot whose network and ports are unused, starting with slot number `first` of the range. Clusters
    that start at different numbers rarely take the ports of one that has crashed and is about to be restarted."""
    networks = list(networks)
    count = LAST_SLOT + 1 - FIRST_SLOT
    for number in range(first, first + count):
        addresses = Addresses(FIRST_SLOT + number % count)
        if addresses.slot not in claimed and not conflict(addresses, networks, ports):
            return addresses
    raise UserError(
        f"No free subnet between 10.{FIRST_SLOT}.0.0/16 and 10.{LAST_SLOT}.0.0/16: "
        "remove clusters you no longer need with `deploy/cluster down --name NAME`."
    )


def conflict(addresses: Addresses, networks: Iterable[Network], ports: Collection[int]) -> str:
    """The network or port of these that is already in use on this machine, or None."""
    for network in networks:
        if network.overlaps(addresses.network):
            return f"the network {network}"
    for port in addresses.ports:
        if port in ports:
            return f"port {port}"
    return ""


def parse_listening_ports(proc_net_tcp: str) -> set[int]:
    """The listening ports in a /proc/net/tcp or tcp6 table."""
    listening = "0A"
    ports = set()
    for line in proc_net_tcp.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 3 and fields[3] == listening:
            ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def parse_networks(routes: list[dict], links: list[dict]) -> set[Network]:
    """The IPv4 networks in the JSON that `ip route` and `ip address` print."""
    named = [route.get("dst", "default") for route in routes]
    named += [
        f"{address['local']}/{address['prefixlen']}"
        for link in links
        for address in link.get("addr_info", [])
        if address.get("family") == "inet"
    ]
    return {ipaddress.IPv4Network(name, strict=False) for name in named if name != "default"}
