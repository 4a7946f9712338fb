"""vipu-server's command line and configuration file."""

import re
import resource
import socket
import subprocess

import grpc
import pytest

import rawh2
from generic import version_by, version_of
from programs import DEADLINE_S, ROOT, program, run_program, until
from test_abuse import Raw


def server(*words):
    return run_program("vipu-server", *words)


def check(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    result = server("--check", str(path))
    return result.returncode, (result.stdout + result.stderr).replace(f"{path}: ", "")


def test_a_whole_configuration(tmp_path):
    text = """
listen: "127.0.0.1:8090"
storage: /var/lib/vipu-server/state.db
create-ms: 0
remove-ms: 600000
reset-ms: 10
auto-reset-retries: 0
version: 1.17.0
admin-listen: 127.0.0.1:2112
limits: {request-bytes: 1048576, connections: 10, calls: 100, unread-bytes: 65536}
users:
  - {id: u1, access-key: abcdefgh, allocations: [pod64, b]}
  - {id: u2, access-key-hash: "hmac-sha256:00112233445566778899aabbccddeeff:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", allocations: [a]}
clusters:
  - id: pod64
    topology: mesh
    agents: [ag.13.01, ag.13.02]
    ipuof-address: 10.2.5.1
  - id: 2xPOD64
    topology: torus
    cluster-topology: looped
    machines: Bow-2000
    ipulink-domains: 2
    agents: 32
    allocations:
      - {id: a, agents: [ag1, ag32]}
      - {id: b, agents: [ag1]}
  - {id: switched, cluster-topology: switched, agents: [s1]}
"""
    assert check(tmp_path, text) == (0, "configuration is valid\n")


def test_a_word_that_is_no_option(tmp_path):
    """`vipu-server status` must not start a server with a database in the working directory."""
    done = subprocess.run([program("vipu-server"), "status"], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert done.stderr == 'unexpected argument "status"; see vipu-server --help\n'


@pytest.mark.parametrize("text, problems", [
    ("", ["line 1: expected settings"]),
    ("listen: 5\nadmin-listen: nonsense\nstorage: [x]\nclusters: [{id: a}]", [
        "line 1: listen must be an address and a port", "line 2: admin-listen must be an address and a port",
        "line 3: storage must be a string"]),
    ("listen: 127.0.0.1:99999\nsecure: 1\nclusters: [{id: a}]", [
        "line 1: listen must be an address and a port", "line 2: secure must be true or false"]),
    ("limits: 5\ntls: [x]\nusers: {}\nclusters: [{id: a}]", [
        "line 1: expected settings", "line 2: expected settings", "line 3: users must be a list"]),
    ("limits:\n  conections: 5\n  calls: 0\nclusters: [{id: a}]", [
        'line 2: unknown setting "conections"; did you mean "connections"?', "line 3: calls must be a number from 1"]),
    ("tls: {certificate: a.pem}\nclusters: [{id: a}]", ["line 1: tls requires both certificate and key"]),
    ("secure: true\nclusters: [{id: a}]", ["line 1: secure mode requires at least one user"]),
    ("users:\n  - {id: u, access-key: short, allocations: [a]}\n"
     "  - {id: u, access-key: long-enough, access-key-hash: 'hmac-sha256:00:00', allocations: [a, a]}\n"
     "  - {access-key-file: x, allocations: []}\n  - {id: w, acess-key: x, allocations: [smal]}\n  - 7\n"
     "clusters:\n  - {id: a, allocations: [{id: small, agents: [ag1]}]}", [
         "line 2: access key must be 8 to 512", 'line 3: duplicate user "u"', "line 3: exactly one of",
         "line 3: access-key-hash must be the output", 'line 3: duplicate allocation "a" in this list', "line 4: a user requires an id",
         "line 4: allocations is required for a user", 'line 5: unknown setting "acess-key"; did you mean "access-key"?',
         "line 5: exactly one of", 'line 5: allocation "smal" not found; did you mean "small"?', "line 6: expected settings"]),
    ("users: [{id: u, access-key-file: none.key, allocations: [a]}]\ntls: {certificate: none.pem, key: none.key}\n"
     "clusters: [{id: a}]", ["line 1: none.key: ", "line 2: none.pem: "]),
    ("users: [{id: u, access-key-file: none.key, allocations: [a]}]\ntls: {certificate: none.pem, key: none.key}\n"
     "clusters: [{id: a, topology: x}]\nsise: 4", [
         "line 1: none.key: ", "line 2: none.pem: ", "line 3: topology must be", 'line 4: unknown setting "sise"']),
    ("clusters:\n  - {id: a, agents: [x]}\n  - {id: b, agents: [x]}", ['line 3: duplicate agent "x", already in cluster "a"']),
    ("clusters:\n  - {id: a, agents: [x], ipuof-address: 10.0.0.1}\n  - {id: b, agents: [y], ipuof-address: 10.0.0.1}", [
        'line 3: agent "y" has the same IPUoF address 10.0.0.1 as agent "x"']),
    ("clusters:\n  - id: a\n    agents: [ag.1, ag.2]\n    allocations: [{id: b, agents: [ag.1, ag.1, ag-2]}]", [
        'line 4: duplicate agent "ag.1" in this list', 'line 4: cluster "a" has no agent "ag-2"; did you mean "ag.']),
    ("clusters:\n  - {id: a, ipulink-domains: 1024}\n  - {id: b}", ["line 3: too many IPU-Link domains, at most 1024 are allowed"]),
    ("clusters: [7]", ["line 1: expected settings"]),
    ("clusters: []", ["line 1: clusters must be a list"]),
    ("create-ms: -1\nremove-ms: 1.5\nreset-ms: x\nclusters: [{id: a}]",
     [f"line {n}: {key}-ms must be a number" for n, key in enumerate(("create", "remove", "reset"), 1)]),
    ("sise: 4\nclusters:\n  - id: a\n    topolgy: torus\n", ['line 1: unknown setting "sise"', 'line 4: unknown setting "topolgy"; did you mean "topology"?']),
    ("clusters:\n  - id: a\n    topology: ring\n    cluster-topology: x", [
        "line 3: topology must be torus or mesh", "line 4: cluster-topology must be unlooped, looped or switched"]),
    ("clusters:\n  - {agents: 4}\n  - {id: 'a b'}", ["line 2: a cluster requires an id", "line 3: a cluster requires an id"]),
    ("clusters:\n  - {id: a}\n  - {id: a}", ['line 3: duplicate cluster "a"']),
    ("clusters:\n  - {id: a, agents: 17}", ["line 2: agents must be a number from 1 to 16"]),
    ("clusters:\n  - {id: a, agents: 3, ipulink-domains: 2}", ["line 2: 3 agents cannot be divided evenly into 2"]),
    ("clusters:\n  - {id: a, ipulink-domains: 100000}", ["line 2: ipulink-domains must be"]),
    ("clusters:\n  - {id: a, agents: [x, x]}", ['line 2: duplicate agent "x"']),
    ("clusters:\n  - {id: a, agents: [1]}", ["line 2: an agent name"]),
    ("clusters:\n  - {id: a, agents: []}", ["line 2: 0 agents cannot be divided"]),
    ("clusters:\n  - {id: a, ipuof-address: host}", ["line 2: ipuof-address must be the IPv4"]),
    ("clusters:\n  - {id: a, ipuof-address: 255.255.255.250}", ["line 2: the IPUoF addresses of the agents exceed"]),
    ("faults: {calls: [{status: BAD}]}\nclusters: [{id: a}]", ["line 1: status must be OK, ", "or UNAUTHENTICATED\n"]),
    ("clusters:\n  - id: a\n    allocations:\n      - {id: a, agents: [ag1]}\n      - {id: b, agents: [ag99]}\n"
     "      - {id: c}\n", ['line 4: duplicate allocation "a"', 'line 5: cluster "a" has no agent', "line 6: agents is required"]),
    ("clusters: [{id: a}\n", ["line "]),
    ("clusters: *x", ["line 1: "]),
    ("just text", ["line 1: expected settings"]),
])
def test_every_mistake_is_reported_with_its_line(tmp_path, text, problems):
    status, out = check(tmp_path, text)
    assert status == 1
    for problem in problems:
        assert problem in out
    assert "configuration is valid" not in out


def test_files_and_addresses(tmp_path):
    missing = server("--check", str(tmp_path / "none.yaml"))
    assert missing.returncode == 1 and "none.yaml" in missing.stderr
    storage = str(tmp_path / "state.db")
    for address, part in (("nonsense", "expected [HOST]:PORT"), ("1.2.3.4:99999", "port up to 65535"),
                          ("no.such.host:1", "no.such.host:1"), ("[::1:0", "[::1:0")):
        result = server("--storage", storage, "--listen", address)
        assert result.returncode == 1 and part in result.stderr, result.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = server("--storage", storage, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert result.returncode == 1 and "Address already in use" in result.stderr
    result = server("--storage", str(tmp_path / "none" / "state.db"))
    assert result.returncode == 1 and "cannot be created: No such file or directory" in result.stderr


def test_the_page_has_every_setting():
    page = (ROOT / "docs" / "vipu.md").read_text()
    written = re.findall(r"^\| `([a-z.\[\]-]+)` \| (?:`(.+?)`)? ?\| (.*) \|$", page, re.MULTILINE)
    helped = re.findall(r"^  ([a-z.\[\]-]+) {2,}(.*?)(?: \(default (.*)\))?$", server("--help").stdout.split("Settings of")[1],
                        re.MULTILINE)
    assert len(helped) > 25
    assert written == [(key, default, text) for key, text, default in helped]


def test_the_version_is_configured(serve, dial):
    server = serve("version: 1.17.3\nclusters: [{id: a}]")
    assert dial(server.target).version() == "1.17.3"


def test_machines(serve, dial):
    """"clock 1330MHz (M2000), 1850MHz (Bow)" [D/S]."""
    attributes = dial(serve("clusters: [{id: a, agents: [x]}, {id: b, agents: [y], machines: Bow-2000}]").target).attributes()
    assert {ipu["clock"] for ipu in attributes["x"].values()} == {"1330MHz"}
    assert {(ipu["clock"], ipu["board type"]) for ipu in attributes["y"].values()} == {("1850MHz", "Bow-2000")}


def test_limits_are_kept(serve, dial):
    client = dial(serve("limits: {request-bytes: 1024}\nclusters: [{id: a}]").target)
    client.list()
    with pytest.raises(grpc.RpcError) as caught:
        client.list("x" * 2000)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_one_connection_too_many(serve):
    """It is closed at once when all others are in use, and the log says so, but not for each of a crowd."""
    server = serve("limits: {connections: 2}\nfaults: {stall: true}\nclusters: [{id: a}]")
    kept = [Raw(server.port) for _ in range(2)]
    for peer in kept:
        peer.call(1)
        peer.send(rawh2.frame(rawh2.PING, b"12345678"))
        while peer.frame()[:2] != (rawh2.PING, rawh2.ACK):
            pass
    for _ in range(20):
        try:
            with socket.create_connection(("127.0.0.1", server.port), DEADLINE_S) as sock:
                assert sock.recv(1) == b""
        except ConnectionResetError:  # with the first word or before it
            pass
    assert 1 <= server.log().count("connection rejected: ") < 20
    for peer in kept:
        peer.sock.close()


def test_idle_connections_are_evicted(serve, dial):
    """A client that holds all connections without a call does not lock out others, and reconnects when it has one."""
    server = serve("limits: {connections: 2}\nclusters: [{id: a}]")
    idle = [dial(server.target) for _ in range(2)]
    for client in idle:
        assert client.version() == "1.18.0"

    until(lambda: version_of(server.target), "an idle connection makes room", 60)
    until(lambda: version_by(idle[0]), "its client connects again, when there is room", 60)


def test_as_many_files_as_connections(tmp_path):
    """The shell's limit on open files is often 1,024; the server asks for what its connections need."""
    path = tmp_path / "config.yaml"
    path.write_text(f"listen: 127.0.0.1:0\nstorage: {tmp_path}/state.db\nlimits: {{connections: 1500}}\nclusters: [{{id: a}}]\n")
    for hard, warned in ((4096, False), (600, True)):
        log = tmp_path / f"{hard}.log"
        with open(log, "wb") as stderr:
            process = subprocess.Popen([program("vipu-server"), "--config", str(path)], stderr=stderr,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard)))
        try:
            until(lambda: "serving the V-IPU user API" in log.read_text(), "it serves")
            soft = int(re.search(r"Max open files +(\d+)", open(f"/proc/{process.pid}/limits").read())[1])
            assert soft == (600 if warned else 1820)
            assert ("the limit of open files is too low" in log.read_text()) == warned
        finally:
            process.terminate()
            assert process.wait(DEADLINE_S) == 0


def test_storage_init(tmp_path):
    """`vipu-server --storage-init` (prepare its store in the working directory) [S]."""
    done = run_program("vipu-server", "--storage-init", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "vipu-server.db").is_file()
    done = server("--storage-init", "--storage", str(tmp_path / "none" / "x.db"))
    assert done.returncode == 1 and "cannot be created: No such file or directory" in done.stderr


def test_a_hash_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        result = subprocess.run([program("vipu-server"), "--hash-key"], input="685X_K4uCzN\n", stdout=full, text=True,
                                stderr=subprocess.PIPE, timeout=DEADLINE_S)
    assert (result.returncode, result.stderr) == (1, "vipu-server: cannot write the output\n")


def test_help_and_wrong_options():
    text = server("--help")
    assert text.returncode == 0 and "--storage" in text.stdout and "ipulink-domains" in text.stdout
    assert server("--version").stdout.startswith("vipu-server ")
    wrong = server("--nope")
    assert wrong.returncode == 2 and "--nope" in wrong.stderr


def test_where_it_listens(serve, dial):
    """"default port 8090 [D]; `--listen ":8191"` changes it [S]", "plaintext by default [S]".
    On record: gRPC over HTTP/2, in clear by default, port 8090; another port is listened on when told."""
    assert "(default :8090)" in next(line for line in server("--help").stdout.splitlines() if line.startswith("  listen "))
    ours = serve("clusters: [{id: a}]", listen=":0")
    assert "transport=cleartext" in ours.log()
    for address in ("127.0.0.1", "[::1]"):
        assert dial(f"{address}:{ours.port}").version() == "1.18.0"


def test_ipv6(serve, dial):
    ours = serve("clusters: [{id: a}]", listen="[::1]:0")
    assert dial(f"[::1]:{ours.port}").version() == "1.18.0"
    for host in ("::1", "[::1]"):
        assert subprocess.run([program("vipu"), "-H", host, "-P", str(ours.port), "list", "partition"],
                          timeout=DEADLINE_S).returncode == 0
