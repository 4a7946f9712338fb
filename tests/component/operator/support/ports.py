"""Ports for servers that tests start, and start again at the same place."""

import random
import socket

import workers

# Beneath those from which the system chooses (ip_local_port_range) and above those of local clusters: what other tests
# open meanwhile is not there.
FIRST, PORTS, WORKERS = 20000, 12000, 8
# A server that is down for a moment finds its port free again: each worker process has a part of them to itself.
RANGE = range(FIRST, FIRST + PORTS)[workers.number() % WORKERS::WORKERS]


def free_port():
    while True:
        port = random.choice(RANGE)
        with socket.socket() as it:
            try:
                it.bind(("127.0.0.1", port))
            except OSError:
                continue  # taken
            return port


def own_address():
    """Of this machine, and not of its loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))  # sends nothing
        return one.getsockname()[0]
