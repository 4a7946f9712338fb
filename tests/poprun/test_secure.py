"""A controller in secure mode: poprun knows what vipu knows, access key and authority included."""

import os
import signal

import pytest

from calls import DEADLINE_S, Site, untag, until

KEY = "685X_K4uCzN-planted"


@pytest.fixture
def secure(tmp_path):
    import certificates
    import programs

    authority = certificates.Authority(tmp_path / "authority")
    certificate = authority.sign("local", *certificates.LOCAL)
    folder = tmp_path / "server"
    folder.mkdir()
    server = programs.Server(folder, f"""
secure: true
create-ms: 0
remove-ms: 0
reset-ms: 0
tls: {{certificate: {certificate.pem}, key: {certificate.key}}}
users:
  - {{id: alice, access-key: {KEY}, allocations: [left]}}
clusters: [{{id: cl1, allocations: [{{id: left, agents: [ag1, ag2]}}]}}]
""")
    server.authority = authority
    yield server
    assert server.stop() == 0, server.log()


def test_settings_of_vipu_are_enough(poprun, secure):
    path = poprun.folder / "alice.vipu-cli.hcl"
    path.write_text(
        f'api-host = "localhost"\napi-port = "{secure.port}"\napi-user-id = "alice"\n'
        f'api-access-key = "{KEY}"\napi-tls = true\napi-ca-cert = "{secure.authority.pem}"\n'
    )
    words = ["-vv", "--vipu-partition=p", "--update-partition=yes", "--num-replicas=2", "--num-instances=2"]
    out, err = poprun(*words, "sh", "-c", "echo $IPUOF_VIPU_API_GCD_ID", environment={"VIPU_CLI_CONFIG": str(path)})
    assert "0" in untag(out) and "1" in untag(out)
    assert KEY not in out + err


@pytest.fixture
def alice(poprun, secure):
    return Site(poprun, secure, VIPU_CLI_API_HOST="localhost", VIPU_CLI_API_USER_ID="alice", VIPU_CLI_API_ACCESS_KEY=KEY,
                VIPU_CLI_API_CA_CERT=str(secure.authority.pem))  # fmt: skip


def test_a_partition_has_its_whole_life_in_secure_mode(alice):
    """Created, found and reset, replaced, removed: each call needs the key."""
    words = ["--vipu-partition=p", "--update-partition=yes"]
    alice(*words, "--remove-partition=no", "--num-replicas=2", "true")
    assert alice.partitions() == {"p": (2, 1)}
    alice("--num-replicas=2", "true")
    alice(*words, "--num-replicas=2", "--num-instances=2", "true")
    assert alice.partitions() == {}


def test_a_killed_run_leaves_no_partition(alice, poprun):
    words = ["--vipu-partition=p", "--update-partition=yes", "sh", "-c", "echo ready; exec sleep 1000"]
    process = poprun.start(*words, environment=alice.settings)
    assert process.stdout.readline().endswith("ready\n")
    assert alice.partitions() == {"p": (1, 1)}
    os.kill(process.pid, signal.SIGKILL)
    process.wait(DEADLINE_S)
    until(lambda: alice.partitions() == {}, "the partition is removed")
    poprun.assert_clean()
    process.communicate()


def test_a_wrong_key_is_rejected(poprun, secure):
    known = {"VIPU_CLI_API_HOST": "localhost", "VIPU_CLI_API_PORT": str(secure.port), "VIPU_CLI_API_USER_ID": "alice",
             "VIPU_CLI_API_ACCESS_KEY": "wrong-key", "VIPU_CLI_API_CA_CERT": str(secure.authority.pem)}  # fmt: skip
    _, err = poprun("--vipu-partition=p", "--update-partition=yes", "true", environment=known, expect=1)
    assert "POPRUN [E]" in err and "wrong-key" not in err


def test_a_wrong_file_of_vipu_is_reported(poprun):
    path = poprun.folder / "bad.hcl"
    path.write_text('api-hots = "x"\n')
    _, err = poprun("true", environment={"VIPU_CLI_CONFIG": str(path)}, expect=1)
    assert err.startswith(f"POPRUN ERROR: settings of vipu: {path}: line 1: unknown setting")
