"""Our client against a generic gRPC server, and against servers that keep no rule."""

import os
import re
import signal
import socket
import struct
import subprocess
import threading
from collections import namedtuple
from concurrent import futures

import grpc
import pytest

import rawh2
from generic import pb, services
from programs import DEADLINE_S, program, until

Line = namedtuple("Line", "number what kind code sent unknown text")


class Probe:
    """tests/vipu/probe.c with these steps."""

    def __init__(self, port, *steps, host="127.0.0.1"):
        self.process = subprocess.Popen([program("../tests/unit/vipu/vipu-probe"), host, str(port), *steps],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)

    def read_gate(self):
        """The lines before the next gate; the probe then waits for open()."""
        lines = []
        while (text := self.process.stdout.readline()) != "gate\n":
            assert text, self.process.stderr.read()
            lines.append(parse(text))
        return lines

    def open(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def rest(self):
        out, problems = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == 0, problems
        return sorted((parse(line) for line in out.splitlines()), key=lambda line: line.number)


def parse(text):
    match = re.fullmatch(r"(\d+) (\S+) (\S+) code=(\d+) sent=(yes|no) unknown=(yes|no) (.*)\n?", text)
    assert match, text
    number, what, kind, code, sent, unknown, rest = match.groups()
    return Line(int(number), what, kind, int(code), sent == "yes", unknown == "yes", rest)


def probe(port, *steps, **options):
    return Probe(port, *steps, **options).rest()


class Generic(services.UserServiceServicer, services.VersionServiceServicer):
    """Answers as the test tells: `answers[method]` is a function of (request, context)."""

    def __init__(self):
        self.answers = {}
        self.seen = []
        self.metadata = {}

    def _answer(name, reply):
        def method(self, request, context):
            self.seen.append((name, request))
            self.metadata = dict(context.invocation_metadata())
            return self.answers.get(name, lambda *_: reply())(request, context)

        return method

    GetVersion = _answer("GetVersion", lambda: pb.VersionReply(version="1.18.0"))
    ListPartitions = _answer("ListPartitions", pb.ListPartitionsReply)
    ListIPUAttributes = _answer("ListIPUAttributes", pb.ListIPUAttributesReply)
    CreatePartition = _answer("CreatePartition", pb.CreatePartitionReply)
    RemovePartition = _answer("RemovePartition", pb.RemovePartitionReply)
    ResetPartition = _answer("ResetPartition", pb.ResetPartitionReply)
    GetPartitionIpuofConfig = _answer("GetPartitionIpuofConfig", lambda: pb.GetPartitionIpuofConfigReply(
        ipuof_config=pb.PartitionConfig()))
    GetPartitionStatus = _answer("GetPartitionStatus", lambda: pb.GetPartitionStatusReply(
        status=pb.PartitionStatus()))


def listen_generic(servicer, port=0):
    server = grpc.server(futures.ThreadPoolExecutor(8), options=[
        ("grpc.max_send_message_length", 256 << 20), ("grpc.max_receive_message_length", 16 << 20),
        ("grpc.so_reuseport", 0)])
    services.add_UserServiceServicer_to_server(servicer, server)
    services.add_VersionServiceServicer_to_server(servicer, server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound


@pytest.fixture
def generic():
    servicer = Generic()
    server, servicer.port = listen_generic(servicer)
    yield servicer
    server.stop(0)


@pytest.fixture
def raw():
    servers = []

    def begin(script):
        servers.append(rawh2.Server(script))
        return servers[-1]

    yield begin
    for server in servers:
        server.close()


def test_every_call(generic):
    generic.answers["ListPartitions"] = lambda *_: pb.ListPartitionsReply(partitions=[pb.Partition(
        id="p1", ready_state=pb.PS_ACTIVE, spec=pb.PartitionSpec(ipus=[pb.PartitionIpu()] * 4))])
    generic.answers["ListIPUAttributes"] = lambda *_: pb.ListIPUAttributesReply(entries=[
        pb.ListIPUAttributesReply.Entry(agent="ag1", ipu_attributes={
            i: pb.ListIPUAttributesReply.Attributes(attributes={"a": "b"}) for i in range(4)})])
    status = pb.PartitionStatus(ready_state=pb.PS_ERROR, operation_state=pb.POS_FAILED, errors=["one", "two"])
    status.last_auto_reset_time.seconds = 1234567890
    generic.answers["GetPartitionStatus"] = lambda *_: pb.GetPartitionStatusReply(status=status)
    generic.answers["CreatePartition"] = lambda request, _: pb.CreatePartitionReply(
        partition_id=request.requirements.id)
    lines = probe(generic.port, "version", "list", "attrs", "status:p1", "create:p2:16", "remove:p3", "reset:p4",
                  "ipuof:p5")
    assert [line.kind for line in lines] == ["ok"] * 8
    assert [line.text for line in lines] == ["1.18.0", "1 partitions p1:4:ACTIVE", "1 agents 4 IPUs",
                                             "ERROR/FAILED 2 errors 1234567890", "p2", "done", "done", "0 GCDs"]
    requests = dict(generic.seen)
    assert requests["CreatePartition"].requirements.size == 16
    assert requests["RemovePartition"].partition_id == "p3"
    assert requests["ResetPartition"].partition_id == "p4"
    assert not requests["GetPartitionIpuofConfig"].HasField("gcd_id")
    assert generic.metadata["user-agent"].startswith("ipu-operator/")


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


def test_a_late_answer_is_a_time_out_and_disturbs_nobody(generic):
    hold = threading.Event()

    def late(request, _):
        hold.wait(DEADLINE_S)
        return pb.CreatePartitionReply(partition_id=request.requirements.id)

    generic.answers["CreatePartition"] = late
    lines = probe(generic.port, "version", "wait", "create:p1:4@200", "version", "wait", "version")
    hold.set()
    assert [line.kind for line in lines] == ["ok", "timeout", "ok", "ok"]
    assert lines[1].sent and lines[1].unknown and lines[1].code == 4


def test_many_partitions(generic):
    reply = pb.ListPartitionsReply(partitions=[
        pb.Partition(id=f"p-{i}", ready_state=pb.PS_ACTIVE, spec=pb.PartitionSpec(
            cluster_id="cl1", allocation_id="cl1", ipus=[pb.PartitionIpu(topology_id=i % 64)]))
        for i in range(100000)])
    generic.answers["ListPartitions"] = lambda *_: reply
    (line,) = probe(generic.port, "list@20000")
    assert (line.kind, line.text) == ("ok", "100000 partitions p-0:1:ACTIVE p-1:1:ACTIVE p-2:1:ACTIVE")


def test_more_than_is_taken(generic):
    generic.answers["ListPartitions"] = lambda *_: pb.ListPartitionsReply(partitions=[pb.Partition(id="x" * (65 << 20))])
    generic.answers["CreatePartition"] = lambda *_: pb.CreatePartitionReply(partition_id="x" * (5 << 20))
    lines = probe(generic.port, "list@20000", "create:p1:4", "version")
    assert [(line.kind, line.code) for line in lines] == [("io", 8), ("io", 8), ("ok", 0)]
    assert lines[1].unknown and "larger" in lines[1].text


def test_little_bytes_that_want_much_memory(generic):
    """Sixty megabytes of empty sub-messages would be gigabytes of structs."""
    method = grpc.method_handlers_generic_handler("virmgrpc.UserService", {
        "ListPartitions": grpc.unary_unary_rpc_method_handler(lambda *_: b"\x0a\x00" * (30 << 20))})
    server = grpc.server(futures.ThreadPoolExecutor(1), options=[("grpc.max_send_message_length", 256 << 20)])
    server.add_generic_rpc_handlers((method,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    (line,) = probe(port, "list@20000")
    server.stop(0)
    assert line.kind == "io" and "memory" in line.text


def test_calls_in_flight_share_a_connection(raw):
    def script(peer):
        peer.greet()
        streams = [peer.request() for _ in range(900)]
        for stream in reversed(streams):
            peer.send(rawh2.response(stream, b""))
        peer.until_closed()

    server = raw(script)
    lines = probe(server.port, "900*remove:p1@20000")
    assert {line.kind for line in lines} == {"ok"} and server.connections == 1


def test_more_calls_than_streams(raw):
    def script(peer):
        peer.greet((3, 1))  # one at a time
        peer.send(rawh2.frame(rawh2.SETTINGS, flags=rawh2.ACK))
        for _ in range(20):
            peer.send(rawh2.response(peer.request(), b""))
        peer.until_closed()

    lines = probe(raw(script).port, "20*remove:p1@20000")
    assert {line.kind for line in lines} == {"ok"} and len(lines) == 20


def test_too_many_calls(generic):
    lines = probe(generic.port, "in-flight:10", "11*version")
    assert [line.kind for line in lines] == ["ok"] * 10 + ["busy"]
    assert not lines[10].sent and "10 calls" in lines[10].text


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
    ended = []

    def script(peer):
        peer.greet()
        peer.request()
        requested.set()
        try:
            while True:
                peer.frame()
        except ConnectionResetError:
            ended.append("reset")
        except EOFError:
            ended.append("end")

    requested = threading.Event()
    running = Probe(raw(script).port, "remove:p1", "gate", "abort", "wait")
    running.read_gate()
    assert requested.wait(DEADLINE_S)
    running.open()
    (line,) = running.rest()
    assert (line.kind, line.sent, line.unknown) == ("io", True, True)
    until(lambda: ended == ["reset"], "the peer sees a reset")


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
     "busy", 8, False, "RESOURCE_EXHAUSTED: the controller gave no reason"),
    # Numbers that gRPC does not have.
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "99")], end=True)], "io", 2, True, "UNKNOWN"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "-0x1")], end=True)], "io", 2, True, "UNKNOWN"),
    # A body, and no status.
    ([lambda s: rawh2.headers(s, rawh2.OPEN),
      lambda s: rawh2.frame(rawh2.DATA, rawh2.message(b""), rawh2.END_STREAM, s)], "io", 2, True, "without a gRPC"),
    # A good status, and a body that is none.
    ([lambda s: rawh2.headers(s, rawh2.OPEN + [("grpc-status", "0")], end=True)], "io", 13, True, "no message"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN), lambda s: rawh2.frame(rawh2.DATA, b"\x00\xff\xff\xff\xff", stream=s),
      lambda s: rawh2.headers(s, [("grpc-status", "0")], end=True)], "io", 13, True, "announces 4294967295"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN), lambda s: rawh2.frame(rawh2.DATA, b"\x01\x00\x00\x00\x00", stream=s),
      lambda s: rawh2.headers(s, [("grpc-status", "0")], end=True)], "io", 13, True, "compressed"),
    ([lambda s: rawh2.response(s, b"\xff\xff\xff")], "io", 13, True, "too much memory"),
    # Resets, before and after a part of the answer.
    ([lambda s: rawh2.reset(s, 2)], "io", 14, True, "INTERNAL_ERROR"),
    ([lambda s: rawh2.headers(s, rawh2.OPEN), lambda s: rawh2.reset(s, 8)], "io", 14, True, "CANCEL"),
    ([lambda s: rawh2.reset(s, 7)], "io", 14, False, "REFUSED_STREAM"),
    # HTTP's own answers.
    ([lambda s: rawh2.headers(s, [(":status", "404"), ("content-type", "text/html")], end=True)],
     "io", 14, True, "HTTP status 404"),
    ([lambda s: rawh2.headers(s, [(":status", "503")]), lambda s: rawh2.frame(rawh2.DATA, b"no", rawh2.END_STREAM, s)],
     "io", 14, True, "HTTP status 503"),
    # GOAWAY that excludes the request: nobody looked at it.
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
        peer.send(rawh2.goaway(stream))
        told.set()
        go_on.wait(DEADLINE_S)
        peer.send(rawh2.response(stream, b""))
        peer.until_closed()

    told, go_on = threading.Event(), threading.Event()
    server = raw(script)
    running = Probe(server.port, "remove:p1", "gate", "remove:p2", "gate", "wait")
    running.read_gate()
    assert told.wait(DEADLINE_S)
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
    running = Probe(raw(script).port, "create:p1:4@25000")
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
    assert server.connections == 2


def test_a_peer_that_speaks_something_else(raw):
    for text in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n" * 100, bytes(200)):
        def script(peer):
            peer.send(text)
            while peer.sock.recv(65536):
                pass

        (line,) = probe(raw(script).port, "version")
        assert line.kind == "io", line.text


def test_nobody_listens():
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
        filler.settimeout(0.2)
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
    running = Probe(port, "version", "wait", "gate", "10*version", "wait", "gate", "version@20000", "wait")
    assert running.read_gate()[0].kind == "ok"
    server.stop(0).wait()
    running.open()
    assert {line.kind for line in running.read_gate()} == {"io"}
    server, _ = listen_generic(Generic(), port)
    running.open()
    assert [line.kind for line in running.rest()] == ["ok"]
    server.stop(0)
