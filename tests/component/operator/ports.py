"""Ports for servers that tests start, and start again at the same place."""

import random
import socket

# Beneath those from which the system chooses (ip_local_port_range) and above those of local clusters: what other tests
# open meanwhile is not there.
RANGE = range(20000, 32000)


def free_port():
    while True:
        port = random.choice(RANGE)
        with socket.socket() as it:
            try:
                it.bind(("127.0.0.1", port))
            except OSError:
                continue  # taken
            return port
