"""What the tests of kubectl ipu share. BUILD_DIR names the build whose program is used (build/dev)."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent / "kube"))

import kube  # noqa: E402
import workers  # noqa: E402
from guard import Guard  # noqa: E402
from scripted import ScriptedServer, kubeconfig_for  # noqa: E402

NAME = workers.cluster_name("kubectl-component")
DEADLINE_S = 120
numbers = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """One worker has a real API server for these tests."""
    for item in items:
        if HERE in item.path.parents and "cluster" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("kubectl-cluster"))


@pytest.fixture(scope="session")
def program():
    path = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "kubectl" / "kubectl-ipu"
    assert path.is_file(), f"{path} is missing: build the target kubectl-ipu, or set BUILD_DIR"
    return path


@pytest.fixture
def ipu(program):
    """Runs kubectl ipu with a kubeconfig, and returns the finished process."""

    def run(kubeconfig, *words, stdin="", env=(), **options):
        defaults = {"input": stdin, "capture_output": True, "text": True, "errors": "surrogateescape"}
        return subprocess.run([program, *words], timeout=DEADLINE_S, **(defaults | options),
                              env={"PATH": os.environ["PATH"], "KUBECONFIG": str(kubeconfig), **dict(env)})

    return run


@pytest.fixture
def server(tmp_path):
    """An API server that does what the test tells it to, and its kubeconfig."""
    scripted = ScriptedServer()
    scripted.kubeconfig = kubeconfig_for(scripted, tmp_path)
    yield scripted
    scripted.close()


@pytest.fixture(scope="session")
def cluster():
    """kubectl for a real control plane that knows IPUJobs."""
    guard = Guard(kube.CLUSTER, "down", "--name", NAME)
    kube.cluster("down", "--name", NAME)  # of a run that was killed
    kube.cluster("up", "--no-node", "--name", NAME)
    kubectl = kube.Kubectl(Path(kube.cluster("bin")) / "kubectl", kube.cluster("kubeconfig", "--name", NAME))
    kubectl("apply", "--server-side", "-f", ROOT / "charts" / "ipu-operator" / "crds")
    kubectl("wait", "--for=condition=Established", "crd/ipujobs.graphcore.ai", "--timeout=60s")
    yield kubectl
    kube.cluster("down", "--name", NAME)
    guard.release()


@pytest.fixture
def namespace(cluster):
    """kubectl for a namespace of the test's own."""
    name = f"t{next(numbers)}"
    cluster("create", "namespace", name)
    yield cluster.within(name)
    cluster("delete", "namespace", name, "--wait=false")
