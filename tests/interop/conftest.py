"""Programs of other projects, built and run for real, on a cluster of their own with the product installed. E2E_KEEP=1 leaves
it up after the tests, and a later run takes it as it is."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

END_S = 60
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e/support"), str(TESTS / "lib"), str(TESTS.parent / "deploy" / "local")]

import kube  # noqa: E402
import third_party_crds  # noqa: E402
from fixtures import namespace, nothing_left, pytest_runtest_makereport, reader, replicas, start  # noqa: E402, F401
from local_cluster import images  # noqa: E402
from stack import brought_up  # noqa: E402


@pytest.fixture(scope="session")
def stack():
    with brought_up("interop") as made:
        yield made


@pytest.fixture(scope="session")
def built(request):
    """Where a program is. Who watches the tests is told when it has to be built first."""

    def path(program):
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            return program.path()

    return path


@pytest.fixture(scope="session")
def image(stack, built, tmp_path_factory):
    """The name of an image that runs a program, and is there for pods."""

    def of(program):
        name = f"ipu-operator.local/{program.name}:1"
        stack.load(images.write_program(tmp_path_factory.mktemp("image") / "archive.tar", name, f"bin/{program.name}", built(program)))
        return name

    return of


@pytest.fixture(scope="session")
def beside(stack, built, tmp_path_factory):
    """Runs a program beside the cluster, with all rights there."""

    @contextlib.contextmanager
    def running(program, *words):
        log = tmp_path_factory.mktemp(program.name) / "log"
        # It ends with the tests, however they end.
        command = ["setpriv", "--pdeathsig", "TERM", built(program), *words]
        with log.open("w") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       env=os.environ | {"KUBECONFIG": str(stack.kubectl.kubeconfig)})
        try:
            yield
            assert process.poll() is None, f"{program.title} has ended: {log.read_text()[-2000:]}"
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    return running


@pytest.fixture(scope="session")
def defined(stack):
    """Has the API server know kinds of other projects, from then on."""

    def known(*kinds):
        for definition in third_party_crds.definitions(*kinds):
            stack.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(definition))
            crd = f"crd/{definition['metadata']['name']}"
            kube.wait_for(f"{crd} is served", lambda crd=crd: stack.kubectl.attempt(
                "wait", "--for=condition=Established", crd, "--timeout=30s").returncode == 0)

    return known
