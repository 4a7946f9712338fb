"""A command on a worker, through its agent: streams, exit status, signals, environment."""

import hashlib
import os
import signal
import subprocess
import sys

import pytest

from agents import rss_kib
from processes import children
from waiting import DEADLINE_S, until

MIB = 1 << 20


@pytest.fixture
def worker(job):
    one = job()
    one.start_agent()
    return one


@pytest.mark.parametrize(
    "line, status",
    [("true", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("no-such-program", 127)],
)
def test_the_exit_status_comes_back(worker, line, status):
    assert worker.call(line)[0] == status


def test_words_are_joined_and_read_by_the_shell(worker):
    # As Open MPI hands them over: quotes are the shell's business, not ours.
    assert worker.call("printf", "'%s|'", '"a b"', "c", "$((1 + 1))") == (0, "a b|c|2|", "")


def test_streams_are_kept_apart(worker):
    assert worker.call("cat; echo no >&2", input=b"yes\n") == (0, "yes\n", "no\n")


def test_any_bytes_in_any_number(worker):
    sent = bytes(range(256)) * 8192 + os.urandom(6 * MIB)
    client = worker.remote("tee /dev/stderr")
    out, err = client.communicate(sent, timeout=DEADLINE_S)
    assert client.returncode == 0
    assert hashlib.sha256(out).digest() == hashlib.sha256(err).digest() == hashlib.sha256(sent).digest()


def test_output_follows_the_end_of_input(worker):
    assert worker.call("sum=$(md5sum); echo $sum", input=b"")[1].split()[0] == hashlib.md5(b"").hexdigest()


def test_input_ends_nothing(worker):
    client = worker.remote("cat >/dev/null; echo ended; read x < /dev/null; echo more")
    client.stdin.close()
    assert client.stdout.read() == b"ended\nmore\n"
    assert client.wait(DEADLINE_S) == 0


def test_a_slow_reader_stops_its_writer_and_nothing_else(worker):
    client = worker.remote("cat /dev/zero & pid=$!; echo here >&2; read x; kill $pid; echo over >&2")
    assert client.stderr.readline() == b"here\n"
    agent = worker.agent_pid()
    sessions = children(agent)
    assert len(sessions) == 1
    client.stdin.write(b"\n")
    client.stdin.flush()
    # Nobody reads standard output, and yet this arrives.
    assert client.stderr.readline() == b"over\n"
    assert all(rss_kib(pid) < 24 * 1024 for pid in (client.pid, agent, *sessions))
    assert client.stdout.read().strip(b"\0") == b""
    assert client.wait(DEADLINE_S) == 0


def test_a_reader_that_goes_ends_the_writer(worker):
    client = worker.remote("yes")
    assert client.stdout.read(2) == b"y\n"
    client.stdout.close()
    assert client.wait(DEADLINE_S) == 128 + signal.SIGPIPE


def test_input_that_no_process_reads(worker):
    client = worker.remote("exec <&-; read x </dev/null; echo done")
    with pytest.raises(BrokenPipeError):
        while True:
            client.stdin.write(b"x" * MIB)
    assert client.stdout.read() == b"done\n"
    client.stdin = None
    assert client.wait(DEADLINE_S) == 0


def test_the_last_output_is_not_lost(worker):
    # More than all pipes and windows hold is still on its way when the command ends.
    client = worker.remote("head -c 1000000 /dev/zero; exit 3")
    until(lambda: client.poll() is None, "the client")
    assert len(client.stdout.read()) == 1000000
    assert client.wait(DEADLINE_S) == 3


def test_closed_standard_streams(worker):
    script = 'exec 0<&- 1>&-; exec "$0" remote job-worker-0 "cat; echo out; echo err >&2; exit 4"'
    done = subprocess.run(["sh", "-c", script, worker.launcher], env=worker.launcher_env(), capture_output=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stdout, done.stderr) == (4, b"", b"err\n")


# Two processes of one group that end by the first signal, and say which it was.
TELL = """
import os, signal
signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
child = os.fork()
os.write(1, b"up\\n")
os.write(1, b"%d\\n" % signal.sigwait(signals))
if child:
    os.waitpid(child, 0)
    os._exit(5)
"""


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
def test_signals_reach_the_remote_group(worker, name):
    number = getattr(signal, f"SIG{name}")
    client = worker.remote(f"exec {sys.executable} -IS -c '{TELL}'")
    assert [client.stdout.readline() for _ in range(2)] == [b"up\n"] * 2
    client.send_signal(number)
    assert [client.stdout.readline() for _ in range(2)] == [b"%d\n" % number] * 2
    assert client.wait(DEADLINE_S) == 5


def test_the_environment_is_the_workers(job):
    one = job(workers=2)
    one.start_agent(1, OWN="worker's", IPU_DEFAULT_X="default", IPU_JOB_TARGET_OPTIONS='{"a":1}')
    status, out, _ = one.call("env", index=1, env=one.launcher_env(OWN="launcher's", FOREIGN="1"))
    env = dict(line.split("=", 1) for line in out.splitlines())
    assert status == 0
    assert (env["OWN"], env["X"], env["IPU_JOB_WORKER_INDEX"]) == ("worker's", "default", "1")
    assert env["POPLAR_TARGET_OPTIONS"] == '{"a":1}'
    assert env["PATH"].endswith(f":{one.launcher.parent}")
    # mpirun and poprun tell each process its part.
    assert not {"FOREIGN", "IPU_JOB_HOSTS", "RANK"} & env.keys() and not any(name.startswith("POPDIST_") for name in env)


def test_no_input_output_or_signal_state_of_the_agent_is_inherited(worker):
    status, out, err = worker.call("ls -l /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status")
    assert (status, err) == (0, "")
    assert out.split()[0] == "5"  # three streams, the directory that ls reads, and a heading
    assert all(int(word, 16) == 0 for word in out.split()[2::2])


@pytest.mark.parametrize(
    "words, env, output",
    [
        (["remote"], {}, "remote requires a worker and a command: ipu-launch remote WORKER COMMAND..."),
        (["remote", "job-worker-0"], {}, "remote requires a worker and a command: ipu-launch remote WORKER COMMAND..."),
        (["remote", "-x", "job-worker-0", "true"], {}, "remote requires a worker and a command: ipu-launch remote WORKER COMMAND..."),
        (["remote", "elsewhere", "true"], {}, 'unknown worker "elsewhere"; see IPU_JOB_HOSTS'),
        (["remote", "job-worker-0", "true"], {"IPU_JOB_HOSTS": ""},
         "not a launcher pod: IPU_JOB_HOSTS is not set; workers are reached from their job's launcher only"),
        (["remote", "job-worker-0", "true"], {"IPU_JOB_HOSTS": "job-worker-0"},
         'IPU_JOB_HOSTS: expected name=address:port, got "job-worker-0"'),
        (["remote", "job-worker-0", "true"], {"IPU_JOB_UID": "", "IPU_JOB_ATTEMPT": "x"},
         "job identity missing: IPU_JOB_UID and IPU_JOB_ATTEMPT must be set by the operator"),
        (["remote", "job-worker-0", "true"], {"IPU_JOB_KEYS_DIR": "/nowhere"},
         "cannot read the key /nowhere/0, which is mounted by the operator: No such file or directory"),
        (["remote", "job-worker-0", *(["x" * 60000] * 3)], {},
         "the command is longer than 131071 bytes; pass long arguments in a file"),
        (["agent", "--fast"], {}, "agent takes no options; put the command after --: ipu-launch agent -- COMMAND [ARG]..."),
        (["agent-ready", "x"], {}, "agent-ready takes no arguments"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_reported_in_one_line(job, call, words, env, output):
    done = call(*words, env=job().launcher_env(**env))
    assert (done.returncode, done.stdout, done.stderr) == (125, "", f"ipu-launch: {output}\n")


def test_ipv6(job):
    one = job()
    one.start_agent(IPU_JOB_ADDRESS="::1", IPU_JOB_AGENT_PORT=str(20000 + os.getpid() % 10000))
    env = one.launcher_env(IPU_JOB_HOSTS=f"job-worker-0=[::1]:{20000 + os.getpid() % 10000}")
    assert one.call("echo $IPU_JOB_ADDRESS", env=env) == (0, "::1\n", "")
