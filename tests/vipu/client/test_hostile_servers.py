"""Our client against servers that flood it, starve it, or break the rules of HTTP/2: each call ends with a typed error or
its answer, within its deadline and in little memory, and the client is of use afterwards."""

import struct
import threading

import pytest

import rawh2
from peers import Probe, probe
from programs import DEADLINE_S
from rawh2 import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, OPEN, PADDED, PING, PRIORITY,
                   PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, headers, response)

SOME_MIB = 32 << 20


def flood(piece, count, reads=True):
    """A script that sends the piece many times between a request and its answer."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        if reads:
            peer.read_aside()
        block = piece(stream) * 1000
        for _ in range(count // 1000):
            peer.send(block)
        peer.send(response(stream, b"\x0a\x01v"))
        flooded.set()
        kept.wait(DEADLINE_S)

    flooded, kept = threading.Event(), threading.Event()
    script.is_over = kept.set
    return script


def call_flooded(raw, script):
    """One call, and how much memory it took more than an earlier connection."""
    running = Probe(raw(script).port, "version", "wait", "gate")
    (line,) = running.read_gate()
    peak = running.peak_bytes()
    script.is_over()
    running.open()
    running.rest()
    assert peak is None or peak < SOME_MIB
    return line


@pytest.mark.parametrize("piece", [
    lambda stream: frame(PING, b"12345678"),
    lambda stream: frame(PING, b"12345678", ACK),
    lambda stream: rawh2.settings((4, 65535)),
    lambda stream: frame(SETTINGS),
    lambda stream: frame(WINDOW_UPDATE, struct.pack(">I", 1)),
    lambda stream: frame(PRIORITY, b"\0\0\0\0\x01", stream=stream),
    lambda stream: frame(0x42, b"what the future may bring"),
    lambda stream: frame(DATA, b"", stream=stream),
], ids=["ping", "pong", "settings", "empty-settings", "window", "priority", "unknown-type", "empty-data"])
def test_a_flood_that_is_read(raw, piece):
    """A server with too much to say, which reads what we say to that: a nuisance, and the answer comes nevertheless, or
    the client has enough of it and says so."""
    line = call_flooded(raw, flood(piece, 100000))
    assert (line.kind, line.text) == ("ok", "v") or (line.kind, line.code, line.unknown) == ("io", 14, True), line


@pytest.mark.parametrize("piece", [lambda stream: frame(PING, b"12345678"), lambda stream: rawh2.settings((4, 65535))],
                         ids=["ping", "settings"])
def test_a_flood_whose_answers_are_never_read(raw, piece):
    """What the client would have to say piles up, so it ends the connection."""
    line = call_flooded(raw, flood(piece, 1000000, reads=False))
    assert (line.kind, line.code, line.unknown) == ("io", 14, True), line


def endless(first, piece):
    """A script that answers with pieces until the client has enough."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        peer.read_aside()
        peer.send(first(stream))
        block = piece(stream) * 100
        while True:
            peer.send(block)

    script.is_over = lambda: None
    return script


LONG_FIELD = b"\x00\x01x\x7e" + b"y" * 126


@pytest.mark.parametrize("first, piece", [
    # Header blocks without end.
    (lambda s: frame(HEADERS, b"", 0, s), lambda s: frame(CONTINUATION, LONG_FIELD * 100, 0, s)),
    # Blocks that never close because they are empty: little bytes, much work.
    (lambda s: headers(s, OPEN), lambda s: headers(s, [("x", "y" * 100)] * 100)),
    # A body without end.
    (lambda s: headers(s, OPEN) + frame(DATA, b"\0\xff\xff\xff\xff", stream=s),
     lambda s: frame(DATA, b"x" * 16384, stream=s)),
    # Resets of calls that never were.
    (lambda s: b"", lambda s: rawh2.reset(1001, 8)),
    # Answers to calls that never were.
    (lambda s: b"", lambda s: response(1001, b"")),
], ids=["continuation", "headers", "data", "resets", "answers"])
def test_an_answer_without_end(raw, first, piece):
    line = call_flooded(raw, endless(first, piece))
    assert line.kind == "io" and line.unknown, line


