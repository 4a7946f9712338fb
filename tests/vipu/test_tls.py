"""TLS, both directions: against grpcio, against Python's ssl, and against peers that keep no rule."""

import socket
import ssl
import struct
import subprocess
import threading
from concurrent import futures

import grpc
import pytest

import rawh2
from certificates import Authority, Certificate
from generic import pb, services
from programs import DEADLINE_S, Answerer, program, until
from test_client import Generic, Probe, probe

LOCAL = ("IP:127.0.0.1", "DNS:localhost")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "stranger", "another CA")


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.sign("local", *LOCAL)


@pytest.fixture
def answerer(certificate):
    running = Answerer(certificate)
    yield running
    assert running.stop() == 0


@pytest.fixture
def secure_generic(certificate):
    """A grpcio server with TLS."""
    servicer = Generic()
    server = grpc.server(futures.ThreadPoolExecutor(8))
    services.add_UserServiceServicer_to_server(servicer, server)
    services.add_VersionServiceServicer_to_server(servicer, server)
    servicer.port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([certificate.read()]))
    server.start()
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


def context_of(certificate, alpn=("h2",)):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem, certificate.key)
    context.set_alpn_protocols(list(alpn))
    return context


def tls_script(certificate, script, **options):
    """A script for rawh2.Server that begins when the handshake is done."""
    context = context_of(certificate, **options)

    def begin(peer):
        try:
            peer.sock = context.wrap_socket(peer.sock, server_side=True)
        except ssl.SSLError:
            return
        script(peer)

    return begin


class Records:
    """The server's TLS in memory, so that the test decides which bytes of which record travel."""

    def __init__(self, sock, certificate):
        self.sock = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context_of(certificate).wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.step(self.tls.do_handshake)

    def step(self, action, *args):
        while True:
            try:
                value, is_done = action(*args), True
            except ssl.SSLWantReadError:
                value, is_done = None, False
            if out := self.outgoing.read():
                self.sock.sendall(out)
            if is_done:
                return value
            received = self.sock.recv(65536)
            if not received:
                raise EOFError
            self.incoming.write(received)

    def recv(self, count):
        return self.step(self.tls.read, count)

    def sealed(self, plain):
        self.tls.write(plain)
        return self.outgoing.read()

    def sendall(self, plain):
        self.sock.sendall(self.sealed(plain))


def records_script(certificate, script):
    """A script for rawh2.Server that gets a peer whose `sock` is Records."""
    def begin(peer):
        peer.sock = Records(peer.sock, certificate)
        script(peer)

    return begin


# ---- with generic peers ----


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_our_client_and_a_generic_server(secure_generic, authority, host):
    secure_generic.answers["CreatePartition"] = lambda request, _: pb.CreatePartitionReply(
        partition_id=request.requirements.id)
    lines = probe(secure_generic.port, f"ca:{authority.pem}", "user:alice", "key:k1", "version", "list", "attrs",
                  "status:p1", "create:p2:16", "remove:p3", "reset:p4", "ipuof:p5", host=host)
    assert [line.kind for line in lines] == ["ok"] * 8
    assert lines[0].text == "1.18.0" and lines[4].text == "p2"
    assert secure_generic.metadata["vipu-user-id"] == "alice" and secure_generic.metadata["vipu-access-key"] == "k1"


def test_a_generic_client_and_our_server(answerer, authority, dial):
    client = dial(answerer.target, authority=authority.pem.read_bytes(), user_id="alice", access_key="k1")
    assert client.version() == "user=alice key=k1"
    named = dial(f"localhost:{answerer.port}", authority=authority.pem.read_bytes())
    assert named.version() == "user= key="


def test_a_generic_client_that_knows_another_authority(answerer, stranger, authority, dial):
    with pytest.raises(grpc.RpcError) as caught:
        dial(answerer.target, authority=stranger.pem.read_bytes()).version()
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert dial(answerer.target, authority=authority.pem.read_bytes()).version() == "user= key="


def test_a_thousand_calls_in_flight(answerer, authority, dial):
    lines = probe(answerer.port, f"ca:{authority.pem}", "1000*version@30000")
    assert len(lines) == 1000 and {line.kind for line in lines} == {"ok"}
    client = dial(answerer.target, authority=authority.pem.read_bytes())
    calls = [client.versions.GetVersion.future(pb.VersionRequest(), timeout=30) for _ in range(1000)]
    assert {call.result().version for call in calls} == {"user= key="}


