"""Our client (probe.c) as a process, and generic servers for it: grpcio with answers that a test gives."""

import re
import subprocess
import threading
from collections import namedtuple
from concurrent import futures

import grpc

from generic import pb, services
from process_memory import peak_kib
from programs import DEADLINE_S, program, until

Line = namedtuple("Line", "number what kind code sent unknown text")


def is_sanitized(process):
    """With a sanitizer, whose memory says nothing about ours."""
    with open(f"/proc/{process.pid}/exe", "rb") as program_file:
        return b"__asan_init" in program_file.read()


class Probe:
    """tests/vipu/support/probe.c with these steps."""

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

    def read_line(self):
        """The next call that ended, at a gate or anywhere."""
        return parse(self.process.stdout.readline())

    def open(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def peak_bytes(self):
        """The most memory it ever had; None with a sanitizer, which needs memory of its own."""
        if is_sanitized(self.process):
            return None
        return peak_kib(self.process.pid) << 10

    def rest(self):
        """The calls that no gate has shown. Not by communicate(), which knows nothing of what was read ahead at a gate."""
        late = threading.Timer(DEADLINE_S, self.process.kill)
        late.start()
        self.process.stdin.close()
        out, problems = self.process.stdout.read(), self.process.stderr.read()
        late.cancel()
        assert self.process.wait() == 0, problems
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


def listen_bytes(**answers):
    """A generic server whose methods of UserService answer with these very bytes; the server and its port."""
    handlers = {name: grpc.unary_unary_rpc_method_handler(lambda _, context, data=data: data)
                for name, data in answers.items()}
    server = grpc.server(futures.ThreadPoolExecutor(1), options=[("grpc.max_send_message_length", 256 << 20)])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(f"virmgrpc.{service}", handlers)
                                     for service in ("UserService", "VersionService")])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def check_abort(listen, *steps):
    """listen(script) is a server on bytes; after the steps, of which one makes a call, the client aborts its connection."""
    ended, requested = [], threading.Event()

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

    running = Probe(listen(script).port, *steps, "gate", "abort", "wait")
    running.read_gate()
    assert requested.wait(DEADLINE_S)
    running.open()
    (line,) = running.rest()
    assert (line.kind, line.sent, line.unknown) == ("io", True, True)
    until(lambda: ended == ["reset"], "the peer sees a reset")
