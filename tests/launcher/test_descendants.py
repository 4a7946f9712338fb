"""Orphans are reaped, and what outlives the command ends in good order."""

import os
import signal
import subprocess
import time

import pytest

from processes import children, python, stat
from waiting import DEADLINE_S, until

# Signals are blocked before a process reports that it is ready, and waited for: a Python handler would wait for a
# blocking call that began just after the signal.
TERM = "import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"

# A daemon as of old: forks twice, in a session of its own, and reports every SIGTERM.
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"daemon ready %d\\n" % os.getpid())
        while signal.sigwait([signal.SIGTERM]):
            os.write(1, b"daemon told\\n")
    os._exit(0)
os.wait()
"""


def zombies(parent):
    return [pid for pid, state in children(parent).items() if state == "Z"]


def test_orphans_are_reaped_while_the_command_runs(start):
    launch = start("sh", "-c", 'for i in $(seq 100); do (sh -c : & ); done; echo ready; cat')
    assert launch.line() == "ready"
    until(lambda: len(children(launch.pid)) == 1, "all orphans to be gone")
    assert zombies(launch.pid) == []
    assert launch.end()[0] == 0


def test_the_status_is_the_commands_and_no_orphans(start):
    assert start("sh", "-c", "(sh -c 'exit 9' &); (sh -c 'exit 8' &); exit 5").end()[0] == 5


@pytest.mark.parametrize("_", range(20))
def test_the_last_words_through_a_pipe_are_not_lost(start, _):
    """bash ends before the reader of its output: without patience the reader is killed with the words in hand."""
    assert start("bash", "-c", 'exec > >(cat); for i in $(seq 500); do echo $i; done; exit 3').end() == (
        3,
        "".join(f"{i}\n" for i in range(1, 501)),
        "",
    )


# The command ends as soon as what it leaves behind is ready.
LEFT = """
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(1, b"ready\\n")
    os.write(writing, b"x")
    {behind}
os.read(reading, 1)
os._exit({status})
"""


def test_remaining_processes_are_terminated(start):
    behind = 'signal.sigwait([signal.SIGTERM]); os.write(1, b"told\\n"); os._exit(0)'
    assert start(*python(TERM + LEFT.format(behind=behind, status=4))).end() == (4, "ready\ntold\n", "")


def test_what_ignores_that_is_killed(start):
    launch = start(*python(TERM + LEFT.format(behind="os.read(0, 1)", status=6)))
    assert launch.line() == "ready"
    assert launch.process.wait(DEADLINE_S) == 6
    # What was left behind holds the other end of this pipe as long as it lives.
    assert launch.process.stdout.read() == b""


def test_a_daemon_is_terminated_when_the_container_ends(start, mode):
    launch = start(*python(TERM + DAEMON + "os._exit(4)"))
    assert launch.process.wait(DEADLINE_S) == 4
    ready = launch.line()
    assert ready.startswith("daemon ready")
    if mode == "init":
        assert launch.line() == "daemon told"
    else:
        # Outside the command's group only process 1 can reach it; the runtime ends it.
        os.kill(int(ready.split()[2]), signal.SIGKILL)
    assert launch.process.stdout.read() == b""


# The command ends at SIGTERM; its child takes the time to save.
STUBBORN = """
if os.fork() == 0:
    os.write(1, b"ready\\n")
    signal.sigwait([signal.SIGTERM])
    os.write(1, b"told\\n")
    os.read(0, 1)
    if signal.SIGTERM in signal.sigpending():
        os.write(1, b"told again\\n")
    os.write(1, b"saved\\n")
    os._exit(0)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
{command}
"""


def test_after_sigterm_a_grandchild_that_ignores_it_gets_its_time(start):
    launch = start(*python(TERM + STUBBORN.format(command="signal.pause()")))
    assert launch.line() == "ready"
    launch.signal(signal.SIGTERM)
    assert launch.line() == "told"
    # Longer than any patience without SIGTERM. That nothing happens can only be seen by waiting.
    with pytest.raises(subprocess.TimeoutExpired):
        launch.process.wait(3.5)
    assert launch.end() == (128 + signal.SIGTERM, "saved\n", "")


LINGER_S = 0.5  # supervise.c's


def told_in_the_linger(start):
    """A launcher whose command has just ended by itself, and which got SIGTERM before it told what was left to end."""
    while True:
        launch = start(*python(TERM + STUBBORN.format(command="os.read(0, 1)\nos._exit(2)")))
        assert launch.line() == "ready"
        command = launch.command()
        begun = time.monotonic()
        launch.process.stdin.write(b"x")
        launch.process.stdin.flush()
        until(lambda: stat(command) is None, "the command to be reaped")
        launch.signal(signal.SIGTERM)
        if time.monotonic() - begun < LINGER_S:
            return launch
        launch.destroy()  # a busy machine: too late to tell anything


def test_sigterm_in_the_linger_gives_time_too(start):
    """The pod is deleted just after the command has ended by itself: no process is killed early or signalled twice."""
    launch = told_in_the_linger(start)
    assert launch.line() == "told"
    with pytest.raises(subprocess.TimeoutExpired):
        launch.process.wait(3)
    assert launch.end()[:2] == (2, "saved\n")


@pytest.mark.parametrize("mode", ["init"])  # only process 1 can name processes outside the command's group
def test_sigterm_reaches_every_process_once(start):
    """The group first; a daemon outside it when the group is gone; none twice."""
    launch = start(*python(TERM + DAEMON + STUBBORN.format(command="signal.pause()")))
    assert {launch.line().rstrip(" 0123456789") for _ in range(2)} == {"daemon ready", "ready"}
    launch.signal(signal.SIGTERM)
    assert launch.line() == "told"
    launch.process.stdin.close()
    assert launch.line() == "saved"
    assert launch.line() == "daemon told"
    launch.signal(signal.SIGTERM)
    os.kill(launch.command(), signal.SIGKILL)
    assert launch.process.wait(DEADLINE_S) == 128 + signal.SIGTERM
    assert launch.process.stdout.read() == b""


def test_hold_ends_at_sigterm(start):
    for number in [signal.SIGTERM, signal.SIGINT]:
        launch = start(verb="hold")
        until(lambda: waits(launch.pid), "hold to wait")
        launch.signal(signal.SIGUSR1)
        launch.signal(number)
        assert launch.end() == (0, "", "")


def waits(pid):
    """The launcher sleeps nowhere but where it takes signals."""
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read() == "ipu-launch\n" and stat(pid)[0] == "S"


@pytest.mark.parametrize("mode", ["init"])  # only process 1 is a foster parent of what others start
def test_hold_reaps_and_ends_what_shells_left(start):
    launch = start(verb="hold")
    until(lambda: waits(launch.pid), "hold to wait")
    enter = ["nsenter", "--target", str(launch.pid), "--pid", "--mount"]
    shell = python(TERM + DAEMON + "os.fork() == 0 and os._exit(0)\nos._exit(0)")
    with subprocess.Popen([*enter, *shell], stdout=subprocess.PIPE) as left:
        assert left.stdout.readline().startswith(b"daemon ready")
        until(lambda: len(children(launch.pid)) == 1, "the other orphan to be reaped")
        launch.signal(signal.SIGTERM)
        assert left.stdout.readline() == b"daemon told\n"
        assert launch.process.poll() is None
        os.kill(launch.command(), signal.SIGKILL)
        assert launch.end() == (0, "", "")