def test_large_messages(secure_generic, answerer, authority, dial):
    """Many records each way."""
    reply = pb.ListPartitionsReply(partitions=[pb.Partition(id=f"p{i}" + "x" * 500) for i in range(20000)])
    secure_generic.answers["ListPartitions"] = lambda *_: reply
    secure_generic.answers["CreatePartition"] = lambda request, _: pb.CreatePartitionReply(
        partition_id=str(len(request.requirements.id)))
    lines = probe(secure_generic.port, f"ca:{authority.pem}", "list@30000", f"create:{'y' * 120000}:4@30000")
    assert [line.kind for line in lines] == ["ok", "ok"]
    assert lines[0].text.startswith("20000 partitions p0x") and lines[1].text == "120000"
    client = dial(answerer.target, authority=authority.pem.read_bytes())
    huge = pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id="z" * (3 << 20)))
    call = client.channel.unary_unary("/virmgrpc.UserService/CreatePartition",
                                      request_serializer=pb.CreatePartitionRequest.SerializeToString,
                                      response_deserializer=pb.VersionReply.FromString)
    assert call(huge, timeout=DEADLINE_S).version == "user= key="


# ---- certificates that are not believed ----


@pytest.mark.parametrize("hosts, span, host, text", [
    (LOCAL, dict(start="20200101000000Z", end="20210101000000Z"), "127.0.0.1", "has expired"),
    (LOCAL, dict(start="21100101000000Z"), "127.0.0.1", "not valid yet"),
    (("DNS:elsewhere.example",), {}, "localhost", 'not for "localhost"'),
    (("DNS:localhost",), {}, "127.0.0.1", 'not for "127.0.0.1"'),
    (("IP:127.0.0.2",), {}, "127.0.0.1", 'not for "127.0.0.1"'),
    (("IP:127.0.0.1",), {}, "localhost", 'not for "localhost"'),
    # A name that only looks like the address, and wildcards that are wider than a label.
    (("DNS:127.0.0.1",), {}, "127.0.0.1", 'not for "127.0.0.1"'),
    (("DNS:*",), {}, "localhost", 'not for "localhost"'),
])
def test_certificates_that_are_not_believed(authority, hosts, span, host, text):
    server = Answerer(authority.sign("bad", *hosts, **span))
    lines = probe(server.port, f"ca:{authority.pem}", "create:p1:4@20000", host=host)
    assert server.stop() == 0
    assert [(line.kind, line.sent, line.unknown) for line in lines] == [("denied", False, False)]
    assert text in lines[0].text and lines[0].text.startswith(f"{host}:{server.port}: ")


@pytest.mark.parametrize("trust", ["stranger", "system"])
def test_an_unknown_authority(answerer, stranger, trust):
    option = f"ca:{stranger.pem}" if trust == "stranger" else "tls"
    (line,) = probe(answerer.port, option, "create:p1:4@20000")
    assert (line.kind, line.sent) == ("denied", False)
    assert "unknown authority" in line.text and "--api-ca-cert" in line.text


def test_a_certificate_that_signed_itself(authority, stranger):
    server = Answerer(Certificate(stranger.pem, stranger.folder / "ca.key"))
    (line,) = probe(server.port, f"ca:{authority.pem}", "version@20000")
    assert server.stop() == 0
    assert line.kind == "denied" and "--api-ca-cert" in line.text


@pytest.mark.parametrize("content, kind, text", [
    (None, "not-found", "No such file"), (b"", "invalid", "no PEM certificate"),
    (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "invalid", "certificate 1"),
    (b"\0" * (1 << 21), "invalid", "larger"),
])
def test_ca_files_that_are_none(answerer, tmp_path, content, kind, text):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    lines = probe(answerer.port, f"ca:{path}", "version@20000", "create:p1:4@20000")
    assert {(line.kind, line.sent) for line in lines} == {(kind, False)}
    assert all(text in line.text and str(path) in line.text for line in lines)


def test_a_ca_file_is_read_for_each_connection(answerer, authority, stranger, tmp_path):
    path = tmp_path / "ca.pem"
    path.write_bytes(stranger.pem.read_bytes())
    running = Probe(answerer.port, f"ca:{path}", "version@20000", "wait", "gate", "version@20000", "wait", "gate",
                    "version@20000", "abort", "wait", "version@20000")
    assert running.read_gate()[0].kind == "denied"
    path.write_bytes(authority.pem.read_bytes())
    running.open()
    assert running.read_gate()[0].kind == "ok"
    path.write_bytes(stranger.pem.read_bytes())
    running.open()
    assert [line.kind for line in running.rest()] == ["io", "denied"]


