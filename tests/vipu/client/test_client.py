"""Our client against a generic gRPC server, and against servers that keep no rule."""

import os
import signal
import socket
import struct
import threading

import grpc
import pytest

import rawh2
from generic import pb
from peers import Generic, Probe, check_abort, listen_bytes, listen_generic, probe
from programs import DEADLINE_S, until

@pytest.mark.parametrize("code, kind, is_unknown", [
    ("CANCELLED", "io", True), ("UNKNOWN", "io", True), ("INVALID_ARGUMENT", "invalid", False),
    ("DEADLINE_EXCEEDED", "timeout", True), ("NOT_FOUND", "not-found", False), ("ALREADY_EXISTS", "exists", False),
    ("PERMISSION_DENIED", "denied", False), ("RESOURCE_EXHAUSTED", "busy", False),
    ("FAILED_PRECONDITION", "conflict", False), ("ABORTED", "conflict", False), ("OUT_OF_RANGE", "invalid", False),
    ("UNIMPLEMENTED", "invalid", False), ("INTERNAL", "io", True), ("UNAVAILABLE", "io", True),
    ("DATA_LOSS", "io", True), ("UNAUTHENTICATED", "denied", False),
])
def test_every_status(generic, code, kind, is_unknown):
    status = grpc.StatusCode[code]
    generic.answers["CreatePartition"] = lambda _, context: context.abort(status, "so wird's nichts: 100 % \u00fc\n")
    (line,) = probe(generic.port, "create:p1:4")
    assert (line.kind, line.unknown, line.code, line.sent) == (kind, is_unknown, status.value[0], True)
    assert line.text == f"{code}: so wird's nichts: 100 % \u00fc?"


def test_a_late_answer_is_a_timeout_and_disturbs_no_other_call(generic):
    hold = threading.Event()

    def late(request, _):
        hold.wait(DEADLINE_S)
        return pb.CreatePartitionReply(partition_id=request.requirements.id)

    generic.answers["CreatePartition"] = late
    lines = probe(generic.port, "version", "wait", "create:p1:4@1000", "version", "wait", "version")
    hold.set()
    assert [line.kind for line in lines] == ["ok", "timeout", "ok", "ok"]
    assert lines[1].sent and lines[1].unknown and lines[1].code == 4


def memory_of(port, step):
    """The line of one call, and how much more memory the client had for it; None with a sanitizer."""
    running = Probe(port, "version", "wait", "gate", step, "wait", "gate")
    running.read_gate()
    before = running.peak_bytes()
    running.open()
    (line,) = running.read_gate()
    after = running.peak_bytes()
    running.open()
    running.rest()
    return line, before and after - before


@pytest.mark.parametrize("count, size", [(100000, 1), (100000, 16), (15000, 64)])
def test_many_partitions(generic, count, size):
    """In the memory that vipu/client/client.h states."""
    reply = pb.ListPartitionsReply(partitions=[
        pb.Partition(id=f"p-{i}", ready_state=pb.PS_ACTIVE, spec=pb.PartitionSpec(
            cluster_id="cl1", allocation_id="cl1",
            ipus=[pb.PartitionIpu(topology_id=j, routing_id=j) for j in range(size)]))
        for i in range(count)])
    generic.answers["ListPartitions"] = lambda *_: reply
    line, taken = memory_of(generic.port, "list")
    assert (line.kind, line.text) == ("ok", f"{count} partitions " + " ".join(f"p-{i}:{size}:ACTIVE" for i in range(3)))
    assert taken is None or taken < 2 * reply.ByteSize() + count * (320 + 16 * size)


def test_the_attributes_of_many_ipus(generic):
    """As above."""
    attributes = {f"attribute number {i}": f"value {i} of it" for i in range(20)}
    reply = pb.ListIPUAttributesReply(entries=[
        pb.ListIPUAttributesReply.Entry(agent=f"ag{agent}", ipu_attributes={
            ipu: pb.ListIPUAttributesReply.Attributes(attributes=attributes) for ipu in range(4)})
        for agent in range(4096)])
    generic.answers["ListIPUAttributes"] = lambda *_: reply
    line, taken = memory_of(generic.port, "attrs")
    assert (line.kind, line.text) == ("ok", "4096 agents 16384 IPUs")
    assert taken is None or taken < 2 * reply.ByteSize() + 4096 * 4 * len(attributes) * 96
    line, taken = memory_of(generic.port, "count")
    assert (line.kind, line.text) == ("ok", "16384 IPUs")
    assert taken is None or taken < 2 * reply.ByteSize()


