"""Our server against clients that flood it, starve it, or break the rules of HTTP/2: they are rejected or cut off, other
clients notice nothing, and memory stays small. More of the kind stands in test_abuse.py."""

import struct

import grpc
import pytest

import rawh2
from generic import pb
from peers import is_sanitized
from programs import Answerer
from rawh2 import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PRIORITY, PUSH_PROMISE,
                   RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, headers)
from test_abuse import CALL, Raw, resident_mib

ENDS = (ConnectionError, EOFError)


@pytest.fixture
def others(server, dial):
    """A well-behaved client, which must not notice."""
    client = dial(server.target)
    client.create("p1", 4)
    before = resident_mib(server)
    yield client
    assert [p.id for p in client.list()] == ["p1"]
    assert server.process.poll() is None
    assert is_sanitized(server.process) or resident_mib(server) - before < 32


FLOODS = {
    "ping": frame(PING, b"12345678"), "pong": frame(PING, b"12345678", ACK), "settings": rawh2.settings((4, 65535)),
    "empty-settings": frame(SETTINGS), "window": frame(WINDOW_UPDATE, struct.pack(">I", 1)),
    "priority": frame(PRIORITY, b"\0\0\0\0\x01", stream=3), "unknown-type": frame(0x42, b"what the future may bring"),
}


@pytest.mark.parametrize("piece", FLOODS.values(), ids=FLOODS)
def test_a_flood(server, others, piece):
    """Who reads the answers is either served afterwards or cut off, and the server is there for the others."""
    peer = Raw(server.port)
    peer.read_aside()
    try:
        for _ in range(100):
            peer.send(piece * 1000)
    except ENDS:
        pass
    peer.sock.close()
    assert others.version() == "1.18.0"


@pytest.mark.parametrize("name", ["ping", "settings"])
def test_a_flood_whose_answers_are_never_read(server, others, name):
    peer = Raw(server.port)
    with pytest.raises(ENDS):
        for _ in range(10000):
            peer.send(FLOODS[name] * 1000)


BREACHES = {
    "frame-too-large": (1 << 20).to_bytes(3, "big") + b"\0\0" + struct.pack(">I", 1) + b"x" * 20000,
    "window-overflow": frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff"),
    "window-of-nothing": frame(WINDOW_UPDATE, bytes(4)),
    "settings-window-too-large": rawh2.settings((4, 0xffffffff)),
    "settings-frame-size": rawh2.settings((5, 1)),
    "settings-push": rawh2.settings((2, 2)),
    "settings-ack-with-payload": frame(SETTINGS, bytes(6), ACK),
    "settings-on-a-stream": frame(SETTINGS, b"", 0, 1),
    "half-a-setting": frame(SETTINGS, bytes(5)),
    "short-ping": frame(PING, b"123"),
    "short-goaway": frame(GOAWAY, b"1234"),
    "reset-of-nothing": rawh2.reset(1, 8),
    "data-without-headers": frame(DATA, b"x", stream=1),
    "data-on-no-stream": frame(DATA, b"x"),
    "headers-on-no-stream": headers(0, CALL),
    "headers-on-an-even-stream": headers(2, CALL),
    "padding-longer-than-the-frame": headers(1, CALL) + frame(DATA, b"\xffx", PADDED, 1),
    "push": frame(PUSH_PROMISE, struct.pack(">I", 2) + b"\x82", END_HEADERS, 1),
    "continuation-of-nothing": frame(CONTINUATION, b"", END_HEADERS, 1),
    "something-between-headers": frame(HEADERS, b"", 0, 1) + frame(PING, b"12345678"),
    "hpack-index-out-of-range": frame(HEADERS, b"\xff\xff\xff\x7f", END_HEADERS, 1),
    "hpack-index-zero": frame(HEADERS, b"\x80", END_HEADERS, 1),
    "hpack-length-out-of-range": frame(HEADERS, b"\x00\x7f\xff\xff\xff\x7fx", END_HEADERS, 1),
    "hpack-table-too-large": frame(HEADERS, b"\x3f\xff\xff\xff\x7f", END_HEADERS, 1),
    "short-reset": headers(1, CALL) + frame(RST_STREAM, b"12", stream=1),
}


@pytest.mark.parametrize("bytes_", BREACHES.values(), ids=BREACHES)
def test_breaches_of_http2(server, others, bytes_):
    """They end the connection, with GOAWAY."""
    peer = Raw(server.port)
    peer.send(bytes_)
    kinds = []
    with pytest.raises(ENDS):
        while True:
            kinds.append(peer.frame()[0])
    assert GOAWAY in kinds


REQUEST_BREACHES = {
    "no-method": [pair for pair in CALL if pair[0] != ":method"],
    "no-path": [pair for pair in CALL if pair[0] != ":path"],
    "two-paths": CALL[:3] + [(":path", "/")] + CALL[3:],
    "an-empty-path": [(name, "" if name == ":path" else value) for name, value in CALL],
    "pseudo-header-last": CALL[1:] + CALL[:1],
    "an-unknown-pseudo-header": [(":version", "1")] + CALL,
    "uppercase-header": CALL + [("X-Y", "z")],
    "connection-header": CALL + [("connection", "close")],
    "te-something": [(name, "gzip" if name == "te" else value) for name, value in CALL],
    "line-break-in-a-value": CALL + [("x", "a\r\nb")],
    "content-length-of-letters": CALL + [("content-length", "many")],
    "content-length-too-large": CALL + [("content-length", "500")],
    "content-length-too-small": CALL + [("content-length", "1")],
}