# ---- servers that keep no rule ----


@pytest.mark.parametrize("text", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n" * 100, bytes(200), b"\xff" * 70000,
                                  rawh2.settings()])
def test_a_peer_that_speaks_no_tls(raw, authority, text):
    def script(peer):
        peer.send(text)
        while peer.sock.recv(65536):
            pass

    (line,) = probe(raw(script).port, f"ca:{authority.pem}", "create:p1:4@20000")
    assert (line.kind, line.sent, line.code) == ("io", False, 14) and "does not speak TLS" in line.text


@pytest.mark.parametrize("text", [
    b"\x16\x03\x03\xff\xff" + b"x" * 70000,  # a record that is too long
    b"\x16\x03\x03\x00\x04\x02\xff\xff\xff",  # a message that is too long
    b"\x15\x03\x03\x00\x02\x02\x28",  # a fatal alert
    b"\x17\x03\x03\x00\x10" + b"x" * 16,  # data before keys
    b"\x16\x09\x09\x00\x04abcd",
])
def test_a_peer_that_speaks_bad_tls(raw, authority, text):
    def script(peer):
        peer.send(text)
        while peer.sock.recv(65536):
            pass

    (line,) = probe(raw(script).port, f"ca:{authority.pem}", "create:p1:4@20000")
    assert (line.kind, line.sent, line.code) == ("io", False, 14) and "TLS" in line.text


def test_a_cleartext_server_of_grpc(authority):
    server = Answerer()
    (line,) = probe(server.port, f"ca:{authority.pem}", "create:p1:4@20000")
    assert server.stop() == 0
    assert (line.kind, line.sent) == ("io", False) and "TLS" in line.text


def test_tls_that_was_not_asked_for(answerer):
    (line,) = probe(answerer.port, "version@20000")
    assert line.kind == "io" and "does it want TLS (--api-tls)?" in line.text


def test_a_peer_that_hangs_up_in_the_handshake(raw, authority):
    def script(peer):
        peer.sock.recv(65536)

    (line,) = probe(raw(script).port, f"ca:{authority.pem}", "create:p1:4@20000")
    assert (line.kind, line.sent) == ("io", False) and "TLS handshake" in line.text


def test_a_peer_that_never_shakes_hands(raw, authority):
    """The handshake counts towards the deadline."""
    def script(peer):
        while peer.sock.recv(65536):
            pass

    server = raw(script)
    lines = probe(server.port, f"ca:{authority.pem}", "create:p1:4@300", "wait", "version@300")
    assert [(line.kind, line.code, line.sent) for line in lines] == [("timeout", 4, False)] * 2
    assert server.connections == 2


@pytest.mark.parametrize("alpn", [(), ("http/1.1",)])
def test_a_peer_with_tls_and_without_http2(raw, certificate, authority, alpn):
    server = raw(tls_script(certificate, lambda peer: peer.until_closed(), alpn=alpn))
    (line,) = probe(server.port, f"ca:{authority.pem}", "create:p1:4@20000")
    assert (line.kind, line.sent) == ("io", False) and "not HTTP/2" in line.text


def test_a_peer_that_hangs_up(raw, certificate, authority):
    """Without a close_notify, after the handshake and in the middle of an answer."""
    def in_the_middle(peer):
        peer.greet()
        stream = peer.request()
        peer.send(rawh2.headers(stream, rawh2.OPEN), rawh2.frame(rawh2.DATA, b"\x00\x00", stream=stream))

    def with_a_notice(peer):
        peer.greet()
        peer.request()
        try:
            peer.sock.unwrap()
        except ssl.SSLError:
            pass

    def with_a_reset(peer):
        peer.greet()
        peer.request()
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    for script in (lambda peer: None, in_the_middle, with_a_notice, with_a_reset):
        (line,) = probe(raw(tls_script(certificate, script)).port, f"ca:{authority.pem}", "create:p1:4@20000")
        assert line.kind == "io" and line.code == 14 and line.unknown == line.sent


