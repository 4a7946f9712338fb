"""Strangers who take what a server has (connections, memory) and give nothing back: memory stays within 64 MiB over idle,
the others are served meanwhile, and afterwards the memory is given back. The table of attacks is in docs/security.md."""

import os
import socket
import ssl
import statistics
import time

import pytest

import rawh2
from generic import pb, version_by, version_of
from peers import is_sanitized
from process_memory import peak_kib
from waiting import until
from rawh2 import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, frame, headers, message, reset, settings
from test_abuse import CALL, Raw, resident_mib

BOUND_MIB = 64
ENDS = (ConnectionError, EOFError)
SECURE = "secure: true\nusers: [{id: alice, access-key: alice-key-685X_K4uC, allocations: [cl1]}]\n"
ALICE = dict(user_id="alice", access_key="alice-key-685X_K4uC")


def most_mib(server):
    """The most memory that it has had so far."""
    return peak_kib(server.process.pid) / 1024


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


def crowd(server, others, begin, rounds, say):
    """Forty connections say something in turn, and the others ask meanwhile. Who is cut off comes again."""
    peers = {}
    for number in range(rounds):
        for place in range(40):
            try:
                if place not in peers:
                    peers[place] = begin(server)
                say(peers[place], number)
            except (*ENDS, OSError):
                peers.pop(place, None)
        others.ask()
    for peer in peers.values():
        peer.sock.close()


def test_floods_of_resets(serve, bystander):
    """CVE-2023-44487: each call is given up as soon as it has begun, so that none counts as open."""
    server = serve("clusters: [{id: cl1}]")

    given_up = [b"".join(headers(stream, call_for("ListIPUAttributes")) + frame(DATA, message(b""), END_STREAM, stream) + reset(stream, 8)
                         for stream in range(first, first + 200, 2)) for first in range(1, 2001, 200)]
    crowd(server, bystander(server), lambda server: Raw(server.port), len(given_up), lambda peer, number: peer.send(given_up[number]))


def test_a_call_that_is_given_up_at_once_is_not_run(serve, dial):
    """Its reset is in the same packet."""
    server = serve("create-ms: 0\nclusters: [{id: cl1}]")
    create = pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id="p1", size=1)).SerializeToString()
    peer = Raw(server.port, greet=False)
    peer.send(rawh2.PREFACE + settings((1, 0)))  # answers as literals
    peer.send(headers(1, call_for("CreatePartition")), frame(DATA, message(create), END_STREAM, 1), reset(1, 8))
    peer.call(3)
    assert b"\x010" in peer.answer(3)
    assert dial(server.target).list() == []
    peer.call(5, call_for("CreatePartition"), message(create))
    assert b"\x010" in peer.answer(5)
    assert [partition.id for partition in dial(server.target).list()] == ["p1"]


def test_headers_that_never_end(serve, bystander):
    """A CONTINUATION flood (CVE-2024-27316): each frame adds to a block whose end never comes."""
    server = serve("clusters: [{id: cl1}]")
    piece = frame(CONTINUATION, (b"\x00" + rawh2._text("x") + rawh2._text("y" * 100)) * 150, 0, 1)

    def begin(server):
        peer = Raw(server.port)
        peer.send(frame(HEADERS, b"", 0, 1))
        return peer

    crowd(server, bystander(server), begin, 20, lambda peer, number: peer.send(piece * 4))


def test_headers_that_expand(serve, bystander):
    """An HPACK bomb: one field of 3 KiB, then a byte for each repetition of it. It would be 36 MiB for each call."""
    server = serve("clusters: [{id: cl1}]")
    field = b"\x40\x01x\x7f\x81\x17" + b"y" * 3072  # with incremental indexing; the value's length is 127 + 2945
    assert 127 + 1 + (0x17 << 7) == 3072
    pairs = b"".join(b"\x00" + rawh2._text(name) + rawh2._text(value) for name, value in CALL)

    bomb = frame(HEADERS, pairs + field + b"\xbe" * 12000, END_HEADERS, 1)
    crowd(server, bystander(server), lambda server: Raw(server.port), 20, lambda peer, number: peer.send(bomb))
    peer = Raw(server.port)
    peer.send(bomb)
    peer.until_closed()


def test_settings_that_change_the_table(serve, bystander):
    """Each makes the server's table for the headers of its answers as large as it may be, and small again."""
    server = serve("clusters: [{id: cl1}]")
    resize = settings((1, 0xffffffff)) + settings((1, 0)) + settings((4, 0)) + settings((4, 0x7fffffff))

    def say(peer, number):
        peer.send(resize * 200)
        peer.call(1 + 2 * number)

    crowd(server, bystander(server), lambda server: Raw(server.port), 20, say)


def test_requests_that_trickle(serve, bystander, dial):
    """A slow loris: 300 connections send a byte of a call now and then, so that none is ever silent."""
    server = serve("clusters: [{id: cl1}]")
    others = bystander(server)
    text = rawh2.PREFACE + settings() + headers(1, CALL)
    socks = {}
    for at in range(20):
        for place in range(300):
            try:
                if place not in socks:
                    socks[place] = socket.create_connection(("127.0.0.1", server.port))
                    socks[place].sendall(text[:at])
                socks[place].sendall(text[at:at + 1])
            except OSError:
                socks.pop(place).close()
        others.ask()
        assert version_by(dial(server.target)) == "1.18.0", "newcomers find a place"
    for sock in socks.values():
        sock.close()


@pytest.mark.parametrize("share", [0, 1, 100], ids=["silent", "a-byte", "half"])
def test_handshakes_that_do_not_end(serve, bystander, dial, certificate, authority, share):
    """More TLS handshakes than there may be connections, none of which goes on."""
    server = serve(f"tls: {{certificate: {certificate.pem}, key: {certificate.key}}}\nclusters: [{{id: cl1}}]\n{SECURE}")
    options = dict(ALICE, authority=authority.pem.read_bytes())
    others = bystander(server, **options)
    hello = client_hello()
    socks = []
    for place in range(300):
        socks.append(socket.create_connection(("127.0.0.1", server.port)))
        try:
            socks[-1].sendall(hello[:share])
        except OSError:
            pass
        if place % 30 == 0:
            others.ask()
    for _ in range(5):
        others.ask()
        assert version_by(dial(server.target, **options)) == "1.18.0", "newcomers find a place"
    for sock in socks:
        sock.close()


def client_hello():
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def test_floods_of_log_ins(serve, bystander):
    """Of users that exist and of a new one each time, with wrong keys. Nothing is kept of them."""
    server = serve("clusters: [{id: cl1}]\n" + SECURE)
    others = bystander(server, **ALICE)

    def say(peer, number):
        first = 1 + number * 100
        for stream in range(first, first + 100, 2):
            user = "alice" if stream % 4 == 1 else os.urandom(20).hex()
            peer.call(stream, [*CALL, ("vipu-user-id", user), ("vipu-access-key", os.urandom(16).hex())])

    crowd(server, others, reading_aside, 20, say)
    assert server.log().count("log-in failed") < 50, "and they do not fill the log"


def reading_aside(server):
    peer = Raw(server.port)
    peer.read_aside()
    return peer
