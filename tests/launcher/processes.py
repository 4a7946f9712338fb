"""A running ipu-launch, and what /proc says about processes."""

import functools
import os
import signal
import subprocess
import sys

from waiting import DEADLINE_S, until



def stat(pid):
    """(state, parent's pid, group) or None when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1]), int(fields[2])


def children(parent):
    """{pid: state} of the processes whose parent it is."""
    found = {}
    for name in os.listdir("/proc"):
        got = stat(name) if name.isdigit() else None
        if got and got[1] == parent:
            found[int(name)] = got[0]
    return found


def only_child(parent):
    return until(lambda: next(iter(children(parent)), None), f"a child of {parent}")


def is_running(pid):
    got = stat(pid)
    return bool(got) and got[0] not in "ZX"


def as_init(words):
    """The command that runs these words as process 1 of a new PID namespace."""
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--pid", "--fork", "--mount-proc", "--kill-child", *words]


def python(code):
    """The command that runs a Python text, quickly started and with unbuffered output."""
    return [sys.executable, "-ISu", "-c", code]


class Launch:
    """ipu-launch started with these words, as a child or as process 1."""

    def __init__(self, launcher, mode, *words, **popen):
        command = [str(launcher), *words]
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
        self.process = subprocess.Popen(as_init(command) if mode == "init" else command, **options)
        self._is_init = mode == "init"

    @functools.cached_property
    def pid(self):
        """The launcher's own pid in our namespace; it must still run when this is asked for the first time."""
        return only_child(self.process.pid) if self._is_init else self.process.pid

    def line(self):
        """The next line of its standard output; pytest's time-out ends a test that waits in vain."""
        return self.process.stdout.readline().decode().rstrip("\n")

    def signal(self, number):
        os.kill(self.pid, number)

    def command(self):
        """The pid, in our namespace, of what it runs."""
        return only_child(self.pid)

    def end(self, timeout=DEADLINE_S):
        """(exit status, standard output, standard error), after stdin was closed."""
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, (out or b"").decode(), (err or b"").decode()

    def destroy(self):
        """Ends whatever is left: the launcher with its command's group, or the whole namespace."""
        if self.process.poll() is None:
            for pid in [] if self._is_init else children(self.process.pid):
                kill_group(pid)
            self.process.kill()
        for stream in [self.process.stdin, self.process.stdout, self.process.stderr]:
            if stream:
                stream.close()
        self.process.wait()


def kill_group(pid):
    """If the process leads a group: the command does, orphans may not."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