def test_records_byte_by_byte_and_half_of_one(raw, certificate, authority):
    def script(peer):
        tcp = peer.sock.sock
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.greet()
        for byte in peer.sock.sealed(rawh2.response(peer.request(), b"")):
            tcp.sendall(bytes([byte]))
        tcp.sendall(peer.sock.sealed(rawh2.response(peer.request(), b""))[:-1])
        tcp.shutdown(socket.SHUT_WR)

    server = raw(records_script(certificate, script))
    lines = probe(server.port, f"ca:{authority.pem}", "remove:p1@20000", "wait", "remove:p2@20000")
    assert [(line.kind, line.unknown) for line in lines] == [("ok", False), ("io", True)]


def test_a_record_that_was_changed_on_the_way(raw, certificate, authority):
    def script(peer):
        peer.greet()
        sealed = bytearray(peer.sock.sealed(rawh2.response(peer.request(), b"")))
        sealed[-1] ^= 1
        peer.sock.sock.sendall(sealed)
        peer.until_closed()

    (line,) = probe(raw(records_script(certificate, script)).port, f"ca:{authority.pem}", "remove:p1@20000")
    assert (line.kind, line.unknown) == ("io", True) and "TLS" in line.text


# ---- fencing ----


def test_a_write_that_is_denied_during_the_handshake(raw, certificate, authority):
    """It is asked for when its bytes are sealed, not when the call was made."""
    seen, go_on = [], threading.Event()

    def script(peer):
        assert go_on.wait(DEADLINE_S)
        peer.sock = context_of(certificate).wrap_socket(peer.sock, server_side=True)
        peer.greet()
        while True:
            kind, _, stream, payload = peer.frame()
            if kind == rawh2.DATA:
                seen.append(payload)
                peer.send(rawh2.response(stream, b""))

    running = Probe(raw(script).port, f"ca:{authority.pem}", "remove:fenced@25000", "deny", "gate", "wait", "allow",
                    "remove:later@25000")
    running.read_gate()
    go_on.set()
    running.open()
    assert [(line.kind, line.sent) for line in running.rest()] == [("denied", False), ("ok", True)]
    assert b"later" in b"".join(seen) and b"fenced" not in b"".join(seen)


@pytest.mark.parametrize("is_secure", [True, False])
def test_the_rest_of_a_write_that_is_denied(raw, certificate, authority, is_secure):
    """The kernel took a part of the records. The peer gets no more of them once the write is denied."""
    go_on, ended, whole = threading.Event(), threading.Event(), []

    def script(peer):
        peer.greet((4, (1 << 31) - 1))
        peer.send(rawh2.frame(rawh2.WINDOW_UPDATE, struct.pack(">I", (1 << 31) - 1 - 65535)))
        peer.send(rawh2.response(peer.request(), b""))
        go_on.wait(DEADLINE_S)
        try:
            while True:
                kind, flags, _, _ = peer.frame()
                whole.extend([1] if kind == rawh2.DATA and flags & rawh2.END_STREAM else [])
        finally:
            ended.set()

    server = raw(tls_script(certificate, script) if is_secure else script)
    server.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    options = [f"ca:{authority.pem}"] if is_secure else []
    running = Probe(server.port, *options, "version@25000", "wait", f"200*remove:{'x' * 100000}@25000", "deny", "gate",
                    "wait")
    assert running.read_gate()[0].kind == "ok"
    go_on.set()
    running.open()
    lines = running.rest()
    assert ended.wait(DEADLINE_S)
    sent = [line for line in lines if line.sent]
    assert {line.kind for line in lines} == {"io"} and 0 < len(sent) < 200
    assert all("may no longer be sent" in line.text for line in lines)
    assert len(whole) < len(sent), "the last one did not arrive as a whole"


def test_abort_resets_the_connection(raw, certificate, authority):
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

    server = raw(records_script(certificate, script))
    running = Probe(server.port, f"ca:{authority.pem}", "remove:p1@20000", "gate", "abort", "wait")
    running.read_gate()
    assert requested.wait(DEADLINE_S)
    running.open()
    (line,) = running.rest()
    assert (line.kind, line.sent, line.unknown) == ("io", True, True)
    until(lambda: ended == ["reset"], "the peer sees a reset")


# ---- clients that keep no rule ----


@pytest.fixture
def others(answerer, authority, dial):
    """A well-behaved client, which must not notice."""
    client = dial(answerer.target, authority=authority.pem.read_bytes())
    assert client.version() == "user= key="
    yield client
    assert client.version() == "user= key="
    assert answerer.process.poll() is None