@pytest.mark.parametrize("pairs", REQUEST_BREACHES.values(), ids=REQUEST_BREACHES)
def test_breaches_of_one_request(server, others, pairs):
    """They end the call alone."""
    peer = Raw(server.port)
    peer.call(1, pairs)
    peer.call(3)
    ends = {}
    while 3 not in ends:
        kind, flags, stream, _ = peer.frame()
        if kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM):
            ends[stream] = kind
    assert ends == {1: RST_STREAM, 3: HEADERS}


@pytest.mark.parametrize("timeout, status", [
    ("99999999H", b"0"), ("1M", b"0"), ("100S", b"0"), ("00100000m", b"0"), ("10000000u", b"0"), ("0n", b"4"), ("", b"3"),
    ("x", b"3"), ("S", b"3"), ("-1S", b"3"), ("1", b"3"), ("999999999S", b"3"), ("1h", b"3"), ("1.5S", b"3")])
def test_timeouts(server, others, timeout, status):
    """grpc/grpc, doc/PROTOCOL-HTTP2.md: at most eight digits and one of six units. A deadline that has passed already is
    as good as none of the work."""
    peer = Raw(server.port)
    peer.call(1, CALL + [("grpc-timeout", timeout)])
    assert b"\x01" + status in peer.answer(1)


def test_a_request_byte_by_byte(server, others):
    peer = Raw(server.port, greet=False)
    peer.send_slowly(rawh2.PREFACE + rawh2.settings((1, 0)))  # answers as literals, each like the first
    for stream in (1, 3):
        peer.send_slowly(headers(stream, CALL) + frame(DATA, rawh2.message(b""), END_STREAM, stream))
        assert b"\x010" in peer.answer(stream)


def test_a_message_in_many_frames(server, others):
    """One byte in each, with empty ones in between; the end of the stream comes by itself."""
    peer = Raw(server.port)
    peer.send(headers(1, CALL), *(frame(DATA, bytes([byte]), stream=1) + frame(DATA, b"", stream=1)
                                  for byte in rawh2.message(b"\xf8\x7c\x01")))
    peer.send(frame(DATA, b"", END_STREAM, 1))
    assert b"\x010" in peer.answer(1)


class Gatherer(Raw):
    """Sends bodies as fast as the server gives window for them, and remembers what is answered meanwhile."""

    def __init__(self, port):
        super().__init__(port, greet=False)
        self.blocks = {}
        self.send(rawh2.PREFACE, rawh2.settings((1, 0)))  # answers as literals
        while self.frame()[0] != SETTINGS:
            pass
        self.acknowledge()

    def frame(self):
        kind, flags, stream, payload = super().frame()
        if kind == HEADERS:
            self.blocks[stream] = payload
        return kind, flags, stream, payload

    def begin(self, stream, frames):
        self.send(headers(stream, CALL))
        for number in range(frames):
            self.send_data(stream, (b"" if number else b"\0\0\x7f\xff\xff").ljust(16000, b"x"))

    def answer(self, stream):
        while stream not in self.blocks:
            self.frame()
        return self.blocks[stream]


def test_requests_that_never_end(server, others):
    """Each is smaller than it may be; together they are more than one connection may have begun, and more than all."""
    peers = [Gatherer(server.port) for _ in range(4)]
    cut_off = 0
    for peer in peers:
        try:
            for stream in range(1, 101, 2):
                peer.begin(stream, 60)
        except ENDS:
            cut_off += 1
    assert others.version() == "1.18.0"
    assert others.status("p1").ready_state == pb.PS_ACTIVE
    assert is_sanitized(server.process) or resident_mib(server) < 80
    for peer in peers:
        try:
            assert b"\x018" in peer.answer(99)
            peer.send(frame(DATA, b"", END_STREAM, 1))
            assert b"\x013" in peer.answer(1)  # it was taken, and is no message
        except ENDS:
            cut_off += 1
    assert cut_off < len(peers)


def test_more_calls_than_may_be_in_flight(server, others):
    """The thousand and first is rejected before anybody looked at it."""
    peer = Raw(server.port)
    for stream in range(1, 2003, 2):
        peer.send(headers(stream, CALL))
    while True:
        kind, _, stream, payload = peer.frame()
        if kind == RST_STREAM:
            break
    assert (stream, payload) == (2001, struct.pack(">I", 7))
    peer.send(frame(DATA, rawh2.message(b""), END_STREAM, 1))
    assert b"\x010" in peer.answer(1)


@pytest.mark.parametrize("code", [0, 2])
def test_a_client_that_says_goaway(server, others, code):
    """It wants no new calls of ours, which there are none of; the one it made is answered."""
    peer = Raw(server.port)
    peer.send(headers(1, CALL), rawh2.goaway(0, code), frame(DATA, rawh2.message(b""), END_STREAM, 1))
    assert b"\x010" in peer.answer(1)


@pytest.fixture
def answerer():
    """vipu/wire's service, which answers a user "hold" when it is told to."""
    running = Answerer()
    yield running
    assert running.stop() == 0


def test_a_deadline_that_passes(answerer, dial):
    """The answer comes too late, and is dropped."""
    held, other = dial(answerer.target, user_id="hold"), dial(answerer.target)
    with pytest.raises(grpc.RpcError) as caught:
        held.versions.GetVersion(pb.VersionRequest(), timeout=0.3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    answerer.answer_held()
    assert other.version() == "user= key="


def test_a_call_that_is_cancelled(answerer, dial):
    """As above, and on the same connection, which goes on."""
    client = dial(answerer.target)
    call = client.versions.GetVersion.future(pb.VersionRequest(), metadata=[("vipu-user-id", "hold")])
    assert client.version() == "user= key="  # behind the one that is held
    assert call.cancel() and call.cancelled()
    assert client.version() == "user= key="
    answerer.answer_held()
    assert client.version() == "user= key="
