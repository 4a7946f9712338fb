"""Who is let in by an agent, and what the others can do to it: nothing."""

import os
import re
import select
import socket
import subprocess
import sys

import pytest

from agents import ATTEMPT, JOB, PORT, address, rss_kib
from waiting import DEADLINE_S, until

DENIED = ("ipu-launch: worker job-worker-0 cannot be reached: its agent rejected the key: the worker or this launcher "
          "belongs to another job or an earlier attempt\n")  # fmt: skip


def connect(index=0, source="127.0.0.1"):
    return socket.create_connection((address(index), PORT), timeout=DEADLINE_S, source_address=(source, 0))


def rejections(one):
    """What the agent has said when it was told to end."""
    status, output = one.stop_agent()
    assert status == 0
    return [re.sub(r"from [0-9.]+: ", "", line.removeprefix("ipu-launch: agent: rejected connection "))
            for line in output.splitlines()]  # fmt: skip


def s_client(one, *options, key=None, identity=f"{JOB}/{ATTEMPT}/0", input=b""):
    """OpenSSL's own client with a pre-shared key."""
    key = key or (one.folder / "keys" / "0").read_bytes()
    words = ["openssl", "s_client", "-connect", f"{address(0)}:{PORT}", "-quiet", "-no_ign_eof", *options]
    if identity:
        words += ["-psk_identity", identity, "-psk", key.hex()]
    return subprocess.run(words, input=input, capture_output=True, timeout=DEADLINE_S)


@pytest.mark.parametrize(
    "env, reason",
    [
        ({"IPU_JOB_UID": "another"}, "wrong job"),
        ({"IPU_JOB_ATTEMPT": str(ATTEMPT - 1)}, "stale attempt"),
        ({"IPU_JOB_KEYS_DIR": "wrong"}, "wrong key"),
    ],
)
def test_an_unauthenticated_client_is_rejected_and_logged_once(job, tmp_path, env, reason):
    one = job()
    one.start_agent()
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "0").write_bytes(bytes(32))
    env = {name: str(tmp_path / value) if name.endswith("_DIR") else value for name, value in env.items()}
    for _ in range(5):
        assert one.call("true", env=one.launcher_env(**env)) == (255, "", DENIED)
    assert one.call("echo in")[1] == "in\n"
    assert rejections(one) == [reason]


def test_another_workers_key_opens_nothing(job, tmp_path):
    one = job(workers=2)
    one.start_agent(0)
    one.ready(0)
    (tmp_path / "keys" / "0").rename(tmp_path / "own")
    (tmp_path / "keys" / "0").write_bytes((tmp_path / "keys" / "1").read_bytes())
    hosts = f"job-worker-1={address(0)}:{PORT}"
    assert one.call("true", env=one.launcher_env(), timeout=DEADLINE_S)[0] == 255
    swapped = one.launcher_env(IPU_JOB_HOSTS=f"a={address(1)}:1,{hosts}")
    assert one.call("true", index=1, env=swapped)[0] == 255
    (tmp_path / "own").rename(tmp_path / "keys" / "0")
    assert one.call("echo in")[1] == "in\n"
    assert sorted(rejections(one)) == ["wrong key", "wrong worker"]


@pytest.mark.parametrize(
    "options, identity",
    [(["-tls1_2"], f"{JOB}/{ATTEMPT}/0"), (["-tls1_3"], None), (["-tls1_2"], None), (["-tls1_3"], "x" * 200),
     (["-tls1_3"], "//"), (["-tls1_3"], f"{JOB}/{ATTEMPT}/0/")],
)  # fmt: skip
def test_only_tls_1_3_with_the_key(job, options, identity):
    one = job()
    one.start_agent()
    one.ready()
    assert s_client(one, *options, identity=identity).returncode != 0
    assert one.call("echo in")[1] == "in\n"
    assert rejections(one) == ["no valid identity"]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x02\x00\x00",  # START without a command
        b"\x01\x00\x04true",  # a command without START
        b"\x05\x00\x02\x00x",  # data before anything runs
        b"\x01\x3e\x80" + b"x" * 16000 + b"\x01\xff\xff",
        (b"\x01\x3e\x80" + b"x" * 16000) * 9,  # longer than a command may be
        b"",
    ],
)
def test_invalid_data_from_a_client_that_has_the_key(job, request_bytes):
    one = job()
    one.start_agent()
    one.ready()
    s_client(one, "-tls1_3", input=request_bytes)
    assert one.call("echo in")[1] == "in\n"
    assert rejections(one) == ["malformed request"]


