"""What the tests of a cluster with the product share; a conftest.py takes what it needs, and makes the `stack`."""

import json
import os

import kube
import pytest
from jobs import Job, job
from pages import Reader
from stack import SYSTEM


@pytest.fixture(scope="module")
def replicas(stack):
    """Two of the operator, with webhooks, for the tests of a file."""
    stack.install("admissionWebhooks.enabled=true", "controller.replicas=2")
    mistake = json.dumps(job("mistake", "true", container={"imaeg": "typo"}))
    kube.wait_for("the API server's way to the webhooks is there", lambda: "imaeg: Forbidden" in stack.kubectl.attempt(
        "create", "--dry-run=server", "-f", "-", stdin=mistake).stderr)
    yield
    stack.install()
    stack.wait_until_leading()


@pytest.fixture(autouse=True)
def nothing_left(stack, request):
    """Every test leaves the V-IPU controller and the records as it found them: empty."""
    yield
    if request.session.testsfailed:
        return  # what is left of a failed test is no news
    kube.wait_for(lambda: f"no partition is left: {sorted(stack.partitions())}", lambda: not stack.partitions())
    kube.wait_for(lambda: f"no record is left: {stack.records()}", lambda: not stack.records())


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
                  lambda: not kubectl.items("pods", "graphcore.ai/job-name"))
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
    """Creates a reader, who types what the documentation says on a node, whose kubectl is set to a namespace and whose vipu asks the
    V-IPU controller of another."""

    def of(namespace, vipu_namespace, **names):
        kubeconfig, vipu = tmp_path / "kubeconfig", tmp_path / "vipu"
        environment = os.environ | {"KUBECONFIG": str(kubeconfig), "EDITOR": "true", "PATH": f"{tmp_path}:{stack.path()}",
                                    "CONTAINERD_ADDRESS": stack.containerd()}
        kubeconfig.write_text(stack.kubectl("config", "view", "--raw", "--flatten"))
        kube.run(stack.kubectl.program, "config", "set-context", "--current", "--namespace", namespace, env=environment)
        vipu.write_text(f'#!/bin/sh\nexec kubectl -n {vipu_namespace} exec deployment/ipu-operator-vipu-server -- vipu "$@"\n')
        vipu.chmod(0o755)
        (tmp_path / "kubectl-ipu").symlink_to(stack.plugin())
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
