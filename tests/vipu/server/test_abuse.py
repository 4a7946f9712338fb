"""Clients that keep no rule: the server rejects them, stays up, and other clients notice nothing."""

import socket
import struct

import pytest

import rawh2
from generic import pb, version_of
from programs import DEADLINE_S, until

CALL = [(":method", "POST"), (":scheme", "http"), (":path", "/virmgrpc.VersionService/GetVersion"),
        (":authority", "x"), ("content-type", "application/grpc"), ("te", "trailers")]


class Raw(rawh2.Peer):
    """The client's side of rawh2."""

    def __init__(self, port, greet=True):
        super().__init__(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if greet:
            self.send(rawh2.PREFACE, rawh2.settings())

    def call(self, stream, headers=None, body=rawh2.message(b""), end=rawh2.END_STREAM):
        self.send(rawh2.headers(stream, headers or CALL), rawh2.frame(rawh2.DATA, body, end, stream))

    def answer(self, stream):
        """The header blocks of the answer, one after the other, until the stream ends."""
        blocks = b""
        while True:
            kind, flags, number, payload = self.frame()
            if number == stream and kind == rawh2.HEADERS:
                blocks += payload
            if number == stream and (flags & rawh2.END_STREAM and kind in (rawh2.HEADERS, rawh2.DATA)):
                return blocks


@pytest.fixture
def others(server, dial):
    """A well-behaved client, which must not notice."""
    client = dial(server.target)
    client.create("p1", 4)
    yield client
    assert [p.id for p in client.list()] == ["p1"]
    assert server.process.poll() is None


def resident_mib(server):
    with open(f"/proc/{server.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / (1 << 20)


@pytest.mark.parametrize("bytes_", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 1000, b"\xff" * 1000, rawh2.PREFACE[:10] + b"x" * 100,
    rawh2.PREFACE + b"\xff" * 100, rawh2.PREFACE + rawh2.frame(rawh2.DATA, b"", stream=1),
    rawh2.PREFACE + rawh2.settings() + rawh2.frame(rawh2.HEADERS, b"\xff\xff\xff\xff\xff", rawh2.END_HEADERS, 1),
    rawh2.PREFACE + rawh2.settings((4, 0xffffffff)),
    rawh2.PREFACE + rawh2.settings() + (1 << 20).to_bytes(3, "big") + b"\x00\x00\x00\x00\x00\x01" + b"x" * 100,
])
def test_what_is_no_http2(server, others, bytes_):
    peer = Raw(server.port, greet=False)
    peer.send(bytes_)
    peer.until_closed()


@pytest.mark.parametrize("changes, body, wanted", [
    ({":method": "GET"}, rawh2.message(b""), b"405"),
    ({"content-type": "text/html"}, rawh2.message(b""), b"415"),
    ({":path": "/" + "x" * 120}, rawh2.message(b""), b"12"),
    ({}, b"", b"3"), ({}, b"\0\0\0\0", b"3"), ({}, b"\0\0\0\0\x09abc", b"3"),
    ({}, rawh2.message(b"") * 2, b"3"), ({}, rawh2.message(b"\xff"), b"3"),
])
def test_calls_that_are_none(server, others, changes, body, wanted):
    peer = Raw(server.port)
    peer.call(1, [(name, changes.get(name, value)) for name, value in CALL], body)
    # HPACK writes a text that Huffman would not make shorter as it is, behind its length; digits are such texts.
    assert bytes([len(wanted)]) + wanted in peer.answer(1)
    peer.call(3)
    assert b"\x010" in peer.answer(3)


def test_headers_without_end(server, others):
    """A flood of header bytes ends the connection instead of filling the memory."""
    peer = Raw(server.port)
    before = resident_mib(server)
    with pytest.raises((ConnectionError, EOFError, BrokenPipeError)):
        for stream in range(1, 100001, 2):
            peer.send(rawh2.headers(stream, CALL + [(f"x-{i}", "y" * 120) for i in range(400)]))
    assert resident_mib(server) - before < 32


def test_continuations_without_end(server, others):
    peer = Raw(server.port)
    block = b"\x00" + rawh2._text("x") + rawh2._text("y" * 100)
    with pytest.raises((ConnectionError, EOFError, BrokenPipeError)):
        peer.send(rawh2.frame(rawh2.HEADERS, block, 0, 1))
        for _ in range(100000):
            peer.send(rawh2.frame(9, block * 50, 0, 1))


def test_a_flood_of_resets(server, others):
    peer = Raw(server.port)
    with pytest.raises((ConnectionError, EOFError, BrokenPipeError)):
        for stream in range(1, 2000001, 2):
            peer.send(rawh2.headers(stream, CALL), rawh2.reset(stream, 8))


def test_clients_that_reset_what_is_finished(server, others):
    """Some libraries do, with every call: that is no flood."""
    peer = Raw(server.port)
    for stream in range(1, 10001, 2):
        peer.call(stream)
        peer.answer(stream)
        peer.send(rawh2.reset(stream, 8))


def test_replies_that_are_never_read(serve, dial):
    """A client that asks for much and gives no window is rejected before the replies fill the memory."""
    server = serve("clusters: [{id: cl1, ipulink-domains: 16}]")
    reply = sum(len(key) + len(value) for ipus in dial(server.target).attributes().values()
                for attributes in ipus.values() for key, value in attributes.items())
    calls = (16 << 20) // reply + 20
    assert calls < 1000, "more could not be in flight"
    peer = Raw(server.port, greet=False)
    peer.send(rawh2.PREFACE, rawh2.settings((4, 0), (1, 0)))  # no window, and headers as literals
    attrs = [(n, "/virmgrpc.UserService/ListIPUAttributes" if n == ":path" else v) for n, v in CALL]
    for stream in range(1, 2 * calls, 2):
        peer.call(stream, attrs)
    # Headers need no window: the last call's rejection comes through.
    assert b"\x018" in peer.answer(2 * calls - 1)
    assert dial(server.target).version() == "1.18.0"


def test_more_connections_than_the_limit(server, others):
    peers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    assert others.version() == "1.18.0"
    for peer in peers:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    until(lambda: version_of(server.target), "new connections are taken again")


def test_a_client_that_gives_up(server, others):
    peer = Raw(server.port)
    for stream in range(1, 2001, 2):
        peer.call(stream, end=0)
    peer.sock.close()


def test_half_a_request_and_no_more(server, others):
    peers = [Raw(server.port) for _ in range(20)]
    for peer in peers:
        peer.call(1, body=b"\0\0\0\0\x09a", end=0)
    assert others.status("p1").ready_state == pb.PS_ACTIVE
    for peer in peers:
        peer.sock.close()
