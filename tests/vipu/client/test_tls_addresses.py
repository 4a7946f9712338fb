"""A name with several addresses, some of which are no controller that the client believes."""

import socket
import subprocess
import threading
from concurrent import futures

import grpc
import pytest

import peers
from generic import services
from programs import DEADLINE_S, program

NAME = "twofold"
HOSTS = f"127.0.0.1 localhost\n127.0.0.1 {NAME}\n127.0.0.2 {NAME}\n"


class Bad:
    """On 127.0.0.1: takes connections and deals with them in a way of its own."""

    def __init__(self, deal):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.seen = 0
        self._deal = deal
        self._kept = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return  # closed
            self.seen += 1
            self._kept.append(peer)
            try:
                self._deal(peer)
            except ConnectionError:
                continue  # the peer hung up first

    def close(self):
        self._listener.close()
        for peer in self._kept:
            peer.close()


def hang_up(peer):
    peer.recv(65536)
    peer.close()


def talk_nonsense(peer):
    peer.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n" * 10)


def say_nothing(peer):
    """Not even in the TLS handshake."""


class Good:
    """A grpcio server on an address, with a certificate."""

    def __init__(self, address, port, certificate):
        self.servicer = peers.Generic()
        self._server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
        services.add_UserServiceServicer_to_server(self.servicer, self._server)
        services.add_VersionServiceServicer_to_server(self.servicer, self._server)
        self.port = self._server.add_secure_port(f"{address}:{port}", grpc.ssl_server_credentials([certificate.read()]))
        self._server.start()

    def close(self):
        self._server.stop(0).wait()


@pytest.fixture
def keep():
    parts = []

    def add(part):
        parts.append(part)
        return part

    yield add
    for part in parts:
        part.close()


@pytest.fixture
def ask(tmp_path, authority):
    """Our client, for whom the name has two addresses."""
    hosts = tmp_path / "hosts"
    hosts.write_text(HOSTS)

    def run(port, *steps):
        words = [program("../tests/unit/vipu/vipu-probe"), NAME, str(port), f"ca:{authority.pem}", *steps]
        done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
        return [peers.parse(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize("deal", [hang_up, talk_nonsense, say_nothing])
def test_the_next_address_is_tried_when_tls_fails_at_one(ask, keep, authority, deal):
    bad = keep(Bad(deal))
    keep(Good("127.0.0.2", bad.port, authority.sign("good", f"DNS:{NAME}")))
    lines = ask(bad.port, "version", "list")
    assert [line.kind for line in lines] == ["ok", "ok"], lines
    assert bad.seen == 1


def test_the_next_address_is_tried_when_one_is_not_believed(ask, keep, authority, stranger):
    bad = keep(Good("127.0.0.1", 0, stranger.sign("bad", f"DNS:{NAME}")))
    good = keep(Good("127.0.0.2", bad.port, authority.sign("good", f"DNS:{NAME}")))
    (line,) = ask(bad.port, "user:alice", "key:secret-of-alice", "list")
    assert line.kind == "ok", line
    assert good.servicer.metadata["vipu-access-key"] == "secret-of-alice"
    assert bad.servicer.metadata == {}, "nothing was sent to who certificate verification failed"


def test_an_error_of_a_peer_is_reported_before_a_missing_one(ask, keep, stranger):
    bad = keep(Good("127.0.0.1", 0, stranger.sign("lonely", f"DNS:{NAME}")))
    (line,) = ask(bad.port, "create:p1:4")
    assert (line.kind, line.sent) == ("denied", False) and "unknown authority" in line.text
    assert line.text.count(NAME) == 1
