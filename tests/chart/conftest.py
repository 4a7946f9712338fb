"""What the chart tests share: the programs, and one API server for the tests that need a real one."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import renders

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "lib"), str(ROOT / "deploy" / "local")]
CHART = ROOT / "charts" / "ipu-operator"
CRD_FILE = CHART / "crds" / "ipujobs.graphcore.ai.yaml"
CLUSTER = ROOT / "deploy" / "cluster"
JUDGE = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "tests" / "chart" / "crd" / "job_judge"


@pytest.fixture(scope="session")
def programs():
    """The folder with kubectl, helm (4) and helm3."""
    return Path(renders.programs())


class ApiServer:
    """A real API server, spoken to by kubectl as a user would."""

    def __init__(self, kubectl, kubeconfig):
        self._kubectl = kubectl
        self.kubeconfig = kubeconfig
        self._env = {**os.environ, "KUBECONFIG": kubeconfig}

    def kubectl(self, *args, stdin=None, namespace=None):
        """Runs kubectl and returns the finished process, whatever its exit status."""
        where = ["-n", namespace] if namespace else []
        return subprocess.run(
            [self._kubectl, *where, *args], input=stdin, env=self._env, capture_output=True, text=True, timeout=300
        )

    def must(self, *args, **kwargs):
        """Runs kubectl, which has to succeed, and returns what it printed."""
        done = self.kubectl(*args, **kwargs)
        assert done.returncode == 0, f"kubectl {' '.join(args)}: {done.stderr}"
        return done.stdout

    def until(self, *args):
        """The same for what may not be possible yet: kubectl waits for no condition of an object that has none so far."""
        deadline = time.monotonic() + 120
        while (done := self.kubectl(*args)).returncode:
            assert time.monotonic() < deadline, f"kubectl {' '.join(args)}: {done.stderr}"
            time.sleep(0.1)

    def until_defined(self):
        """IPUJobs are as this version has them. What is established is not yet served by this definition, nor found by kubectl."""
        self.until("wait", "--for=condition=Established", "crd/ipujobs.graphcore.ai", "--timeout=30s")
        self.until("explain", "ipujob.spec.partition")

    def create(self, job, namespace):
        return self.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(job), namespace=namespace)

    def get(self, name, namespace):
        return json.loads(self.must("get", "ipujob", name, "-o", "json", namespace=namespace))


@pytest.fixture(scope="session")
def api(programs):
    """An API server with the resource definition installed, gone when the tests are over."""
    name = f"chart-{os.getpid()}"
    subprocess.run([CLUSTER, "up", "--no-node", "--bare", "--name", name], check=True)
    try:
        kubeconfig = subprocess.run(
            [CLUSTER, "kubeconfig", "--name", name], check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()
        server = ApiServer(programs / "kubectl", kubeconfig)
        server.must("apply", "-f", str(CRD_FILE))
        server.until_defined()
        yield server
    finally:
        subprocess.run([CLUSTER, "down", "--name", name], check=True)


@pytest.fixture
def namespace(api):
    """A namespace of the test's own."""
    made = json.loads(
        api.must("create", "-f", "-", "-o", "json", stdin='{"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "chart-"}}')
    )
    return made["metadata"]["name"]


@pytest.fixture(params=["helm", "helm3"])
def helm(request, programs, tmp_path):
    """Runs Helm's `verb` on the chart with these values; returns the finished process."""

    def run(verb, values, *args):
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        release = ["release"] if verb != "lint" else []
        return subprocess.run(
            [programs / request.param, verb, *release, CHART, "--namespace", "ipus", "--values", file, *args],
            capture_output=True, text=True, timeout=300,
        )

    return run


@pytest.fixture
def render(helm):
    """The rendered objects, by kind and name."""

    def run(values):
        done = helm("template", values)
        assert done.returncode == 0, done.stderr
        objects = renders.objects(done.stdout)
        named = {(thing["kind"], thing["metadata"]["name"]): thing for thing in objects}
        assert len(named) == len(objects), "two objects share a name"
        return named

    return run