def closed(sock):
    sock.settimeout(DEADLINE_S)
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("text", [
    rawh2.PREFACE + rawh2.settings(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 1000, b"\xff" * 100000,
    b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\x16\x03\x01\x00\x04\x01\xff\xff\xff", b"\x15\x03\x03\x00\x02\x02\x28",
])
def test_what_is_no_tls_is_closed(answerer, others, text):
    with socket.create_connection(("127.0.0.1", answerer.port)) as sock:
        sock.sendall(text)
        assert closed(sock)


def test_a_client_that_stops_in_the_handshake(answerer, others):
    """It holds its place for some seconds, not for ever."""
    with socket.create_connection(("127.0.0.1", answerer.port)) as sock:
        sock.sendall(b"\x16\x03\x01\x00\x10")
        assert closed(sock)


@pytest.mark.parametrize("alpn", [[], ["http/1.1"]])
def test_a_client_with_tls_and_without_http2(answerer, others, authority, alpn):
    context = ssl.create_default_context(cafile=authority.pem)
    context.set_alpn_protocols(alpn)
    with socket.create_connection(("127.0.0.1", answerer.port), timeout=DEADLINE_S) as sock:
        try:
            with context.wrap_socket(sock, server_hostname="localhost") as secure:
                assert closed(secure)
        except ssl.SSLError:
            pass


def test_an_old_client(answerer, others, authority):
    """TLS 1.1 is refused; 1.2 and 1.3 are taken."""
    def version(option):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{answerer.port}", "-alpn", "h2", option,
                               "-cipher", "ALL:@SECLEVEL=0", "-CAfile", str(authority.pem)], input=b"", timeout=DEADLINE_S,
                              capture_output=True)
        return done.returncode == 0 and b"Verify return code: 0" in done.stdout

    assert [version(option) for option in ("-tls1_1", "-tls1_2", "-tls1_3")] == [False, True, True]


# ---- a certificate is changed while connections go on ----


def shown(port, authority):
    """The name in the certificate that a new connection is shown."""
    context = ssl.create_default_context(cafile=authority.pem)
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as sock:
        with context.wrap_socket(sock, server_hostname="localhost") as secure:
            return dict(pair for part in secure.getpeercert()["subject"] for pair in part)["commonName"]


def test_a_new_certificate(authority, dial):
    now, later = authority.sign("now", *LOCAL), authority.sign("later", *LOCAL)
    server = Answerer(now)
    client = dial(server.target, authority=authority.pem.read_bytes())
    held = client.versions.GetVersion.future(pb.VersionRequest(), metadata=[("vipu-user-id", "hold")], timeout=DEADLINE_S)
    assert client.version() == "user= key=" and shown(server.port, authority) == "now"
    now.pem.write_bytes(later.pem.read_bytes())
    said = server.reload()
    assert str(now.key) in said and "private key" in said, "a certificate with another's key changes nothing"
    assert shown(server.port, authority) == "now"
    now.key.write_bytes(later.key.read_bytes())
    assert server.reload() == "reloaded"
    assert shown(server.port, authority) == "later"
    server.answer_held()
    assert held.result().version == "user=hold key=" and client.version() == "user= key="
    assert server.stop() == 0


@pytest.mark.parametrize("pem, key, parts", [
    (None, None, ["No such file", "No such file"]),
    (b"nothing", b"nothing", ["no PEM certificate", "no PEM private key"]),
    ("good", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", ["no PEM private key"]),
])
def test_files_that_do_not_serve(certificate, tmp_path, pem, key, parts):
    """Every mistake, in either file."""
    for name, content in (("pem", pem), ("key", key)):
        if content is not None:
            (tmp_path / name).write_bytes(certificate.pem.read_bytes() if content == "good" else content)
    done = subprocess.run([program("../tests/unit/vipu/vipu-answerer"), str(tmp_path / "pem"), str(tmp_path / "key")],
                          capture_output=True, text=True, timeout=DEADLINE_S)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) == len(parts)
    assert all(part in line for part, line in zip(parts, lines))


def test_a_key_with_a_passphrase_is_not_asked_for(certificate, tmp_path):
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "ec", "-in", str(certificate.key), "-aes128", "-passout", "pass:secret", "-out", str(locked)],
                   check=True, capture_output=True)
    done = subprocess.run([program("../tests/unit/vipu/vipu-answerer"), str(certificate.pem), str(locked)],
                          capture_output=True, text=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "without a passphrase" in done.stdout
