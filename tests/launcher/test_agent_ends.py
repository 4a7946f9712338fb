"""How remote commands and agents end, whichever ends first: nothing is left running on either side."""

import os
import signal
import sys

import pytest

from agents import ATTEMPT, descendants, kill, marked, sleeper
from processes import children
from waiting import DEADLINE_S, until

# A command of three: one in its group, one that has left group and session, and itself.
TREE = "{a} & setsid sh -c '{b}' & echo up; exec {c}"


@pytest.fixture
def tree(tmp_path):
    """(shell line, function that gives how many of its processes run)"""
    marks = [f"{tmp_path.name}-{os.getpid()}-{letter}" for letter in "abc"]
    code = "import signal as s; s.pause()"
    one = [f'{sys.executable} -IS -c "{code}" {mark}' for mark in marks]
    return TREE.format(a=one[0], b=one[1], c=one[2]), lambda: sum(len(marked(mark)) for mark in marks)


def without_itself(line):
    """The same command, which ends at once."""
    return line.split("; exec ")[0]


def begin(one, line, **options):
    client = one.remote(line, **options)
    assert client.stdout.readline() == b"up\n"
    return client


@pytest.mark.parametrize("mode", ["child", "init"])
def test_a_client_that_is_killed_takes_all_with_it(job, tree, mode):
    line, running = tree
    one = job()
    one.start_agent(mode=mode)
    client = begin(one, line)
    until(lambda: running() == 3, "the whole tree")
    client.kill()
    until(lambda: running() == 0, "the end of the whole tree")
    until(lambda: not descendants(one.agent_pid()), "the end of its session")
    assert one.call("echo next")[1] == "next\n"


def test_what_ignores_sigterm_is_killed(job, tmp_path):
    one = job()
    one.start_agent()
    mark = f"{tmp_path.name}-{os.getpid()}"
    client = begin(one, f"trap '' TERM; echo up; {sleeper(mark)}")
    until(lambda: marked(mark), "the command")
    client.kill()
    until(lambda: not marked(mark), "its end")


@pytest.mark.parametrize("mode", ["child", "init"])
def test_a_worker_that_dies_ends_its_client_and_its_commands(job, tree, mode):
    line, running = tree
    one = job()
    one.start_agent(mode=mode)
    client = begin(one, line)
    until(lambda: running() == 3, "the whole tree")
    kill(one.agent_pid())
    assert client.wait(DEADLINE_S) == 255
    output = client.stderr.read().decode()
    assert output.startswith("ipu-launch: worker job-worker-0 is lost: ") and output.count("\n") == 1
    until(lambda: running() == 0, "the end of the whole tree")


def test_a_keeper_that_is_killed_leaves_nothing(job, tree):
    line, running = tree
    one = job()
    one.start_agent()
    client = begin(one, line)
    until(lambda: running() == 3, "the whole tree")
    kill(next(iter(children(one.agent_pid()))))
    assert client.wait(DEADLINE_S) == 255
    until(lambda: running() == 0, "the end of the whole tree")
    assert one.call("echo next")[1] == "next\n"


def test_a_silent_link_ends_both_sides(job, tmp_path):
    """Nothing is closed, nothing comes any more: as when a node or the network between is gone."""
    one = job(workers=2).start_all()
    marks = [f"{tmp_path.name}-{os.getpid()}-{i}" for i in range(2)]
    clients = [begin(one, f"echo up; {sleeper(mark)}", index=i) for i, mark in enumerate(marks)]
    until(lambda: all(marked(mark) for mark in marks), "both commands")
    clients[0].send_signal(signal.SIGSTOP)
    session = next(iter(children(one.agent_pid(1))))
    kill(session, signal.SIGSTOP)
    assert clients[1].wait(120) == 255
    assert clients[1].stderr.read() == b"ipu-launch: worker job-worker-1 is lost: no data received for 15 s\n"
    until(lambda: not marked(marks[0]), "the end of the command whose client is silent")
    kill(session, signal.SIGCONT)
    until(lambda: not marked(marks[1]), "the end of the other command")
    clients[0].send_signal(signal.SIGCONT)
    assert clients[0].wait(DEADLINE_S) == 255