def test_port_scans_and_garbage(job):
    one = job()
    one.start_agent()
    pid = one.agent_pid()
    one.call("true")
    before = rss_kib(pid), len(os.listdir(f"/proc/{pid}/fd"))
    for i in range(600):
        with connect() as scan:
            if i % 2:
                scan.sendall(os.urandom(1 + i))
    assert one.call("echo in")[1] == "in\n"
    until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before[1], "the end of all connections")
    assert rss_kib(pid) < before[0] + 4096
    assert rejections(one)[0] == "no valid identity"


@pytest.mark.parametrize("first_bytes", [b"", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_a_flood_of_held_connections_locks_no_client_out(job, first_bytes):
    """The same from many connections that stay open; the second kind begins a handshake and goes no further."""
    one = job()
    one.start_agent()
    pid = one.agent_pid()
    held = []
    for _ in range(300):
        held.append(connect(source="127.0.0.9"))
        held[-1].sendall(first_bytes)
    for _ in range(5):
        assert one.call("echo in")[1] == "in\n"
    assert len(os.listdir(f"/proc/{pid}/fd")) < 80
    assert rss_kib(pid) < 24 * 1024
    for one_held in held:
        one_held.close()
    output = rejections(one)
    assert "too many pending connections" in output and len(output) <= 3


def flood(one, count, first_bytes=b"\x16\x03\x01\x02\x00\x01\x00"):
    """Half handshakes from the launcher's own address, as of another process beside it."""
    held = []
    for _ in range(count):
        held.append(connect())
        held[-1].sendall(first_bytes)
    return held


def test_a_flood_from_the_launchers_own_address_does_not_evict_a_client_with_the_key(job):
    """Between its handshake and its request."""
    one = job()
    one.start_agent()
    one.ready()
    key = (one.folder / "keys" / "0").read_bytes().hex()
    words = ["openssl", "s_client", "-connect", f"{address(0)}:{PORT}", "-tls1_3", "-no_ign_eof", "-psk_identity", f"{JOB}/{ATTEMPT}/0", "-psk", key]
    client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until(lambda: b"Reused, TLSv1.3" in client.stdout.readline(), "the end of its handshake")
    held = flood(one, 300)
    assert one.call("echo in")[1] == "in\n"
    client.stdin.write(b"\x01\x00\x0becho served" + b"\x02\x00\x00")
    client.stdin.flush()
    until(lambda: b"served" in client.stdout.readline(), "its output")
    client.kill()
    client.communicate()
    for one_held in held:
        one_held.close()


def test_a_flood_without_end_from_the_launchers_own_address(job):
    """Each client is served at its first attempt, such as the kubelet's probe, which has no other."""
    one = job()
    one.start_agent()
    one.ready()
    code = f"import socket\nheld = []\nwhile True:\n held.append(socket.create_connection(({address(0)!r}, {PORT})))\n" \
           " held[-1].sendall(bytes.fromhex('16030102000100'))\n held = held[-200:]\n"  # fmt: skip
    floods = [subprocess.Popen([sys.executable, "-IS", "-c", code]) for _ in range(2)]
    try:
        until(lambda: select.select([one.agents[0].stderr], [], [], 0)[0], "the first eviction")
        for _ in range(5):
            done = subprocess.run([one.launcher, "agent-ready"], env=one.worker_env(0), capture_output=True, text=True, timeout=DEADLINE_S)
            assert (done.returncode, done.stderr) == (0, "")
            assert one.call("echo in")[1] == "in\n"
    finally:
        for process in floods:
            process.kill()
            process.wait()


def test_handshakes_that_trickle(job):
    """A slow loris: 200 connections send a byte of their handshake now and then, so that none is ever silent."""
    one = job()
    one.start_agent()
    pid = one.agent_pid()
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
    held = {}
    for at in range(10):
        for place in range(200):
            try:
                if place not in held:
                    held[place] = connect(source="127.0.0.9")
                    held[place].sendall(hello[:at])
                held[place].sendall(hello[at:at + 1])
            except OSError:
                held.pop(place).close()
        assert one.call("echo in")[1] == "in\n"
    assert rss_kib(pid) < 24 * 1024
    for one_held in held.values():
        one_held.close()
    assert len(rejections(one)) <= 3, "and they do not fill the log"


def test_a_half_handshake_ends_by_itself(job):
    one = job()
    one.start_agent()
    pid = one.agent_pid()
    before = len(os.listdir(f"/proc/{pid}/fd"))
    with connect() as silent:
        assert silent.recv(1) == b""  # the agent hangs up first
    # The one that asked whether it is ready may still have counted.
    until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before, "the connection's end")
    assert rejections(one) == ["handshake timed out"]


def test_too_many_commands(job):
    one = job()
    one.start_agent()
    clients = [one.remote("echo up; read x") for _ in range(64)]
    for client in clients:
        assert client.stdout.readline() == b"up\n"
    output = "ipu-launch: worker job-worker-0 runs nothing: too many running commands\n"
    assert one.call("true") == (255, "", output)
    clients[0].stdin.close()
    assert clients[0].wait(DEADLINE_S) in (0, 1)
    until(lambda: one.call("echo in")[1] == "in\n", "room for one more")
    for client in clients[1:]:
        client.stdin.close()
    assert all(client.wait(DEADLINE_S) in (0, 1) for client in clients)
    assert rejections(one)[0] == "too many running commands"


def test_ready_means_this_pods_own_agent(job, call):
    one = job(workers=2)
    assert "is not ready" in call("agent-ready", env=one.worker_env(0)).stderr
    one.start_agent(0)
    one.ready(0)
    done = call("agent-ready", env=one.worker_env(1, IPU_JOB_ADDRESS=address(0)))
    assert done.returncode == 125 and done.stderr.startswith("ipu-launch: the agent of this pod is not ready: ")
    assert one.call("echo in")[1] == "in\n"
    assert rejections(one) == ["wrong worker"]


@pytest.mark.parametrize(
    "env, output",
    [
        ({"IPU_JOB_AGENT_PORT": "0"}, "IPU_JOB_AGENT_PORT must be a port from 1 to 65535; it is set by the operator"),
        ({"IPU_JOB_ADDRESS": "worker"}, 'IPU_JOB_ADDRESS="worker": expected an IPv4 or IPv6 address'),
        ({"IPU_JOB_KEY_FILE": "/etc/hostname"}, "invalid key /etc/hostname: expected 32 bytes"),
        ({"IPU_JOB_KEY_FILE": "/nowhere"}, "cannot read the key /nowhere, which is mounted by the operator: No such file or directory"),
        ({"IPU_JOB_ATTEMPT": "-1"}, "job identity missing: IPU_JOB_ATTEMPT must be set by the operator"),
    ],
)  # fmt: skip
def test_an_agent_that_cannot_begin_says_why(job, call, env, output):
    done = call("agent", env=job().worker_env(0, **env))
    assert (done.returncode, done.stderr) == (125, f"ipu-launch: {output}\n")


def test_a_port_that_is_taken(job, call):
    one = job()
    one.start_agent()
    one.ready()
    done = call("agent", env=one.worker_env(0))
    assert (done.returncode, done.stderr) == (125, f"ipu-launch: cannot listen at port {PORT}: Address already in use\n")