def test_more_than_is_taken(generic):
    generic.answers["ListPartitions"] = lambda *_: pb.ListPartitionsReply(partitions=[pb.Partition(id="x" * (65 << 20))])
    generic.answers["CreatePartition"] = lambda *_: pb.CreatePartitionReply(partition_id="x" * (5 << 20))
    lines = probe(generic.port, "list", "create:p1:4", "version")
    assert [(line.kind, line.code) for line in lines] == [("io", 8), ("io", 8), ("ok", 0)]
    assert lines[1].unknown and "exceeds" in lines[1].text


def test_little_bytes_that_want_much_memory(generic):
    """Sixty megabytes of empty sub-messages would be gigabytes of structs."""
    server, port = listen_bytes(ListPartitions=b"\x0a\x00" * (30 << 20))
    (line,) = probe(port, "list")
    server.stop(0)
    assert line.kind == "io" and "memory" in line.text


def test_calls_in_flight_share_a_connection(raw):
    def script(peer):
        peer.greet()
        streams = [peer.request() for _ in range(1000)]
        for stream in reversed(streams):
            peer.send(rawh2.response(stream, b""))
        peer.until_closed()

    server = raw(script)
    *lines, late = probe(server.port, "1000*remove:p1", "version")
    assert {line.kind for line in lines} == {"ok"} and server.connections == 1
    assert (late.kind, late.sent) == ("busy", False)


def test_a_thousand_calls_on_a_generic_server(generic):
    lines = probe(generic.port, "1000*remove:p1")
    assert len(lines) == 1000 and {line.kind for line in lines} == {"ok"}


def test_more_calls_than_streams(raw):
    def script(peer):
        peer.greet((3, 1))  # one at a time
        peer.send(rawh2.frame(rawh2.SETTINGS, flags=rawh2.ACK))
        for _ in range(20):
            peer.send(rawh2.response(peer.request(), b""))
        peer.until_closed()

    lines = probe(raw(script).port, "20*remove:p1")
    assert {line.kind for line in lines} == {"ok"} and len(lines) == 20


def test_too_many_calls(generic):
    lines = probe(generic.port, "in-flight:10", "11*version")
    assert [line.kind for line in lines] == ["ok"] * 10 + ["busy"]
    assert not lines[10].sent and "too many calls in flight (10)" in lines[10].text


def test_writes_are_fenced(generic):
    lines = probe(generic.port, "deny", "create:p1:4", "remove:p1", "reset:p1", "list", "wait", "allow", "remove:p2")
    assert [(line.kind, line.sent) for line in lines] == [("denied", False)] * 3 + [("ok", True)] * 2
    assert [name for name, _ in generic.seen] == ["ListPartitions", "RemovePartition"]


def test_a_cancelled_call_is_silent(generic):
    entered, hold = threading.Event(), threading.Event()

    def late(*_):
        entered.set()
        hold.wait(DEADLINE_S)
        return pb.RemovePartitionReply()

    generic.answers["RemovePartition"] = late
    running = Probe(generic.port, "remove:p1", "gate", "cancel", "version")
    running.read_gate()
    assert entered.wait(DEADLINE_S)
    running.open()
    assert [line.what for line in running.rest()] == ["version"]
    hold.set()


def test_abort_resets_the_connection(raw):
    check_abort(raw, "remove:p1")


def answers(*pieces, count=1):
    """A script that answers each request with the pieces, made for its stream, and stays."""

    def script(peer):
        peer.greet()
        for _ in range(count):
            stream = peer.request()
            peer.send(*(piece(stream) for piece in pieces))
        peer.until_closed()

    return script


