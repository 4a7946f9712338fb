"""What the end-to-end tests share: one cluster with the product installed. E2E_KEEP=1 leaves it up after the tests,
and a later run takes it as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib"), str(HERE.parents[1] / "deploy" / "local")]

import kube  # noqa: E402
from jobs import Job  # noqa: E402
from pages import Reader  # noqa: E402
from stack import NAME, SYSTEM, Stack  # noqa: E402

KEEP = bool(os.environ.get("E2E_KEEP"))


LAST = "test_hardening.py"  # it reads what the operator has asked for in all the other tests


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == LAST)


@pytest.fixture(scope="session")
def stack():
    made = Stack(kube.ROOT / os.environ.get("BUILD_DIR", "build/release"))
    is_there = subprocess.run([kube.CLUSTER, "status", "--name", NAME], capture_output=True, check=False).returncode == 0
    if KEEP and is_there:
        made.take_over()
        yield made
        return
    made.take_down()  # of a run that was killed
    try:
        made.bring_up()
        yield made
    finally:
        if not KEEP:
            made.take_down()


@pytest.fixture(autouse=True)
def nothing_left(stack, request):
    """Every test leaves the V-IPU controller and the records as it found them: empty."""
    yield
    if request.session.testsfailed:
        return  # what is left of a failed test is no news
    kube.wait_for(lambda: f"no partition is left: {sorted(stack.partitions())}", lambda: not stack.partitions(), 60)
    kube.wait_for(lambda: f"no record is left: {stack.records()}", lambda: not stack.records(), 30)


@pytest.fixture
def namespace(stack, request, nothing_left):
    """kubectl in a namespace of the test's own, whose jobs go with the test."""
    name = getattr(request, "param", "")
    kube.wait_for("an earlier namespace of that name is gone", lambda: not name or not stack.kubectl.get("namespace", name))
    wanted = {"metadata": {"name": name} if name else {"generateName": "e2e-"}}
    made = json.loads(stack.kubectl("create", "-o", "json", "-f", "-",
                                    stdin=json.dumps({"apiVersion": "v1", "kind": "Namespace"} | wanted)))
    kubectl = stack.kubectl.within(made["metadata"]["name"])
    kube.wait_for("the namespace has its service account", lambda: kubectl.get("serviceaccount", "default"))
    yield kubectl
    kubectl("delete", "ipujobs", "--all", "--timeout=120s")
    kube.wait_for("the pods of deleted jobs are gone",
                  lambda: not kubectl.items("pods", "-l", "graphcore.ai/job-name"))
    stack.kubectl("delete", "namespace", kubectl.namespace, "--wait=false")


@pytest.fixture
def start(namespace):
    """Creates jobs and returns the last of them."""

    def begin(*objects):
        namespace.create(*objects)
        return Job(namespace, objects[-1]["metadata"]["name"])

    return begin


@pytest.fixture
def reader(stack, tmp_path):
    """Makes somebody who types what the documentation says, whose kubectl is set to a namespace and whose vipu asks the V-IPU
    controller of another."""

    def of(namespace, vipu_namespace, **names):
        kubeconfig, vipu = tmp_path / "kubeconfig", tmp_path / "vipu"
        environment = os.environ | {"KUBECONFIG": str(kubeconfig), "EDITOR": "true", "PATH": f"{tmp_path}:{stack.path()}"}
        kubeconfig.write_text(stack.kubectl("config", "view", "--raw", "--flatten"))
        kube.run(stack.kubectl.program, "config", "set-context", "--current", "--namespace", namespace, env=environment)
        vipu.write_text(f'#!/bin/sh\nexec kubectl -n {vipu_namespace} exec deployment/ipu-operator-vipu-server -- vipu "$@"\n')
        vipu.chmod(0o755)
        return Reader(tmp_path, environment, VIPU_CONTROLLER="localhost", **names)

    return of


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure comes with what the operator had to say."""
    report = yield
    if report.failed and "stack" in item.funcargs:
        stack = item.funcargs["stack"]
        report.sections.append(("operator", stack.system.attempt(
            "logs", "deployment/ipu-operator", "--tail=60").stdout))
        report.sections.append(("jobs", stack.kubectl.attempt("get", "ipujobs,pods", "-A", "-o", "wide").stdout))
        report.sections.append(("system", stack.kubectl.within(SYSTEM).attempt("get", "pods,configmaps").stdout))
    return report