def test_answers_that_never_end(raw):
    """Each is smaller than it may be; together they are more than the client gathers, and the rest of them fails."""
    def script(peer):
        peer.greet()
        streams = [peer.request() for _ in range(50)]
        peer.acknowledge()
        for stream in streams:
            peer.send(headers(stream, OPEN))
        for _ in range(250):
            for stream in streams:
                peer.send_data(stream, b"x" * 16000)
        peer.until_closed()

    running = Probe(raw(script).port, "50*version", "gate")
    assert running.read_gate() == []
    failed = [running.read_line() for _ in range(15)]
    assert {(line.kind, line.code) for line in failed} == {("io", 8)}
    assert all("concurrent responses" in line.text for line in failed)
    peak = running.peak_bytes()
    assert peak is None or peak < 256 << 20
    running.process.kill()
    running.process.wait()


def test_a_server_that_resets_every_call(raw):
    """And goes on doing so for as long as it is asked."""
    def script(peer):
        peer.greet()
        for _ in range(3000):
            peer.send(rawh2.reset(peer.request(), 2))
        peer.until_closed()

    server = raw(script)
    lines = probe(server.port, *["1000*remove:p1", "wait"] * 3)
    assert len(lines) == 3000 and {(line.kind, line.code, line.unknown) for line in lines} == {("io", 14, True)}
    assert server.connections == 1


BREACHES = {
    "frame-too-large": lambda s: (1 << 20).to_bytes(3, "big") + b"\0\0" + struct.pack(">I", s) + b"x" * 20000,
    "length-without-bytes": lambda s: (16384).to_bytes(3, "big") + bytes([SETTINGS, 0]) + bytes(4) + b"x" * 16384,
    "window-overflow": lambda s: frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff"),
    "window-of-nothing": lambda s: frame(WINDOW_UPDATE, bytes(4)),
    "settings-window-too-large": lambda s: rawh2.settings((4, 0xffffffff)),
    "settings-frame-size": lambda s: rawh2.settings((5, 1)),
    "settings-ack-with-payload": lambda s: frame(SETTINGS, bytes(6), ACK),
    "settings-on-a-stream": lambda s: frame(SETTINGS, b"", 0, s),
    "half-a-setting": lambda s: frame(SETTINGS, bytes(5)),
    "short-ping": lambda s: frame(PING, b"123"),
    "short-goaway": lambda s: frame(GOAWAY, b"1234"),
    "short-reset": lambda s: frame(RST_STREAM, b"12", stream=s),
    "data-without-headers": lambda s: frame(DATA, b"x", stream=s),
    "data-on-no-stream": lambda s: frame(DATA, b"x"),
    "padding-longer-than-the-frame": lambda s: headers(s, OPEN) + frame(DATA, b"\xffx", PADDED, s),
    "headers-on-no-stream": lambda s: headers(0, OPEN),
    "a-call-by-the-server": lambda s: headers(2, OPEN),
    "push": lambda s: frame(SETTINGS, b"", ACK) + frame(PUSH_PROMISE, struct.pack(">I", 2) + b"\x82", END_HEADERS, s),
    "continuation-of-nothing": lambda s: frame(CONTINUATION, b"", END_HEADERS, s),
    "something-between-headers": lambda s: frame(HEADERS, b"", 0, s) + frame(PING, b"12345678"),
    "hpack-index-out-of-range": lambda s: frame(HEADERS, b"\xff\xff\xff\x7f", END_HEADERS, s),
    "hpack-index-zero": lambda s: frame(HEADERS, b"\x80", END_HEADERS, s),
    "hpack-length-out-of-range": lambda s: frame(HEADERS, b"\x00\x7f\xff\xff\xff\x7fx", END_HEADERS, s),
    "hpack-table-too-large": lambda s: frame(HEADERS, b"\x3f\xff\xff\xff\x7f", END_HEADERS, s),
    "a-frame-for-a-dependency-on-itself": lambda s: frame(PRIORITY, struct.pack(">IB", s, 1)[:4], stream=s),
}


