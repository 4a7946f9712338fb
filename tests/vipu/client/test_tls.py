"""Our client with TLS: against grpcio, against Python's ssl, and against servers that keep no rule."""

import re
import socket
import ssl
import struct
import threading
from concurrent import futures

import grpc
import pytest

import rawh2
from certificates import LOCAL, Certificate
from generic import pb, services
from peers import Generic, Probe, check_abort, probe
from programs import DEADLINE_S, ROOT, Answerer, until
from tls import context_of, records_script, tls_script


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


def test_a_thousand_calls_in_flight(answerer, authority):
    lines = probe(answerer.port, f"ca:{authority.pem}", "1000*version")
    assert len(lines) == 1000 and {line.kind for line in lines} == {"ok"}


def test_large_messages(secure_generic, authority):
    """Many records each way."""
    reply = pb.ListPartitionsReply(partitions=[pb.Partition(id=f"p{i}" + "x" * 500) for i in range(20000)])
    secure_generic.answers["ListPartitions"] = lambda *_: reply
    secure_generic.answers["CreatePartition"] = lambda request, _: pb.CreatePartitionReply(
        partition_id=str(len(request.requirements.id)))
    lines = probe(secure_generic.port, f"ca:{authority.pem}", "list", f"create:{'y' * 120000}:4")
    assert [line.kind for line in lines] == ["ok", "ok"]
    assert lines[0].text.startswith("20000 partitions p0x") and lines[1].text == "120000"


# ---- certificates that are not believed ----


@pytest.mark.parametrize("hosts, span, host, text", [
    (LOCAL, dict(start="20200101000000Z", end="20210101000000Z"), "127.0.0.1", "has expired"),
    (LOCAL, dict(start="21100101000000Z"), "127.0.0.1", "not valid yet"),
    (("DNS:elsewhere.example",), {}, "localhost", 'not valid for "localhost"'),
    (("DNS:localhost",), {}, "127.0.0.1", 'not valid for "127.0.0.1"'),
    (("IP:127.0.0.2",), {}, "127.0.0.1", 'not valid for "127.0.0.1"'),
    (("IP:127.0.0.1",), {}, "localhost", 'not valid for "localhost"'),
    # A name that only looks like the address, and wildcards that are wider than a label.
    (("DNS:127.0.0.1",), {}, "127.0.0.1", 'not valid for "127.0.0.1"'),
    (("DNS:*",), {}, "localhost", 'not valid for "localhost"'),
])
def test_certificates_that_are_not_believed(authority, hosts, span, host, text):
    server = Answerer(authority.sign("bad", *hosts, **span))
    lines = probe(server.port, f"ca:{authority.pem}", "create:p1:4", host=host)
    assert server.stop() == 0
    assert [(line.kind, line.sent, line.unknown) for line in lines] == [("denied", False, False)]
    assert text in lines[0].text and lines[0].text.startswith(f"{host}:{server.port}: ")


@pytest.mark.parametrize("trust", ["stranger", "system"])
def test_an_unknown_authority(answerer, stranger, trust):
    option = f"ca:{stranger.pem}" if trust == "stranger" else "tls"
    (line,) = probe(answerer.port, option, "create:p1:4")
    assert (line.kind, line.sent) == ("denied", False)
    assert "unknown authority" in line.text and "--api-ca-cert" in line.text


def test_a_certificate_that_signed_itself(authority, stranger):
    server = Answerer(Certificate(stranger.pem, stranger.folder / "ca.key"))
    (line,) = probe(server.port, f"ca:{authority.pem}", "version")
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
    lines = probe(answerer.port, f"ca:{path}", "version", "create:p1:4")
    assert {(line.kind, line.sent) for line in lines} == {(kind, False)}
    assert all(text in line.text and str(path) in line.text for line in lines)


def test_a_ca_file_is_read_for_each_connection(answerer, authority, stranger, tmp_path):
    path = tmp_path / "ca.pem"
    path.write_bytes(stranger.pem.read_bytes())
    running = Probe(answerer.port, f"ca:{path}", "version", "wait", "gate", "version", "wait", "gate",
                    "version", "abort", "wait", "version")
    assert running.read_gate()[0].kind == "denied"
    path.write_bytes(authority.pem.read_bytes())
    running.open()
    assert running.read_gate()[0].kind == "ok"
    path.write_bytes(stranger.pem.read_bytes())
    running.open()
    assert [line.kind for line in running.rest()] == ["io", "denied"]


def test_the_page_quotes_what_the_client_says():
    page = (ROOT / "docs" / "vipu.md").read_text().split("These are its errors:")[1].split("##")[0]
    sentences = [part.strip(". ") for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
                 for part in re.findall(r"`(.*?)`", cell)]
    output = "".join((ROOT / "vipu" / "wire" / name).read_text() for name in ("transport/tls.c", "grpc/h2.c"))
    output = re.sub(r'"\s*"', "", output).replace('\\"%.64s\\"', '"HOST"')
    assert len(sentences) == 6 and [sentence for sentence in sentences if sentence not in output] == []


