"""What the benchmarks share: building, programs as processes, and numbers about them."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/lib"))

from guard import Guard  # noqa: E402

BUILD = TOP / os.environ.get("BUILD_DIR", "build/release")
DEADLINE_S = 600  # of a machine that is as busy as a benchmark can make it


def say(text=""):
    print(text, flush=True)


def run_quietly(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def cluster(name):
    """A control plane without a node; its kubeconfig. It is taken down however this process ends."""
    say("starting an API server (usually 10 seconds, some minutes the first time)")
    guard = Guard(TOP / "deploy/cluster", "down", "--name", name)
    try:
        run_quietly(TOP / "deploy/cluster", "up", "--no-node", "--name", name)
        yield run_quietly(TOP / "deploy/cluster", "kubeconfig", "--name", name).strip()
    finally:
        run_quietly(TOP / "deploy/cluster", "down", "--name", name)
        guard.release()


def build(*targets):
    say("building (usually seconds, 1-2 minutes the first time)")
    if not (BUILD / "build.ninja").exists():
        run_quietly("cmake", "--preset", "release", "-B", BUILD, cwd=TOP)
    run_quietly("cmake", "--build", BUILD, "--target", *targets)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_ticks(pid):
    """What a process has used of processors so far, in ticks of the clock (SC_CLK_TCK)."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


class Program:
    def __init__(self, command, log):
        self.command = [str(word) for word in command]
        self.log = log

    def __enter__(self):
        self.out = open(self.log, "w")
        self.process = subprocess.Popen(self.command, stdout=self.out, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *exception):
        self.stop()
        self.out.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=DEADLINE_S)

    def await_line(self, pattern):
        """When the line was seen; the log is looked at every millisecond, which is as exact as it gets."""
        deadline = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.log.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{self.command[0]} did not say \"{pattern}\":\n{self.log.read_text()[-2000:]}")
            time.sleep(0.001)
        return time.monotonic()

    def await_value(self, pattern):
        """The first group of the pattern in the log."""
        self.await_line(pattern)
        return re.search(pattern, self.log.read_text())[1]

    def cpu_ticks(self):
        return cpu_ticks(self.process.pid)

    def resident_kib(self):
        return self.memory_kib()[0]

    def memory_kib(self):
        """What is resident now, and the most that ever was."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return tuple(int(re.search(rf"{key}:\s+(\d+)", status)[1]) for key in ("VmRSS", "VmHWM"))
