"""Our service with TLS: against grpcio, Python's ssl and openssl, against clients that keep no rule, and with a
certificate that is changed while connections go on."""

import socket
import ssl
import subprocess

import grpc
import pytest

import rawh2
from certificates import LOCAL
from generic import pb
from programs import DEADLINE_S, Answerer, run_program


@pytest.fixture
def answerer(certificate):
    running = Answerer(certificate)
    yield running
    assert running.stop() == 0


# ---- with generic clients ----


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
    client = dial(answerer.target, authority=authority.pem.read_bytes())
    calls = [client.versions.GetVersion.future(pb.VersionRequest(), timeout=DEADLINE_S) for _ in range(1000)]
    assert {call.result().version for call in calls} == {"user= key="}


def test_large_messages(answerer, authority, dial):
    client = dial(answerer.target, authority=authority.pem.read_bytes())
    huge = pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id="z" * (3 << 20)))
    call = client.channel.unary_unary("/virmgrpc.UserService/CreatePartition",
                                      request_serializer=pb.CreatePartitionRequest.SerializeToString,
                                      response_deserializer=pb.VersionReply.FromString)
    assert call(huge, timeout=DEADLINE_S).version == "user= key="


@pytest.mark.parametrize("suite, newest, is_accepted", [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", ssl.TLSVersion.TLSv1_2, True), ("ECDHE-ECDSA-CHACHA20-POLY1305", ssl.TLSVersion.TLSv1_2, True),
    ("ECDHE-ECDSA-AES128-SHA256", ssl.TLSVersion.TLSv1_2, False), ("ECDHE-ECDSA-AES256-SHA", ssl.TLSVersion.TLSv1_2, False),
    ("ECDHE-ECDSA-AES128-SHA", ssl.TLSVersion.TLSv1_1, False), ("DEFAULT", ssl.TLSVersion.TLSv1_3, True),
])
def test_only_aead_suites_are_accepted(answerer, authority, suite, newest, is_accepted):
    """RFC 9113, appendix A: the suites that HTTP/2 prohibits are all others of TLS 1.2."""
    context = ssl.create_default_context(cafile=authority.pem)
    context.minimum_version, context.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, newest
    context.set_ciphers(f"{suite}:@SECLEVEL=0")
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", answerer.port)) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="localhost") as made:
                assert is_accepted, made.cipher()
        except (ssl.SSLError, ConnectionError):
            assert not is_accepted


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
    """It holds its place for some seconds, not forever."""
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
    """TLS 1.1 is rejected; 1.2 and 1.3 are taken."""
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
    output = server.reload()
    assert str(now.key) in output and "private key" in output, "a certificate with another's key changes nothing"
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
    done = run_program("../tests/unit/vipu/vipu-answerer", str(tmp_path / "pem"), str(tmp_path / "key"))
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) == len(parts)
    assert all(part in line for part, line in zip(parts, lines))


def test_a_key_with_a_passphrase_is_not_asked_for(certificate, tmp_path):
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "ec", "-in", str(certificate.key), "-aes128", "-passout", "pass:secret", "-out", str(locked)],
                   check=True, capture_output=True)
    done = run_program("../tests/unit/vipu/vipu-answerer", str(certificate.pem), str(locked), stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "without a passphrase" in done.stdout
