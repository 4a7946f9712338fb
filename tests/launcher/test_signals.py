"""Signals reach the command's process group; the command starts with the signal state that the launcher got."""

import os
import signal

import pytest

from processes import is_running, python, stat
from waiting import DEADLINE_S, until

# Prints the name of every signal it gets, in two processes of one group, and ends at the end of stdin. Through a wake-up
# descriptor, since a Python handler would wait for a blocking read that began just after the signal.
ECHO = """
import os, select, signal
os.fork()
woken, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, lambda number, frame: None)
os.write(1, b"%d ready\\n" % os.getpid())
while True:
    ready, _, _ = select.select([0, woken], [], [])
    if woken in ready:
        for number in os.read(woken, 4096):
            os.write(1, f"{os.getpid()} {signal.Signals(number).name}\\n".encode())
    elif not os.read(0, 4096):
        break
"""

FORWARDED = ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "WINCH", "CONT", "TSTP", "ALRM", "ABRT", "SEGV", "RTMIN"]


@pytest.mark.parametrize("name", FORWARDED)
def test_a_signal_reaches_the_whole_group(start, name):
    launch = start(*python(ECHO))
    pids = {launch.line().split()[0], launch.line().split()[0]}
    launch.signal(getattr(signal, f"SIG{name}"))
    wanted = {f"{pid} SIG{name}" for pid in pids}
    while wanted:
        line = launch.line()
        # SIGTERM is followed by SIGCONT, so that a stopped process acts on it.
        assert line in wanted or (name == "TERM" and line.endswith(" SIGCONT")), line
        wanted.discard(line)
    status, _, err = launch.end()
    assert (status, err) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_command_dies_of_its_signal(start, number):
    launch = start("sh", "-c", "echo ready; exec cat")
    assert launch.line() == "ready"
    launch.signal(number)
    assert launch.process.wait(DEADLINE_S) == 128 + number


MASKS = ["Blk", "Ign", "Cgt"]


def signal_masks(text):
    return {line.split()[0]: int(line.split()[1], 16) for line in text.splitlines() if line[3:6] in MASKS}


def test_the_command_starts_with_no_signal_touched(start):
    status, out, _ = start("cat", "/proc/self/status").end()
    masks = signal_masks(out)
    assert (status, masks["SigBlk:"], masks["SigIgn:"], masks["SigCgt:"]) == (0, 0, 0, 0)


def test_inherited_signal_state_is_handed_on(start):
    def prepare():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    # The shell between them would reset SIGCHLD, so the exit status is the launcher's own achievement.
    status, out, _ = start("cat", "/proc/self/status", preexec_fn=prepare).end()
    masks = signal_masks(out)
    bit = {name: 1 << (name - 1) for name in signal.Signals}
    assert status == 0
    assert masks["SigIgn:"] & bit[signal.SIGHUP]
    assert masks["SigBlk:"] == bit[signal.SIGUSR2]


def test_an_ignored_sigchld_does_not_lose_the_status(call):
    done = call("run", "--", "sh", "-c", "exit 7", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 7


def test_a_stopped_command_continues(start):
    # With exec: a shell that starts cat by vfork() cannot stop while the new process is stopped before its execve().
    launch = start("sh", "-c", "echo ready; exec cat")
    launch.line()
    command = launch.command()
    launch.signal(signal.SIGTSTP)
    until(lambda: stat(command)[0] == "T", "the command to stop")
    assert stat(launch.pid)[0] != "T"
    launch.signal(signal.SIGCONT)
    until(lambda: stat(command)[0] != "T", "the command to go on")
    launch.process.stdin.write(b"still here\n")
    assert launch.end() == (0, "still here\n", "")


def test_a_stopped_command_can_be_ended(start):
    launch = start("sh", "-c", "echo ready; exec cat")
    launch.line()
    command = launch.command()
    launch.signal(signal.SIGSTOP if launch.pid == launch.process.pid else signal.SIGTSTP)
    os.kill(command, signal.SIGSTOP)
    until(lambda: stat(command)[0] == "T", "the command to stop")
    launch.signal(signal.SIGCONT)
    until(lambda: stat(command)[0] != "T", "the command to go on")
    os.kill(command, signal.SIGSTOP)
    until(lambda: stat(command)[0] == "T", "the command to stop")
    launch.signal(signal.SIGTERM)
    assert launch.process.wait(DEADLINE_S) == 128 + signal.SIGTERM
    assert not is_running(command)


def test_many_signals_at_once_are_survived(start):
    launch = start(*python(ECHO))
    launch.line(), launch.line()
    for _ in range(200):
        for number in [signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT]:
            launch.signal(number)
    launch.signal(signal.SIGHUP)
    seen = set()
    while len(seen) < 2:
        line = launch.line()
        seen.update({line} if line.endswith("SIGHUP") else ())
    assert launch.end()[0] == 0
