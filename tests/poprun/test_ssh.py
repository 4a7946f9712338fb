"""Another host over the real ssh: a host of tests/lib/netns.py that has a server, keys in place, missing or unknown."""

import os
import pwd
import re
import signal
import subprocess
from pathlib import Path

import pytest

import calls
from lan import Lan

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can make network namespaces")

WORDS = ["--host=host[0-1]", "--host-subnet=10.123.0.0/24", "--num-replicas=2", "--num-instances=2"]


class Ssh:
    """What root's .ssh holds on either side. The server shows another key than a client may know."""

    def __init__(self, lan, folder):
        self.client, self.server = folder / "client", folder / "server"
        home = Path(pwd.getpwuid(0).pw_dir) / ".ssh"
        self._made = None if home.exists() else home
        home.mkdir(mode=0o700, exist_ok=True)
        for host, side in (("host0", self.client), ("host1", self.server)):
            side.mkdir(mode=0o700)
            lan.hosts.inside(host, "mount", "--bind", side, home)
        self._host_key = folder / "host-key"
        run("dropbearkey", "-t", "ed25519", "-f", self._host_key)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.client / "id_ed25519")
        self.process = subprocess.Popen([*lan.hosts.enter("host1"), "dropbear", "-F", "-E", "-r", self._host_key, "-P",
                                         folder / "pid"], stderr=subprocess.DEVNULL)  # fmt: skip
        calls.until((folder / "pid").exists, "the server listens")

    def end(self):
        self.process.terminate()
        self.process.wait(calls.DEADLINE_S)
        if self._made:
            self._made.rmdir()

    def know_the_host(self):
        key = re.search("^ssh-ed25519 .*", run("dropbearkey", "-y", "-f", self._host_key), flags=re.MULTILINE)[0]
        (self.client / "known_hosts").write_text(f"host1 {key}\n")

    def let_the_client_in(self):
        (self.server / "authorized_keys").write_text((self.client / "id_ed25519.pub").read_text())


def run(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True, timeout=calls.DEADLINE_S).stdout


@pytest.fixture(params=["Open MPI 4.1", "Open MPI 5"])
def lan(request, tmp_path):
    newer = request.param.endswith("5")
    with Lan(tmp_path, 2, open_mpi=request.getfixturevalue("open_mpi_5") if newer else "") as lan:
        lan.has_agent = False
        yield lan


@pytest.fixture
def ssh(lan, tmp_path):
    ssh = Ssh(lan, tmp_path)
    yield ssh
    ssh.end()


def first_error(lan):
    _, err = lan.offline(*WORDS, "true", expect=1)
    return re.sub(r"^[\d:.]+ \d+ POPRUN ", "", err.splitlines()[0])


def test_a_run_needs_both_keys(lan, ssh):
    """On record: ssh is never interactive, and its Host key verification failed and Permission denied are reported."""
    assert first_error(lan) == (
        "[E] host host1 cannot be reached: Host key verification failed; log in once with: ssh host1, which adds its key to ~/.ssh/known_hosts"
    )
    ssh.know_the_host()
    assert first_error(lan) == (
        "[E] host host1 cannot be reached: Permission denied; add your public key to its ~/.ssh/authorized_keys: ssh-copy-id host1"
    )
    ssh.let_the_client_in()
    out, _ = lan.offline(*WORDS, "sh", "-c", "echo $(hostname) ${POPDIST_EXECUTABLE_CACHE_PATH##*-}")
    assert calls.untag(out) == ["host0 0", "host1 1"]
    lan.assert_clean()


def test_nothing_is_left_over_ssh(lan, ssh):
    ssh.know_the_host()
    ssh.let_the_client_in()
    process = lan.start("--offline-mode=on", *WORDS, "sh", "-c", "echo ready; exec sleep 1000")
    assert all(process.stdout.readline().endswith("ready\n") for _ in range(2))
    calls.until(lambda: {"sleep", "poprun_numa_wra"} <= set(lan.hosts.programs("host1")), "instance and watchers run on host1")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=calls.DEADLINE_S)
    lan.assert_clean()
    calls.until(lambda: set(lan.hosts.programs("host1")) <= {"sh", "cat", "dropbear"}, "only the server runs on host1")