@pytest.mark.parametrize("pieces, kind, code, is_unknown, text", [
    # Trailers-only, with and without a reason.
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "5"), ("grpc-message", "no %70%31")], end=True)],
     "not-found", 5, False, "NOT_FOUND: no p1"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "8")], end=True)],
     "busy", 8, False, "RESOURCE_EXHAUSTED: no reason given by the controller"),
    # Numbers that gRPC does not have.
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "99")], end=True)], "io", 2, True, "UNKNOWN"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "-0x1")], end=True)], "io", 2, True, "UNKNOWN"),
    # A body, and no status.
    ([lambda s: rawh2.headers(s, rawh2.OPEN),
      lambda s: rawh2.frame(rawh2.DATA, rawh2.message(b""), rawh2.END_STREAM, s)], "io", 2, True, "without a gRPC"),
    # A good status, and a body that is none.
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "0")], end=True)], "io", 13, True, "incomplete message"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN), lambda s: rawh2.frame(rawh2.DATA, b"\x00\xff\xff\xff\xff", stream=s),
      lambda s: rawh2.headers(s, [("grpc-status", "0")], end=True)], "io", 13, True, "expected 4294967295"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN), lambda s: rawh2.frame(rawh2.DATA, b"\x01\x00\x00\x00\x00", stream=s),
      lambda s: rawh2.headers(s, [("grpc-status", "0")], end=True)], "io", 13, True, "compressed"),
    ([lambda s: rawh2.response(s, b"\xff\xff\xff")], "io", 13, True, "memory limit"),
    # Resets, before and after a part of the answer.
    ([lambda s: rawh2.reset(s, 2)], "io", 14, True, "INTERNAL_ERROR"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN), lambda s: rawh2.reset(s, 8)], "io", 14, True, "CANCEL"),
    ([lambda s: rawh2.reset(s, 7)], "io", 14, False, "REFUSED_STREAM"),
    # HTTP's own answers.
    ([lambda s: rawh2.headers(s, [(":status", "404"), ("content-type", "text/html")], end=True)],
     "io", 14, True, "HTTP status 404"),
    ([lambda s: rawh2.headers(s, [(":status", "503")]), lambda s: rawh2.frame(rawh2.DATA, b"no", rawh2.END_STREAM, s)],
     "io", 14, True, "HTTP status 503"),
    # GOAWAY that excludes the request: it was not processed.
    ([lambda s: rawh2.goaway(0)], "io", 14, False, "REFUSED_STREAM"),
    # What is no HTTP/2 any more.
    ([lambda s: b"\xff" * 100], "io", 14, True, ""),
    ([lambda s: rawh2.frame(rawh2.HEADERS, b"\xff\xff\xff\xff\xff", rawh2.END_HEADERS, s)], "io", 14, True, ""),
])
def test_answers_that_keep_no_rule(raw, pieces, kind, code, is_unknown, text):
    (line,) = probe(raw(answers(*pieces)).port, "remove:p1")
    assert (line.kind, line.code, line.unknown) == (kind, code, is_unknown), line.text
    assert text in line.text


