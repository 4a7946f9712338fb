"""The TCP sockets of a process's network, as /proc tells them."""

import ipaddress
import struct
from pathlib import Path

ESTABLISHED, LISTEN = "01", "0A"


def sockets(pid):
    """(state, local address, local port, remote address, remote port) of all in the network of that process."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            local, remote, state = line.split()[1:4]
            found.append((state, *end(local), *end(remote)))
    return found


def end(text):
    """Words of four bytes each, in the machine's order; an IPv4 address in IPv6 clothes is that address."""
    address, port = text.split(":")
    words = [int(address[at:at + 8], 16) for at in range(0, len(address), 8)]
    ip = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    return str(getattr(ip, "ipv4_mapped", None) or ip), int(port, 16)


def incoming(pid):
    """(remote address, local port) of each incoming connection."""
    ours = sockets(pid)
    ports = {port for state, _, port, *_ in ours if state == LISTEN}
    return {(remote, port) for state, local, port, remote, _ in ours
            if state == ESTABLISHED and port in ports and remote != local}


def listening(pid):
    """Ports on which others are heard: those of loopback are not."""
    return {port for state, local, port, *_ in sockets(pid)
            if state == LISTEN and not ipaddress.ip_address(local).is_loopback}