# ---- servers that keep no rule ----


NO_TLS = "does not speak TLS"


@pytest.mark.parametrize("text, part", [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", NO_TLS), (b"SSH-2.0-x\r\n" * 100, NO_TLS), (bytes(200), NO_TLS),
    (b"\xff" * 70000, NO_TLS), (rawh2.settings(), NO_TLS),
    (b"\x16\x03\x03\xff\xff" + b"x" * 70000, "TLS"),  # a record that is too long
    (b"\x16\x03\x03\x00\x04\x02\xff\xff\xff", "TLS"),  # a message that is too long
    (b"\x15\x03\x03\x00\x02\x02\x28", "TLS"),  # a fatal alert
    (b"\x17\x03\x03\x00\x10" + b"x" * 16, "TLS"),  # data before keys
    (b"\x16\x09\x09\x00\x04abcd", "TLS"),
])
def test_a_peer_that_speaks_no_tls_or_bad_tls(raw, authority, text, part):
    def script(peer):
        peer.send(text)
        while peer.sock.recv(65536):
            pass

    (line,) = probe(raw(script).port, f"ca:{authority.pem}", "create:p1:4")
    assert (line.kind, line.sent, line.code) == ("io", False, 14) and part in line.text


def test_a_cleartext_server_of_grpc(authority):
    server = Answerer()
    (line,) = probe(server.port, f"ca:{authority.pem}", "create:p1:4")
    assert server.stop() == 0
    assert (line.kind, line.sent) == ("io", False) and "TLS" in line.text


def test_tls_that_was_not_asked_for(answerer):
    (line,) = probe(answerer.port, "version")
    assert line.kind == "io" and "does it require TLS (--api-tls)?" in line.text


def test_a_peer_that_hangs_up_in_the_handshake(raw, authority):
    def script(peer):
        peer.sock.recv(65536)

    (line,) = probe(raw(script).port, f"ca:{authority.pem}", "create:p1:4")
    assert (line.kind, line.sent) == ("io", False) and "TLS handshake" in line.text


def test_a_peer_that_never_shakes_hands(raw, authority):
    """The handshake counts towards the deadline."""
    def script(peer):
        while peer.sock.recv(65536):
            pass

    server = raw(script)
    lines = probe(server.port, f"ca:{authority.pem}", "create:p1:4@1000", "wait", "version@1000")
    assert [(line.kind, line.code, line.sent) for line in lines] == [("timeout", 4, False)] * 2
    until(lambda: server.connections == 2, "the second call had a connection of its own")


@pytest.mark.parametrize("alpn", [(), ("http/1.1",)])
def test_a_peer_with_tls_and_without_http2(raw, certificate, authority, alpn):
    server = raw(tls_script(certificate, lambda peer: peer.until_closed(), alpn=alpn))
    (line,) = probe(server.port, f"ca:{authority.pem}", "create:p1:4")
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
        (line,) = probe(raw(tls_script(certificate, script)).port, f"ca:{authority.pem}", "create:p1:4")
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
    lines = probe(server.port, f"ca:{authority.pem}", "remove:p1", "wait", "remove:p2")
    assert [(line.kind, line.unknown) for line in lines] == [("ok", False), ("io", True)]


def test_a_record_that_was_changed_on_the_way(raw, certificate, authority):
    def script(peer):
        peer.greet()
        sealed = bytearray(peer.sock.sealed(rawh2.response(peer.request(), b"")))
        sealed[-1] ^= 1
        peer.sock.sock.sendall(sealed)
        peer.until_closed()

    (line,) = probe(raw(records_script(certificate, script)).port, f"ca:{authority.pem}", "remove:p1")
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

    running = Probe(raw(script).port, f"ca:{authority.pem}", "remove:fenced", "deny", "gate", "wait", "allow",
                    "remove:later")
    running.read_gate()
    go_on.set()
    running.open()
    assert [(line.kind, line.sent) for line in running.rest()] == [("denied", False), ("ok", True)]
    assert b"later" in b"".join(seen) and b"fenced" not in b"".join(seen)


@pytest.mark.parametrize("is_secure", [True, False])
def test_the_rest_of_a_write_that_is_denied(raw, certificate, authority, is_secure):
    """The kernel took a part of the records, of few calls or of all. The peer gets no more of them once the write is denied."""
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
    # Few calls, soon made: a connection that the peer does not read from is given up after some seconds.
    running = Probe(server.port, *options, "version", "wait", "10*huge:2000000", "deny", "gate", "wait")
    assert running.read_gate()[0].kind == "ok"
    go_on.set()
    running.open()
    lines = running.rest()
    assert ended.wait(DEADLINE_S)
    sent = [line for line in lines if line.sent]
    assert {line.kind for line in lines} == {"io"} and sent
    assert all("sending is no longer allowed" in line.text for line in lines)
    assert len(whole) < len(sent), "the last one did not arrive as a whole"


def test_abort_resets_the_connection(raw, certificate, authority):
    check_abort(lambda script: raw(records_script(certificate, script)), f"ca:{authority.pem}", "remove:p1")
