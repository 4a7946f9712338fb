"""Hosts on this machine: each has its own network, host name and /etc/hosts, joined by a bridge that is isolated from other networks.
All of it is held by processes that end with this one, however it ends; then the kernel takes everything away.

host0 is where a test starts programs. The others also have their own processes, which all end with their host, and, for
the folders that a test names, contents of their own. An agent takes the place of ssh."""

import os
import subprocess
from pathlib import Path

DEADLINE_S = 300
SUBNET = "10.123.0.0/24"

# Process 1 of a host: it reaps, and ends when the test lets go of its input.
INIT = "exec 3<&0; cat <&3 >/dev/null & echo; wait"

AGENT = """\
#!/bin/sh
# What mpirun calls in place of ssh: AGENT HOST COMMAND... As with ssh, nothing of the caller's environment goes along.
pid=$(cat "{folder}/$1.pid") || exit 255
host=$1
shift
exec nsenter --target "$pid" --net --uts --mount --pid -- env -i PATH="$PATH" HOME="$HOME" HOST_NAME="$host" {variables} \\
    /bin/sh -c "$*"
"""


def do(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 0, f"{words}: {done.stderr}"


class Hosts:
    """host0, host1, ...; host0 has the bridge. `own` are folders of which each host but host0 has its own; `variables`
    are those that a log-in finds there."""

    def __init__(self, folder, count, own=(), **variables):
        self.folder = folder
        self.names = [f"host{number}" for number in range(count)]
        self._own = own
        self._processes = []
        self.agent = folder / "agent"
        words = " ".join(f'{name}="{value}"' for name, value in variables.items())
        self.agent.write_text(AGENT.format(folder=folder, variables=words))
        self.agent.chmod(0o755)
        (folder / "etc-hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{self.address(n)} {n}\n" for n in self.names))

    def address(self, name):
        return f"10.123.0.{self.names.index(name) + 1}"

    def __enter__(self):
        try:
            for name in self.names:
                self._start(name)
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.kill()
            process.communicate()

    def _start(self, name):
        kinds = ["--net", "--uts", "--mount"]
        if name != "host0":
            kinds += ["--pid", "--mount-proc", "--fork", "--kill-child"]
        process = subprocess.Popen(
            ["unshare", *kinds, "sh", "-c", INIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        self._processes.append(process)
        process.stdout.readline()
        pid = process.pid
        if name != "host0":
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                pid = int(file.read())
        (self.folder / f"{name}.pid").write_text(str(pid))
        self.inside(name, "hostname", name)
        self.inside(name, "ip", "link", "set", "lo", "up")
        self.inside(name, "mount", "--bind", self.folder / "etc-hosts", "/etc/hosts")
        for folder in self._own if name != "host0" else ():
            self.own(name, folder).mkdir(parents=True)
            self.inside(name, "mount", "--bind", self.own(name, folder), folder)

    def _connect(self):
        self.inside("host0", "ip", "link", "add", "bridge", "type", "bridge")
        self.inside("host0", "ip", "link", "set", "bridge", "up")
        self.inside("host0", "ip", "address", "add", f"{self.address('host0')}/24", "dev", "bridge")
        for name in self.names[1:]:
            self.inside("host0", "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", self.pid(name))
            self.inside("host0", "ip", "link", "set", name, "master", "bridge", "up")
            self.inside(name, "ip", "address", "add", f"{self.address(name)}/24", "dev", "eth0")
            self.inside(name, "ip", "link", "set", "eth0", "up")

    def own(self, name, folder):
        """Where a host's own contents of a folder can be seen from outside."""
        return folder if name == "host0" else self.folder / "own" / name / folder.relative_to("/")

    def pid(self, name):
        return (self.folder / f"{name}.pid").read_text()

    def programs(self, name):
        """The names of what runs on a host that has its own processes."""
        here, found = os.readlink(f"/proc/{self.pid(name)}/ns/pid"), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns" / "pid") == here:
                    found.append((entry / "comm").read_text().strip())
            except OSError:
                continue
        return found

    def enter(self, name):
        """The words before a command that make it run on that host; it is killed when this process ends."""
        kinds = ["--net", "--uts", "--mount"] + (["--pid"] if name != "host0" else [])
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", "--target", self.pid(name), *kinds, "--"]

    def inside(self, name, *words):
        do(*self.enter(name), *words)
