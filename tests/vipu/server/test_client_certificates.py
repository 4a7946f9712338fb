"""Client certificates in place of access keys, and what is told of the server's own certificate."""

import datetime
import os
import time

import grpc
import pytest

from certificates import Authority
from programs import run_program, until
from test_metrics import scrape

BOB = "bob-key-685X_K4uC"
UNAUTHENTICATED, UNAVAILABLE = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNAVAILABLE


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """The authority of client certificates."""
    return Authority(tmp_path_factory.mktemp("clients") / "ca", "CA of clients")


@pytest.fixture
def secure(serve, certificate, clients):
    return serve(f"""
secure: true
tls: {{certificate: {certificate.pem}, key: {certificate.key}, client-ca: {clients.pem}}}
users:
  - {{id: alice, certificate: true, allocations: [cl1]}}
  - {{id: bob, access-key: {BOB}, allocations: [cl1]}}
clusters: [{{id: cl1}}]
""")


@pytest.fixture
def connect(secure, authority, dial):
    def to(certificate=None, **options):
        identity = certificate.read() if certificate else (None, None)
        return dial(secure.target, authority=authority.pem.read_bytes(), identity=identity, **options)
    return to


def code(client):
    with pytest.raises(grpc.RpcError) as caught:
        client.version()
    return caught.value.code()


def test_a_certificate_is_as_good_as_a_key(connect, clients):
    alice = clients.sign("alice", "DNS:anywhere")
    assert connect(alice).version() == "1.18.0"
    assert connect(alice, user_id="alice").version() == "1.18.0"
    assert connect(alice, user_id="bob", access_key=BOB).version() == "1.18.0", "a key counts more"
    assert connect(user_id="bob", access_key=BOB).version() == "1.18.0", "others need none"


def test_a_certificate_is_of_one_user(connect, clients):
    alice, bob, mallory = (clients.sign(name, "DNS:anywhere") for name in ("alice", "bob", "mallory"))
    assert code(connect(alice, user_id="bob")) == UNAUTHENTICATED
    assert code(connect(bob)) == UNAUTHENTICATED, "he has a key only"
    assert code(connect(mallory)) == code(connect(mallory, user_id="alice")) == UNAUTHENTICATED
    assert code(connect(alice, user_id="alice", access_key="guessed-and-wrong")) == UNAUTHENTICATED
    assert code(connect()) == UNAUTHENTICATED


def test_certificates_of_others_are_rejected(connect, clients, stranger):
    assert code(connect(stranger.sign("alice", "DNS:anywhere"))) == UNAVAILABLE
    assert code(connect(clients.sign("late", "DNS:anywhere", end="20210101000000Z"))) == UNAVAILABLE


def test_vipu_shows_its_certificate(secure, authority, clients):
    alice = clients.sign("alice", "DNS:anywhere")
    known = {**os.environ, "VIPU_CLI_API_HOST": "localhost", "VIPU_CLI_API_PORT": str(secure.port),
             "VIPU_CLI_API_CA_CERT": str(authority.pem)}
    done = run_program("vipu", "list", "clusters", "--api-client-cert", str(alice.pem), "--api-client-key", str(alice.key), env=known)
    assert done.returncode == 0 and "cl1" in done.stdout, done.stderr
    both = alice.pem.with_suffix(".both")
    both.write_text(alice.pem.read_text() + alice.key.read_text())
    done = run_program("vipu", "list", "clusters", env={**known, "VIPU_CLI_API_CLIENT_CERT": str(both)})
    assert done.returncode == 0 and "cl1" in done.stdout, done.stderr
    done = run_program("vipu", "list", "clusters", env=known)
    assert done.returncode == 1 and "user ID and access key required" in done.stderr


def test_a_user_with_a_certificate_needs_a_ca(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("secure: true\nusers: [{id: alice, certificate: true, allocations: [cl1]}]\nclusters: [{id: cl1}]\n")
    done = run_program("vipu-server", "--check", str(path))
    assert done.returncode == 1 and "a user with certificate requires tls.client-ca" in done.stderr


@pytest.mark.parametrize("days, words", [(3, "expires soon"), (-1, "has expired"), (100, "")])
def test_an_expiring_certificate_is_warned_of(serve, authority, days, words):
    end = datetime.datetime.fromtimestamp(int(time.time()) + days * 86400, datetime.timezone.utc)
    made = authority.sign(f"ends{days}", "IP:127.0.0.1", end=end.strftime("%Y%m%d%H%M%SZ"))
    tls = f"tls: {{certificate: {made.pem}, key: {made.key}}}\n"
    server = serve("admin-listen: 127.0.0.1:0\nclusters: [{id: cl1}]\n" + tls)
    assert scrape(server)[1][("vipu_certificate_expiry_timestamp_seconds",)] == int(end.timestamp())
    until(lambda: "serving the V-IPU user API" in server.log(), "it has started")
    assert ("the TLS certificate" in server.log()) == bool(words) and words in server.log()


def test_a_reload_tells_of_the_next_certificate(serve, authority, certificate):
    config = "admin-listen: 127.0.0.1:0\nclusters: [{id: cl1}]\n"
    server = serve(config)
    assert ("vipu_certificate_expiry_timestamp_seconds",) not in scrape(server)[1]
    late = authority.sign("late", "IP:127.0.0.1", end="20210101000000Z")
    server.reload(config + f"tls: {{certificate: {late.pem}, key: {late.key}}}\n")
    until(lambda: "the TLS certificate has expired" in server.log(), "it is told")
    server.reload(config + f"tls: {{certificate: {certificate.pem}, key: {certificate.key}}}\n")
    until(lambda: scrape(server)[1][("vipu_certificate_expiry_timestamp_seconds",)] > time.time(), "the next one counts")
