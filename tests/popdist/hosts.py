"""Hosts on this machine: network and host name of their own, joined by a bridge that nobody else can reach."""

import os
import subprocess

import runs

AGENT = """\
#!/bin/sh
# What mpirun calls in place of ssh: AGENT HOST COMMAND...
pid=$(cat "{folder}/$1") || exit 1
shift
exec nsenter --target "$pid" --net --uts -- /bin/sh -c "$*"
"""


def do(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S)
    assert done.returncode == 0, f"{words}: {done.stderr}"


class Hosts:
    """host0, host1, ...; host0 has the bridge."""

    def __init__(self, folder, count):
        self.folder = folder
        self.names = [f"host{number}" for number in range(count)]
        self._processes = []
        self.agent = folder / "agent"
        self.agent.write_text(AGENT.format(folder=folder))
        self.agent.chmod(0o755)

    def __enter__(self):
        for name in self.names:
            # A process keeps the namespaces; it says so when they are there.
            process = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
            self._processes.append(process)
            process.stdout.readline()
            (self.folder / name).write_text(str(process.pid))
            self.inside(name, "hostname", name)
            self.inside(name, "ip", "link", "set", "lo", "up")
        self.inside("host0", "ip", "link", "add", "bridge", "type", "bridge")
        self.inside("host0", "ip", "link", "set", "bridge", "up")
        self.inside("host0", "ip", "address", "add", "10.123.0.1/24", "dev", "bridge")
        for number, name in enumerate(self.names[1:], 2):
            self.inside("host0", "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", self.pid(name))
            self.inside("host0", "ip", "link", "set", name, "master", "bridge", "up")
            self.inside(name, "ip", "address", "add", f"10.123.0.{number}/24", "dev", "eth0")
            self.inside(name, "ip", "link", "set", "eth0", "up")
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.kill()
            process.wait()
            process.stdout.close()

    def pid(self, name):
        return (self.folder / name).read_text()

    def enter(self, name):
        return ["nsenter", "--target", self.pid(name), "--net", "--uts", "--"]

    def inside(self, name, *words):
        do(*self.enter(name), *words)

    def mpirun(self, words, expect=0, per_host=1, **variables):
        """One instance after the other, per_host on each host; run from the first."""
        count = len(self.names) * per_host
        command = [*self.enter("host0"), "mpirun", "--allow-run-as-root", "--bind-to", "none",
                   "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "self,vader,tcp",
                   "--mca", "oob_tcp_if_include", "10.123.0.0/24", "--mca", "btl_tcp_if_include", "10.123.0.0/24"]  # fmt: skip
        for index in range(count):
            given = variables | {"POPDIST_NUM_TOTAL_REPLICAS": count, "POPDIST_REPLICA_INDEX_OFFSET": index,
                                 "POPDIST_LOCAL_INSTANCE_INDEX": index % per_host}  # fmt: skip
            exports = [word for name, value in given.items() for word in ("-x", f"{name}={value}")]
            host = self.names[index // per_host]
            command += [":"] * (index > 0) + ["-np", "1", "--host", f"{host}:{per_host}", *exports, *map(str, words)]
        done = subprocess.run(command, env=runs.clean_environment(), capture_output=True, text=True, check=False,
                              timeout=runs.DEADLINE_S, cwd=os.sep)  # fmt: skip
        assert done.returncode == expect, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout
