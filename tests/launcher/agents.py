"""A job's workers as processes on loopback, each with an agent, and its launcher."""

import os
import subprocess
import sys

import processes
from waiting import DEADLINE_S, until

ATTEMPT = 3
JOB = "0d8b5d8e-4b5a-4c3e-9d63-1a2b3c4d5e6f"
PORT = 2222
# What every process gets: nothing of the tests' own environment but where programs are.
CLEAN = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}


def address(index):
    """Of worker `index`: unique on this machine, so that a fixed port works."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 8 & 0x3F)}.{pid & 0xFF}.{index + 1}"


def descendants(top):
    """Pids below `top`, zombies too."""
    parents = {}
    for name in os.listdir("/proc"):
        got = processes.stat(name) if name.isdigit() else None
        if got:
            parents[int(name)] = got[1]
    found, more = set(), {top}
    while more:
        found |= more
        more = {pid for pid, parent in parents.items() if parent in found} - found
    return found - {top}


class Job:
    """Keys and addresses of some workers; agents are started one by one."""

    def __init__(self, launcher, folder, workers=2, slots=1):
        self.launcher, self.folder, self.slots = launcher, folder, slots
        self.names = [f"job-worker-{i}" for i in range(workers)]
        self.agents, self._started = {}, []
        (folder / "keys").mkdir()
        for i in range(workers):
            (folder / "keys" / str(i)).write_bytes(os.urandom(32))
            (folder / f"tmp-{i}").mkdir()

    def worker_env(self, index, **more):
        # A /tmp for each, as pods have: Open MPI's daemons clear theirs away.
        return {
            **CLEAN, "IPU_JOB_UID": JOB, "IPU_JOB_ATTEMPT": str(ATTEMPT), "IPU_JOB_WORKERS": str(len(self.names)),
            "IPU_JOB_WORKER_INDEX": str(index), "IPU_JOB_IPUS_PER_INSTANCE": str(len(self.names)),
            "IPU_JOB_AGENT_PORT": str(PORT), "IPU_JOB_ADDRESS": address(index),
            "IPU_JOB_KEY_FILE": str(self.folder / "keys" / str(index)), "TMPDIR": str(self.folder / f"tmp-{index}"), **more,
        }  # fmt: skip

    def launcher_env(self, **more):
        hosts = ",".join(f"{name}={address(i)}:{PORT}" for i, name in enumerate(self.names))
        return {
            **CLEAN, "IPU_JOB_UID": JOB, "IPU_JOB_ATTEMPT": str(ATTEMPT), "IPU_JOB_HOSTS": hosts,
            "IPU_JOB_SLOTS": str(self.slots), "IPU_JOB_KEYS_DIR": str(self.folder / "keys"), "TMPDIR": str(self.folder), **more,
        }  # fmt: skip

    def start_agent(self, index=0, *command, mode="child", within=(), **env):
        words = [*within, str(self.launcher), "agent", *(("--", *command) if command else ())]
        self.agents[index] = subprocess.Popen(
            processes.as_init(words) if mode == "init" else words, env=self.worker_env(index, **env),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self._started.append(self.agents[index])
        return self.agents[index]

    def start_all(self):
        for i in range(len(self.names)):
            self.start_agent(i)
        return self

    def agent_pid(self, index=0):
        """The agent's own pid, in our namespace, as soon as it listens."""
        started = self.agents[index]
        self.ready(index)
        below = processes.children(started.pid)
        return started.pid if not is_unshare(started.pid) else next(iter(below))

    def ready(self, index=0):
        env = self.worker_env(index)
        until(
            lambda: subprocess.run([self.launcher, "agent-ready"], env=env, capture_output=True).returncode == 0,
            f"the agent of worker {index}")  # fmt: skip

    def remote(self, *words, index=0, env=None, **popen):
        """A running `ipu-launch remote`; all its streams are pipes unless told otherwise."""
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
        client = subprocess.Popen([str(self.launcher), "remote", self.names[index], *words],
                                  env=env or self.launcher_env(), **options)  # fmt: skip
        self._started.append(client)
        return client

    def call(self, *words, input=b"", timeout=DEADLINE_S, **options):
        """(exit status, standard output, standard error) of a remote command."""
        client = self.remote(*words, **options)
        out, err = client.communicate(input, timeout=timeout)
        return client.returncode, out.decode(), err.decode()

    def run(self, *words, timeout=DEADLINE_S, within=(), text=True, **env):
        """`ipu-launch run -- WORDS` in the launcher pod, to its end; `within` is a command that runs it."""
        return subprocess.run([*within, str(self.launcher), "run", "--", *words], env=self.launcher_env(**env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=text, timeout=timeout)  # fmt: skip

    def start_run(self, *words, mode="child", **env):
        words = [str(self.launcher), "run", "--", *words]
        launch = subprocess.Popen(processes.as_init(words) if mode == "init" else words, env=self.launcher_env(**env),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        self._started.append(launch)
        return launch

    def stop_agent(self, index=0):
        """(exit status, standard error) after SIGTERM."""
        os.kill(self.agent_pid(index), 15)
        _, err = self.agents[index].communicate(timeout=DEADLINE_S)
        return self.agents[index].returncode, err

    def destroy(self):
        for started in self._started:
            for pid in descendants(started.pid) if started.poll() is None else ():
                kill(pid)
            if started.poll() is None:
                started.kill()
            for stream in (started.stdin, started.stdout, started.stderr):
                if stream:
                    stream.close()
            started.wait()


def is_unshare(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip() == "unshare"


def kill(pid, number=9):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def marked(mark):
    """Pids of running processes that have this word in their environment or command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and processes.is_running(name):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
    return found


def sleeper(mark):
    """A shell line that becomes a process which `marked(mark)` finds, and which ends by signals only."""
    code = "import signal; signal.pause()"
    return f"exec {sys.executable} -IS -c '{code}' {mark}"