def test_what_the_command_leaves_behind_lives_on_until_the_worker_ends(job, tree):
    line, running = tree
    one = job()
    one.start_agent()
    client = one.remote(without_itself(line))
    assert (client.stdout.readline(), client.wait(DEADLINE_S)) == (b"up\n", 0)
    until(lambda: running() == 2, "the two that it has left")
    assert one.stop_agent() == (0, "")
    assert running() == 0


@pytest.mark.parametrize("mode", ["child", "init"])
def test_sigterm_is_forwarded_to_all_processes_and_waited_for(job, mode):
    one = job()
    one.start_agent(mode=mode)
    saves = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.write(1, b"up\\n")
signal.sigwait([signal.SIGTERM])
os.write(1, b"saving\\n")
os.read(0, 1)
os.write(1, b"saved\\n")
"""
    client = begin(one, f"exec {sys.executable} -IS -c '{saves}'")
    os.kill(one.agent_pid(), signal.SIGTERM)
    assert client.stdout.readline() == b"saving\n"
    assert one.agents[0].poll() is None
    client.stdin.write(b"\n")
    client.stdin.flush()
    assert client.stdout.read() == b"saved\n"
    assert (client.wait(DEADLINE_S), one.agents[0].wait(DEADLINE_S)) == (0, 0)


def test_a_newer_attempt_ends_all_of_the_older(job, tree):
    line, running = tree
    one = job()
    one.start_agent()
    older = begin(one, line)
    daemons = one.remote(without_itself(line))
    assert daemons.wait(DEADLINE_S) == 0
    until(lambda: running() == 5, "two trees, of the second all but itself")
    newer = one.launcher_env(IPU_JOB_ATTEMPT=str(ATTEMPT + 1))
    # When the newer command runs, nothing of the older one does.
    status, out, _ = one.call("ps -eo args", env=newer)
    assert status == 0 and not any(line.split()[-1].endswith(("-a", "-b", "-c")) and "s.pause" in line
                                   and f"-{os.getpid()}-" in line for line in out.splitlines())  # fmt: skip
    assert running() == 0
    assert older.wait(DEADLINE_S) == 255
    status, _, err = one.call("true")
    assert status == 255 and "belongs to another job or an earlier attempt" in err


def test_the_workers_own_command_runs_beside(job):
    one = job()
    agent = one.start_agent(0, "sh", "-c", "echo beside $POPDIST_NUM_TOTAL_REPLICAS; exit 3", IPU_JOB_REPLICAS_PER_WORKER="1")
    assert agent.stdout.readline() == "beside 1\n"
    output = "ipu-launch: agent: worker command exited with status 3; the agent keeps running for the launcher\n"
    assert agent.stderr.readline() == output
    assert one.call("echo $POPDIST_NUM_TOTAL_REPLICAS.")[1] == ".\n"
    assert one.stop_agent() == (0, "")


def test_the_workers_own_command_is_terminated(job):
    one = job()
    waits = "import os, signal as s; s.pthread_sigmask(0, {15}); os.write(1, b'up\\n'); s.sigwait({15}); os._exit(9)"
    agent = one.start_agent(0, sys.executable, "-IS", "-c", waits)
    assert agent.stdout.readline() == "up\n"
    assert one.stop_agent() == (9, "")


def test_the_workers_own_command_that_cannot_start(job):
    one = job()
    agent = one.start_agent(0, "no-such-program")
    assert 'cannot run "no-such-program": no such program' in agent.stderr.readline()
    assert "exited with status 127; the agent keeps running" in agent.stderr.readline()
    assert one.call("echo still")[1] == "still\n"


def test_orphans_are_reaped(job):
    one = job()
    one.start_agent()
    assert one.call("setsid sh -c 'true & true &' </dev/null >/dev/null 2>&1 &")[0] == 0
    until(lambda: not descendants(one.agent_pid()), "an agent with no child at all")
