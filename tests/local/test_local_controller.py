"""Who may use the V-IPU controller of a run: the run itself, and each pod for its own partition."""

import os
import re
import signal
import subprocess

import pytest
from conftest import BUILD, job
from waiting import until

VIPU = BUILD / "vipu" / "vipu"
HOLDS = ("echo \"$IPUOF_VIPU_API_PORT $VIPU_CLI_API_USER_ID $VIPU_CLI_API_ACCESS_KEY $IPUOF_VIPU_API_PARTITION_ID\"; echo up; "
         "trap 'exit 0' TERM; while :; do sleep 0.05; done")  # fmt: skip


def vipu(port, *words, user=None, key=None, **more):
    """As any user of the machine would call it, without what this shell knows."""
    env = {"PATH": os.environ["PATH"], **({"VIPU_CLI_API_USER_ID": user, "VIPU_CLI_API_ACCESS_KEY": key} if user else {})}
    return subprocess.run([VIPU, "--api-host", "127.0.0.1", "--api-port", port, *words], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, **more)  # fmt: skip


@pytest.fixture
def two_jobs(run, prints):
    """(port, {partition: (user, key)}) of a run of two jobs."""
    process = run.start(job(HOLDS, name="mine"), job(HOLDS, name="other"))
    prints(process, "[mine 0.0] up")
    prints(process, "[other 0.0] up")
    said = re.findall(r"^\[\w+ 0\.0\] (\d+) (\S+) (\S+) (\S+)$", process.output.read_text(), re.MULTILINE)
    yield said[0][0], {partition: (user, key) for _, user, key, partition in said}
    process.send_signal(signal.SIGINT)
    assert run.finish(process).code == 130


def test_strangers_can_use_nothing_of_a_run(two_jobs):
    port, keys = two_jobs
    assert sorted(keys) == ["p-mine-default-0", "p-other-default-0"]
    for words in (["list", "partitions"], ["get", "partition", "p-mine-default-0"], ["remove", "partition", "p-mine-default-0"],
                  ["create", "partition", "x", "--size", "4"]):  # fmt: skip
        for user, key in ((None, None), ("operator", "guessed-key"), ("partition:p-mine-default-0", "guessed-key")):
            got = vipu(port, *words, user=user, key=key)
            assert got.returncode != 0 and "secure mode" in got.stdout, got.stdout


def test_a_pod_of_a_run_can_use_its_own_partition_only(two_jobs):
    port, keys = two_jobs
    user, key = keys["p-mine-default-0"]
    assert "p-other-default-0" not in vipu(port, "list", "partitions", user=user, key=key).stdout
    assert vipu(port, "get", "partition", "p-mine-default-0", user=user, key=key).returncode == 0
    for verb in ("get", "reset", "remove"):
        got = vipu(port, verb, "partition", "p-other-default-0", user=user, key=key)
        assert got.returncode != 0, got.stdout
    assert "cannot create or remove partitions" in vipu(port, "create", "partition", "x", "--size", "4", user=user, key=key).stdout


def test_the_keys_of_a_run_are_for_its_user_only(run, prints):
    process = run.start(job(HOLDS))
    prints(process, "up")
    folder = process.dir / "credentials"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["access-key", "partition-secret", "user-id"]
    assert [path.stat().st_mode & 0o77 for path in [folder, *files]] == [0] * 4
    process.send_signal(signal.SIGINT)
    assert run.finish(process).code == 130 and not folder.exists()


def test_the_users_own_keys_are_not_those_of_a_run(run):
    env = {**os.environ, "VIPU_CLI_API_CA_CERT": "/nowhere", "VIPU_CLI_API_USER_ID": "me", "VIPU_CLI_API_ACCESS_KEY": "my-own-key"}
    done = run(job(f'{VIPU} --api-host 127.0.0.1 --api-port "$IPUOF_VIPU_API_PORT" list partitions'), env=env)
    assert done.code == 0 and "p-hello-default-0" in done.out, done.out


@pytest.fixture
def secure_controller(tmp_path):
    """(address, the variables of its user) of a V-IPU controller in secure mode, with TLS."""
    ca, key, config, log = (tmp_path / name for name in ("ca.pem", "ca.key", "vipu.yaml", "vipu.log"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=vipu",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", ca], check=True, capture_output=True)  # fmt: skip
    config.write_text(f"""
listen: 127.0.0.1:0
storage: {tmp_path}/vipu.db
secure: true
create-ms: 0
remove-ms: 0
tls: {{certificate: {ca}, key: {key}}}
users: [{{id: alice, access-key: alice-key-685X_K4uC, allocations: [cl1]}}]
clusters: [{{id: cl1, agents: 1}}]
""")
    with log.open("w") as out, subprocess.Popen([BUILD / "vipu" / "vipu-server", "--config", config], stderr=out, stdout=out) as server:
        until(lambda: re.search(r"\bport=(\d+)", log.read_text()), "a port in the log", tell=log.read_text)
        yield (f"127.0.0.1:{re.search(r'port=([0-9]+)', log.read_text())[1]}",
               {"VIPU_CLI_API_USER_ID": "alice", "VIPU_CLI_API_ACCESS_KEY": "alice-key-685X_K4uC", "VIPU_CLI_API_CA_CERT": str(ca)})
        server.terminate()


def test_a_controller_in_secure_mode_is_used_as_vipu_does(run, secure_controller):
    address, user = secure_controller
    ask = f'{VIPU} --api-host "$IPUOF_VIPU_API_HOST" --api-port "$IPUOF_VIPU_API_PORT" list partitions'
    done = run(job(ask), options=["--controller", address], env=os.environ | user)
    assert done.code == 0 and "p-hello-default-0" in done.out, done.out + done.err


def test_a_certificate_that_cannot_be_read_is_named(run):
    done = run(job("true"), options=["--controller", "127.0.0.1:1"], env=os.environ | {"VIPU_CLI_API_CA_CERT": "/nowhere"})
    assert done.code == 1 and "variable VIPU_CLI_API_CA_CERT: /nowhere: No such file" in done.err, done.err
