"""Strangers who take what a server has (connections, memory) and give nothing back: memory stays within 64 MiB over idle,
the others are served meanwhile, and afterwards the memory is given back. The table of attacks is in docs/security.md."""

import re
import socket
import statistics
import time

import pytest

import rawh2
from generic import version_by, version_of
from peers import is_sanitized
from waiting import until
from test_abuse import CALL, Raw, resident_mib

BOUND_MIB = 64
ENDS = (ConnectionError, EOFError)
SECURE = "secure: true\nusers: [{id: alice, access-key: alice-key-685X_K4uC, allocations: [cl1]}]\n"
ALICE = dict(user_id="alice", access_key="alice-key-685X_K4uC")


def most_mib(server):
    """The most memory that it has had so far."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1024


class Bystander:
    """A well-behaved client, which must not notice."""

    def __init__(self, server, client):
        self.server, self.client = server, client
        self.client.version()
        self.idle_mib = resident_mib(server)
        self.durations = []

    def ask(self):
        begun = time.monotonic()
        assert self.client.version() == "1.18.0"
        self.durations.append(time.monotonic() - begun)

    def leave(self):
        """Its median, and a multiple of the second of docs/security.md, so that a busy machine does not count."""
        assert statistics.median(self.durations) < 5
        assert is_sanitized(self.server.process) or most_mib(self.server) - self.idle_mib < BOUND_MIB


@pytest.fixture
def bystander(dial):
    known = []

    def watch(server, **options):
        known.append(Bystander(server, dial(server.target, **options)))
        return known[-1]

    yield watch
    for one in known:
        one.leave()


def call_for(method, service="virmgrpc.UserService"):
    return [(name, f"/{service}/{method}" if name == ":path" else value) for name, value in CALL]


REFLECT = call_for("ServerReflectionInfo", "grpc.reflection.v1.ServerReflection")
HALF = dict(body=b"\0\0\0\0\x09a", end=0)
WATCH = dict(headers=call_for("Watch", "grpc.health.v1.Health"))
EXCHANGE = dict(headers=REFLECT, body=rawh2.message(b"\x3a\x00"), end=0)


@pytest.mark.parametrize("window", [0, 65535], ids=["no-window", "no-read"])
def test_readers_that_do_not_read(serve, bystander, window):
    """Forty connections with a hundred lists each: each list is some 40 KiB."""
    server = serve("clusters: [{id: cl1}]")
    others = bystander(server)
    peers = []
    for _ in range(40):
        peers.append(Raw(server.port, greet=False))
        try:
            peers[-1].send(rawh2.PREFACE, rawh2.settings((4, window)))
            for stream in range(1, 201, 2):
                peers[-1].call(stream, call_for("ListIPUAttributes"))
        except ENDS:
            pass  # it was cut off
        others.ask()
    assert len(others.client.attributes()) == 16, "a list for those who read it"
    for peer in peers:
        peer.sock.close()
    until(lambda: is_sanitized(server.process) or resident_mib(server) - others.idle_mib < BOUND_MIB / 4,
          "the memory is given back")


def test_exchanges_that_do_not_read(serve, bystander):
    """Of the reflection service: each of its small requests has a response of many times its size."""
    server = serve("clusters: [{id: cl1}]")
    others = bystander(server)
    requests = rawh2.message(b"\x1a\x0avipu.proto") * 900
    peers = []
    for _ in range(40):
        peers.append(Raw(server.port, greet=False))
        try:
            peers[-1].send(rawh2.PREFACE, rawh2.settings((4, 0)))
            for stream in range(1, 21, 2):
                peers[-1].call(stream, REFLECT, body=requests, end=0)
        except ENDS:
            pass  # it was cut off
        others.ask()
    for peer in peers:
        peer.sock.close()
    until(lambda: is_sanitized(server.process) or resident_mib(server) - others.idle_mib < BOUND_MIB / 4,
          "the memory is given back")


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("begun", [None, HALF, WATCH, EXCHANGE], ids=["silent", "unfinished", "watching", "exchanging"])
def test_connections_that_ask_nothing(serve, bystander, dial, secure, begun):
    """As many as there may be, with a call each that stays open, or without a word: they make room at once."""
    server = serve("clusters: [{id: cl1}]\n" + (SECURE if secure else ""))
    options = ALICE if secure else {}
    others = bystander(server, **options)
    peers = []
    for _ in range(300):
        peers.append(Raw(server.port, greet=begun is not None))
        try:
            if begun:
                peers[-1].call(1, **begun)
        except ENDS:
            pass
    for _ in range(10):
        others.ask()
        assert version_by(dial(server.target, **options)) == "1.18.0", "newcomers find a place"
    for peer in peers:
        peer.sock.close()


def test_a_peer_with_many_connections_makes_room_first(serve):
    """Of those that are idle, not the one that has been for longest, which is another's only one."""
    server = serve("listen: 127.0.0.1:0\nlimits: {connections: 8}\nclusters: [{id: cl1}]")

    def connect(address):
        sock = socket.create_connection(("127.0.0.1", server.port), source_address=(address, 0))
        peer = rawh2.Peer(sock)
        peer.send(rawh2.PREFACE, rawh2.settings(), rawh2.headers(1, CALL),
                  rawh2.frame(rawh2.DATA, rawh2.message(b""), rawh2.END_STREAM, 1))
        while True:
            kind, flags, stream, _ = peer.frame()
            if kind == rawh2.HEADERS and flags & rawh2.END_STREAM:
                return peer

    lonely = connect("127.0.0.3")
    crowd = [connect("127.0.0.2") for _ in range(7)]
    assert version_of(server.target) == "1.18.0"
    kinds = []
    with pytest.raises(ENDS):
        while True:
            kinds.append(crowd[0].frame()[0])
    assert rawh2.GOAWAY in kinds, "its client is told that it may call again"
    lonely.send(rawh2.frame(rawh2.PING, b"12345678"))
    while lonely.frame()[0] != rawh2.PING:
        pass


def test_a_request_has_a_time(serve):
    """One that is not complete by then is rejected, and its connection goes on."""
    server = serve("limits: {stall-ms: 200}\nclusters: [{id: cl1}]")
    peer = Raw(server.port, greet=False)
    peer.send(rawh2.PREFACE, rawh2.settings((1, 0)))
    peer.call(1, body=b"\0\0\0\0\x09a", end=0)
    kind = stream = payload = None
    while kind != rawh2.HEADERS:
        kind, _, stream, payload = peer.frame()
    assert stream == 1 and b"\x014" in payload
    peer.call(3)
    while (kind, stream) != (rawh2.HEADERS, 3):
        kind, _, stream, payload = peer.frame()


def test_a_reader_has_a_time(serve):
    """One that takes nothing of a response is closed."""
    server = serve("limits: {stall-ms: 200}\nclusters: [{id: cl1}]")
    peer = Raw(server.port, greet=False)
    peer.send(rawh2.PREFACE, rawh2.settings((4, 0)))
    peer.call(1, call_for("ListIPUAttributes"))
    peer.until_closed()
    assert version_of(server.target) == "1.18.0"


def test_calls_beyond_the_limit_whose_rejections_are_not_read(serve, bystander):
    """Without acknowledging the settings, a client may begin as many streams as it likes; each is rejected."""
    server = serve("clusters: [{id: cl1}]")
    others = bystander(server)
    peer = Raw(server.port)
    with pytest.raises(ENDS):
        for first in range(1, 4000001, 2000):
            peer.send(b"".join(rawh2.headers(stream, CALL) for stream in range(first, first + 2000, 2)))
    others.ask()
