"""A terminal on stdin: the command is in its foreground, and keys work as they would without the launcher."""

import fcntl
import os
import pty
import signal
import struct
import termios

import pytest

from processes import Launch, only_child, python, stat
from waiting import DEADLINE_S, until


class Terminal:
    """A terminal whose session begins with the process that is started at it."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        self._seen = b""

    def options(self):
        """For Popen: a new session with this as its controlling terminal."""
        theirs = self.theirs

        def prepare():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        return {"stdin": theirs, "stdout": theirs, "stderr": theirs, "preexec_fn": prepare}

    def type(self, keys):
        os.write(self.ours, keys)

    def await_text(self, text):
        """Reads until this has been printed; pytest's time-out ends a test that waits in vain."""
        while text not in self._seen:
            self._seen += os.read(self.ours, 4096)
        self._seen = self._seen.split(text, 1)[1]

    def foreground(self):
        return os.tcgetpgrp(self.ours)

    def close(self):
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def terminal():
    one = Terminal()
    yield one
    one.close()


@pytest.fixture
def at_terminal(terminal, launcher):
    """Starts a program at the terminal; the launcher by default."""
    started = []

    def begin(*words, program=None):
        launch = Launch(program or launcher, "child", *words, **terminal.options())
        started.append(launch)
        return launch

    yield begin
    for launch in started:
        launch.destroy()


def test_the_command_is_in_the_foreground(at_terminal, terminal):
    code = "import os; print('front', os.isatty(0), os.isatty(1), os.tcgetpgrp(0) == os.getpgrp()); input(); print('read')"
    launch = at_terminal("run", "--", *python(code))
    terminal.await_text(b"front True True True")
    terminal.type(b"\n")
    terminal.await_text(b"read")
    assert launch.process.wait(DEADLINE_S) == 0


def test_the_interrupt_key_reaches_the_command(at_terminal, terminal):
    code = (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [2]); print('ready');"
        "print('got', signal.sigwait([2]).name, signal.sigpending())"
    )
    launch = at_terminal("run", "--", *python(code))
    terminal.await_text(b"ready")
    terminal.type(b"\x03")
    terminal.await_text(b"got SIGINT set()")
    assert launch.process.wait(DEADLINE_S) == 0


def test_an_interrupted_command_ends_with_130(at_terminal, terminal):
    launch = at_terminal("run", "--", "sh", "-c", "echo ready; exec cat")
    terminal.await_text(b"ready")
    terminal.type(b"\x03")
    assert launch.process.wait(DEADLINE_S) == 128 + signal.SIGINT


def test_a_new_window_size_reaches_the_command(at_terminal, terminal):
    code = (
        "import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH]);"
        "print('ready'); signal.sigwait([signal.SIGWINCH]); print(os.get_terminal_size(0))"
    )
    launch = at_terminal("run", "--", *python(code))
    terminal.await_text(b"ready")
    fcntl.ioctl(terminal.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    terminal.await_text(b"columns=77, lines=33")
    assert launch.process.wait(DEADLINE_S) == 0


def test_a_hung_up_terminal_ends_the_command(launcher):
    terminal = Terminal()
    launch = Launch(launcher, "child", "run", "--", "sh", "-c", "echo ready; exec sleep 1000", **terminal.options())
    terminal.await_text(b"ready")
    terminal.close()
    assert launch.process.wait(DEADLINE_S) == 128 + signal.SIGHUP


def test_the_stop_key_does_not_hang_without_job_control(at_terminal, terminal):
    """The launcher leads its session, as in a container: a stopped command would be stopped forever."""
    launch = at_terminal("run", "--", *python("print('ready'); print('read ' + input())"))
    terminal.await_text(b"ready")
    terminal.type(b"\x1a")
    terminal.await_text(b"^Z")
    terminal.type(b"on\n")
    terminal.await_text(b"read on")
    assert launch.process.wait(DEADLINE_S) == 0


def test_job_control_of_a_shell(at_terminal, terminal, launcher):
    shell = at_terminal("--norc", "--noediting", "-i", program="/bin/bash")

    def type_line(line):
        """At the prompt: what comes before it may be lost when the shell changes the terminal's mode."""
        terminal.await_text(b"prompt-2 ")
        terminal.type(line + b"\n")

    terminal.type(b"PS1='prompt-$((1+1)) '; set -b\n")
    type_line(f"{launcher} run -- sh -c 'echo ready-$((1+1)); exec cat'".encode())
    terminal.await_text(b"ready-2")
    launch = only_child(shell.pid)
    command = only_child(launch)
    terminal.type(b"\x1a")
    terminal.await_text(b"Stopped")
    assert stat(launch)[0] == "T" and stat(command)[0] == "T"
    type_line(b"fg")
    until(lambda: terminal.foreground() == command, "the command to be in front again")
    terminal.type(b"again\n")
    terminal.await_text(b"again\r\nagain")
    terminal.type(b"\x1a")
    terminal.await_text(b"Stopped")
    type_line(b"bg")
    terminal.await_text(b"Stopped")  # since cat reads; told before the prompt or after it
    terminal.type(b"\n")
    type_line(b"kill -TERM %1")
    terminal.await_text(b"Exit 143")
    assert terminal.foreground() == shell.pid


def test_a_script_gets_its_terminal_back(at_terminal, terminal, launcher):
    script = f"{launcher} run -- true; {launcher} run -- no-such-program; read x; echo got $x"
    shell = at_terminal("-c", script, program="/bin/sh")
    terminal.await_text(b"no such program")
    terminal.type(b"line\n")
    terminal.await_text(b"got line")
    assert shell.process.wait(DEADLINE_S) == 0