@pytest.mark.parametrize("breach", BREACHES.values(), ids=BREACHES)
def test_breaches_of_http2(raw, breach):
    """The call's outcome is unknown, and the next call goes to another connection."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        if server.connections == 1:
            peer.send(breach(stream))
        else:
            peer.send(response(stream, b"\x0a\x01v"))
        peer.until_closed()

    server = raw(script)
    first, second = probe(server.port, "create:p1:4", "wait", "version")
    assert (first.kind, first.code, first.unknown) == ("io", 14, True), first
    assert (second.kind, second.text) == ("ok", "v"), second
    assert server.connections == 2


STREAM_BREACHES = {
    "uppercase-header": [(":status", "200"), ("Content-Type", "x")],
    "connection-header": [(":status", "200"), ("connection", "close")],
    "no-status": [("content-type", "application/grpc")],
    "two-statuses": [(":status", "200"), (":status", "200")],
    "status-after-fields": [("x", "y"), (":status", "200")],
    "status-of-letters": [(":status", "abc")],
    "pseudo-header-of-requests": [(":status", "200"), (":path", "/")],
    "line-break-in-a-value": [(":status", "200"), ("x", "a\r\nb")],
    "content-length-of-letters": [(":status", "200"), ("content-length", "many")],
    "content-length-too-large": [(":status", "200"), ("content-length", "5")],
}


@pytest.mark.parametrize("pairs", STREAM_BREACHES.values(), ids=STREAM_BREACHES)
def test_breaches_of_one_answer(raw, pairs):
    """These end the call alone; others on the connection go on."""
    def script(peer):
        peer.greet()
        bad, good = peer.request(), peer.request()
        peer.send(headers(bad, pairs), frame(DATA, rawh2.message(b""), END_STREAM, bad))
        peer.send(response(good, b"\x0a\x01v"))
        peer.until_closed()

    server = raw(script)
    bad, good = probe(server.port, "remove:p1", "version")
    assert bad.kind == "io" and bad.unknown, bad
    assert (good.kind, good.text) == ("ok", "v") and server.connections == 1


def test_an_answer_byte_by_byte(raw):
    """Every byte in a packet of its own, the greeting's too."""
    def script(peer):
        peer.send_slowly(rawh2.settings())
        peer.read_preface()
        for _ in range(3):
            peer.send_slowly(response(peer.request(), b"\x0a\x061.18.0"))
        peer.until_closed()

    lines = probe(raw(script).port, *["version", "wait"] * 3)
    assert [(line.kind, line.text) for line in lines] == [("ok", "1.18.0")] * 3


@pytest.mark.parametrize("part", [0, 1, 5, 9, 20, -1])
def test_half_an_answer_and_no_more(raw, part):
    """The deadline ends the call. A connection on which nothing whole came meanwhile is given up: with this call, or,
    if a part of the answer could be made out, with the next one."""
    def script(peer):
        peer.greet()
        is_first = server.connections == 1
        peer.send(response(peer.request(), b"\x0a\x01v"))
        peer.send(response(peer.request(), b"\x0a\x01v")[:part if is_first else None])
        peer.until_closed()

    server = raw(script)
    first, half, next_, last = probe(server.port, "version", *["wait", "create:p1:4@1000"] * 2, "wait",
                                     "version")
    assert first.kind == last.kind == "ok" and server.connections == 2
    assert (half.kind, half.code, half.unknown) == ("timeout", 4, True)
    assert next_.kind in ("timeout", "ok")


