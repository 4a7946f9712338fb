"""What the tests of the Kubernetes client share. BUILD_DIR names the build whose kube_probe is used (build/dev)."""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))

import workers  # noqa: E402
from guard import Guard  # noqa: E402
from probe import Probe  # noqa: E402
from scripted import ScriptedServer, kubeconfig_for  # noqa: E402

CLUSTER = ROOT / "deploy" / "cluster"
NAME = workers.cluster_name("kube-component")
numbers = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """One worker has a real API server for these tests."""
    for item in items:
        if HERE in item.path.parents and "cluster" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("kube-cluster"))


@pytest.fixture(scope="session")
def program():
    path = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "tests/component/kube/kube_probe"
    assert path.is_file(), f"{path} is missing: build the target kube_probe, or set BUILD_DIR"
    return path


@pytest.fixture
def server():
    """An API server that does what the test tells it to."""
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture
def probe_of(program, tmp_path):
    """Starts kube_probe against a server; everything is gone after the test."""
    started = []

    def start(where, *words):
        kubeconfig = where if isinstance(where, str) else kubeconfig_for(where, tmp_path)
        started.append(Probe(program, kubeconfig, words))
        return started[-1]

    yield start
    for probe in started:
        probe.kill()


class Cluster:
    """A real control plane, and kubectl for it."""

    def __init__(self, kubeconfig, kubectl):
        self.kubeconfig = kubeconfig
        self._kubectl = kubectl

    def kubectl(self, *args, stdin=None, check=True):
        done = subprocess.run(
            [self._kubectl, "--kubeconfig", self.kubeconfig, *args],
            input=stdin, capture_output=True, text=True, timeout=300,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def restart_api_server(self):
        """Kills it, as a crash would, and brings it back with its data."""
        folder = Path(self.kubeconfig).parent
        mark = f"IPU_OPERATOR_LOCAL_CLUSTER={folder}\0".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = mark in (process / "environ").read_bytes()
                name = (process / "comm").read_text().strip()
            except OSError:
                continue  # it has ended
            if is_ours and name == "kube-apiserver":
                os.kill(int(process.name), signal.SIGKILL)
        say("up", "--no-node", "--name", NAME)


def say(*words):
    return subprocess.run(
        [CLUSTER, *words], check=True, stdout=subprocess.PIPE, text=True, timeout=1800
    ).stdout.strip()


@pytest.fixture(scope="session")
def cluster():
    guard = Guard(CLUSTER, "down", "--name", NAME)
    say("down", "--name", NAME)  # of a run that was killed
    say("up", "--no-node", "--name", NAME)
    yield Cluster(say("kubeconfig", "--name", NAME), Path(say("bin")) / "kubectl")
    say("down", "--name", NAME)
    guard.release()


@pytest.fixture
def namespace(cluster, request):
    # A test that is run again has another one: the first may still be terminating.
    name = f"t{next(numbers)}-" + request.node.name.replace("_", "-")[:50].strip("-").lower()
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")