def test_goaway_finishes_what_it_includes(raw):
    """The peer wants the connection closed: the call on it ends well, the next goes to a new connection."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        peer.say_goaway(stream)
        notified.set()
        go_on.wait(DEADLINE_S)
        peer.send(rawh2.response(stream, b""))
        peer.until_closed()

    notified, go_on = threading.Event(), threading.Event()
    server = raw(script)
    running = Probe(server.port, "remove:p1", "gate", "remove:p2", "gate", "wait")
    running.read_gate()
    assert notified.wait(DEADLINE_S)
    running.open()
    running.read_gate()
    until(lambda: server.connections == 2, "the second call has a connection of its own")
    go_on.set()
    running.open()
    assert [line.kind for line in running.rest()] == ["ok", "ok"]


def test_a_peer_that_hangs_up(raw):
    """At once, after the greeting, and in the middle of an answer: always unknown once something was sent."""
    def in_the_middle(peer):
        peer.greet()
        stream = peer.request()
        peer.send(rawh2.headers(stream, rawh2.OPEN), rawh2.frame(rawh2.DATA, b"\x00\x00", stream=stream))

    def after_the_request(peer):
        peer.greet()
        peer.request()

    def with_a_reset(peer):
        peer.greet()
        peer.request()
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    for script in (lambda peer: None, after_the_request, in_the_middle, with_a_reset):
        (line,) = probe(raw(script).port, "create:p1:4")
        assert line.kind == "io" and line.code == 14 and line.unknown == line.sent


def test_bytes_and_a_reset_at_once(raw):
    """The end of the connection shows although there was something to read before it."""
    def script(peer):
        peer.greet()
        stream = peer.request()
        requested.set()
        stopped.wait(DEADLINE_S)
        peer.send(rawh2.headers(stream, rawh2.OPEN))
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.sock.close()
        closed.set()

    requested, stopped, closed = threading.Event(), threading.Event(), threading.Event()
    running = Probe(raw(script).port, "create:p1:4")
    assert requested.wait(DEADLINE_S)
    running.process.send_signal(signal.SIGSTOP)
    os.waitpid(running.process.pid, os.WUNTRACED)
    stopped.set()
    assert closed.wait(DEADLINE_S)
    running.process.send_signal(signal.SIGCONT)
    (line,) = running.rest()
    assert (line.kind, line.unknown) == ("io", True) and "reset by peer" in line.text


def test_a_peer_that_never_speaks(raw):
    def script(peer):
        while peer.sock.recv(65536):
            pass

    server = raw(script)
    lines = probe(server.port, "create:p1:4@200", "wait", "version@200")
    assert [(line.kind, line.code) for line in lines] == [("timeout", 4)] * 2
    # The silent connection is given up, not used again.
    until(lambda: server.connections == 2, "the second call had a connection of its own")


@pytest.mark.parametrize("has_spoken", [False, True])
def test_an_impatient_call_ends_alone(raw, has_spoken):
    """The peer says nothing before the second call's deadline: the first, on the same connection, still gets its answer,
    the next takes a connection of its own, and the first connection ends once no call waits on it."""
    def script(peer):
        if server.connections > 1:
            peer.greet()
            while True:
                peer.send(rawh2.response(peer.request(), b"\x0a\x06second"))
        peer.read_preface()
        if has_spoken:
            peer.send(rawh2.settings(), rawh2.response(peer.request(), b"\x0a\x06before"))
        patient = peer.request()
        while not peer.resets:
            peer.frame()
        peer.send(b"" if has_spoken else rawh2.settings(), rawh2.response(patient, b"\x0a\x05first"))
        peer.until_closed()
        closed.set()

    closed = threading.Event()
    server = raw(script)
    lines = probe(server.port, *["version", "wait"] * has_spoken, "version", "create:p1:4@1000", "wait",
                  "version", "wait")
    assert closed.wait(DEADLINE_S)
    assert [line.text for line in lines if line.kind == "ok"] == ["before"] * has_spoken + ["first", "second"]
    assert [(line.what, line.code) for line in lines if line.kind != "ok"] == [("create:p1:4", 4)]


def test_a_peer_that_speaks_something_else(raw):
    for text in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n" * 100, bytes(200)):
        def script(peer):
            peer.send(text)
            while peer.sock.recv(65536):
                pass

        (line,) = probe(raw(script).port, "version")
        assert line.kind == "io", line.text


def test_no_controller_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    lines = probe(port, "create:p1:4", "wait", "version@50")
    assert (lines[0].kind, lines[0].sent, lines[0].unknown) == ("io", False, False)
    assert f"127.0.0.1:{port}: connect: Connection refused" in lines[0].text
    # While it backs off a call waits, until its deadline at most.
    assert lines[1].kind in ("io", "timeout") and not lines[1].sent


def test_a_connection_that_hangs():
    """A full queue of connections: the handshake never ends."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []
    while True:
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        fillers.append(filler)
        filler.settimeout(1)
        try:
            filler.send(b"x")
        except (TimeoutError, OSError):
            break
    (line,) = probe(listener.getsockname()[1], "create:p1:4@300")
    for filler in fillers:
        filler.close()
    listener.close()
    assert (line.kind, line.sent, line.code) == ("timeout", False, 4)
    assert "no connection within 300 ms" in line.text


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 300, "bad host"])
def test_names_that_are_none(host):
    (line,) = probe(8090, "version@5000", host=host)
    assert line.kind in ("not-found", "io", "invalid") and not line.sent


def test_it_reconnects(generic):
    server, port = listen_generic(Generic())
    running = Probe(port, "version", "wait", "gate", "10*version", "wait", "gate", "version", "wait")
    assert running.read_gate()[0].kind == "ok"
    server.stop(0).wait()
    running.open()
    assert {line.kind for line in running.read_gate()} == {"io"}
    server, _ = listen_generic(Generic(), port)
    running.open()
    assert [line.kind for line in running.rest()] == ["ok"]
    server.stop(0)