def test_an_answer_that_never_gets_done(raw):
    """Now and then a byte, forever: only the deadline helps, and it does."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        peer.send(headers(stream, OPEN), frame(DATA, b"\0\0\1\0\0", stream=stream))
        while not given_up.wait(0.02):
            peer.send(frame(DATA, b"x", stream=stream))

    given_up = threading.Event()
    (line,) = probe(raw(script).port, "version@500")
    given_up.set()
    assert (line.kind, line.code) == ("timeout", 4)


def test_goaway_in_two_steps(raw):
    """As gRPC's own servers do it: first a warning, then the number of the last call."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        peer.send(rawh2.goaway(0x7fffffff), frame(PING, b"12345678"))
        peer.send(rawh2.goaway(stream), response(stream, b"\x0a\x01v"))
        peer.until_closed()

    server = raw(script)
    lines = probe(server.port, *["version", "wait"] * 5)
    assert [line.text for line in lines] == ["v"] * 5 and server.connections == 5


@pytest.mark.parametrize("code", [0, 1, 2, 11])
def test_goaway_that_is_abrupt(raw, code):
    """Calls past the number were not looked at; the others lose their answer with the connection."""
    def script(peer):
        peer.greet()
        first, _, _ = peer.request(), peer.request(), peer.request()
        peer.send(rawh2.goaway(first, code))

    lines = probe(raw(script).port, "create:p1:4", "create:p2:4", "create:p3:4")
    assert [(line.kind, line.code) for line in lines] == [("io", 14)] * 3
    assert sorted(line.unknown for line in lines) == [False, False, True]


def test_more_goaways_than_connections_are_kept(raw):
    """Each connection wants to be closed and keeps its call. Four of them are left alone to finish; the fifth stays in
    use, and what it can no longer take fails at once, unsent."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        peer.say_goaway(stream)
        notified.release()
        go_on.wait(DEADLINE_S)
        peer.send(response(stream, b""))
        peer.until_closed()

    notified, go_on = threading.Semaphore(0), threading.Event()
    server = raw(script)
    running = Probe(server.port, *["remove:p1", "gate"] * 5, "3*remove:p2", "gate", "wait")
    for _ in range(5):
        assert running.read_gate() == []
        assert notified.acquire(timeout=DEADLINE_S)
        running.open()
    assert running.read_gate() == []
    late = [running.read_line() for _ in range(3)]
    assert [(line.kind, line.sent) for line in late] == [("io", False)] * 3 and server.connections == 5
    go_on.set()
    running.open()
    assert [line.kind for line in running.rest()] == ["ok"] * 5


def test_several_controllers_in_one_process(raw, generic):
    """One that is well, one that is silent, one that floods, one that hangs up, one that is not there."""
    def silent(peer):
        peer.until_closed()

    def hangs_up(peer):
        peer.greet()
        peer.request()

    flooding = endless(lambda s: headers(s, OPEN), lambda s: headers(s, [("x", "y" * 100)] * 100))
    ports = [raw(script).port for script in (silent, flooding, hangs_up)]
    lines = probe(generic.port, "100*version", f"to:{ports[0]}", "5*remove:p1@700", f"to:{ports[1]}", "remove:p2",
                  f"to:{ports[2]}", "remove:p3", "to:1", "remove:p4", f"to:{generic.port}", "100*version")
    kinds = [(line.kind, line.unknown) for line in lines]
    assert kinds[:100] == kinds[108:] == [("ok", False)] * 100
    assert {kind for kind, _ in kinds[100:105]} == {"timeout"}
    assert kinds[105:108] == [("io", True), ("io", True), ("io", False)]


def test_one_controller_does_not_wait_for_another(raw, generic):
    """While one is silent, the other answers call after call."""
    held = threading.Event()
    running = Probe(raw(lambda peer: held.wait(DEADLINE_S)).port, "remove:p1", f"to:{generic.port}",
                    *["version", "gate"] * 20)
    for _ in range(20):
        assert running.read_gate() == []
        assert running.read_line().kind == "ok"
        running.open()
    held.set()
    (line,) = running.rest()
    assert (line.what, line.kind) == ("remove:p1", "io")
