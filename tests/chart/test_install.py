"""The chart on a real API server, with Helm 4 and Helm 3: installed, allowed just what it needs, removed."""

import contextlib
import json
import os
import subprocess

import pytest

import third_party_crds
from conftest import CHART, ROOT
from pages import Reader, blocks_at, pages_of
from renders import CERTIFIED, EVERYTHING, objects, render

ACCOUNT = "ipu-operator-controller"
MANIFEST = ROOT / "deploy" / "manifests" / "ipu-operator.yaml"

ALLOWED = [
    ("patch", "ipujobs.graphcore.ai", "*"),
    ("watch", "ipujobs.graphcore.ai", "*"),
    ("delete", "ipujobs.graphcore.ai", "*"),  # ttlSecondsAfterFinished
    ("patch", "ipujobs.graphcore.ai/status", "*"),
    ("update", "ipujobs.graphcore.ai/finalizers", "*"),
    ("create", "pods", "*"),
    ("patch", "pods", "*"),  # to stop them; the admission policy lets nothing else pass
    ("delete", "pods", "*"),
    ("watch", "services", "*"),
    ("create", "services", "*"),
    ("watch", "endpointslices.discovery.k8s.io", "*"),
    ("create", "endpointslices.discovery.k8s.io", "*"),
    ("patch", "endpointslices.discovery.k8s.io", "*"),
    ("create", "secrets", "*"),
    ("delete", "secrets", "*"),
    ("create", "networkpolicies.networking.k8s.io", "*"),
    ("watch", "networkpolicies.networking.k8s.io", "*"),
    ("watch", "nodes", "*"),
    ("watch", "vipucontrollers.graphcore.ai", "*"),
    ("create", "vipucontrollers.graphcore.ai", "*"),
    ("delete", "vipucontrollers.graphcore.ai", "*"),
    ("patch", "vipucontrollers.graphcore.ai/status", "*"),
    ("create", "events.events.k8s.io", "*"),
    ("create", "podtemplates", "*"),  # a dry run, for the webhooks
    ("create", "configmaps", "own"),
    ("delete", "configmaps", "own"),
    ("create", "leases.coordination.k8s.io", "own"),
]
REJECTED = [
    ("deletecollection", "ipujobs.graphcore.ai", "*"),
    ("update", "ipujobs.graphcore.ai", "*"),
    ("patch", "vipucontrollers.graphcore.ai", "*"),  # a cordon is an admin's
    ("get", "secrets", "*"),
    ("list", "secrets", "*"),
    ("watch", "secrets", "*"),
    ("deletecollection", "secrets", "*"),
    ("patch", "networkpolicies.networking.k8s.io", "*"),
    ("delete", "networkpolicies.networking.k8s.io", "*"),
    ("get", "pods", "*"),
    ("update", "pods", "*"),
    ("delete", "services", "*"),
    ("delete", "endpointslices.discovery.k8s.io", "*"),
    ("update", "leases.coordination.k8s.io", "own"),
    ("patch", "leases.coordination.k8s.io", "own"),  # but for its own
    ("get", "secrets", "own"),
    ("create", "pods/exec", "*"),
    ("get", "pods/log", "*"),
    ("patch", "nodes", "*"),
    ("get", "configmaps", "default"),
    ("create", "leases.coordination.k8s.io", "default"),
    ("create", "serviceaccounts", "*"),
    ("bind", "clusterroles.rbac.authorization.k8s.io", "*"),
]


@pytest.fixture(params=["helm", "helm3"])
def installed(request, api, programs, namespace):
    """The namespace in which the chart is installed, under rules as strict as Kubernetes has them for pods."""
    api.must("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    # No controller manager runs here to make it.
    api.must("create", "serviceaccount", "default", namespace=namespace)

    def helm(*args):
        done = subprocess.run([programs / request.param, *args, "--namespace", namespace], capture_output=True, text=True,
                              env={**os.environ, "KUBECONFIG": api.kubeconfig}, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # No node runs the Jobs of the chart's hooks.
    printed = helm("install", "release", CHART, "--no-hooks", "--set", "vipuServer.enabled=true")
    assert f"kubectl -n {namespace} rollout status" in printed
    yield namespace
    helm("uninstall", "release", "--no-hooks")
    left = api.must("get", "deployments,configmaps,secrets,services,roles,rolebindings,serviceaccounts", "-o", "name",
                    namespace=namespace)
    assert [name for name in left.split() if "ipu-operator" in name] == []
    wide = api.must("get", "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations",
                    "-o", "name")
    assert f"{namespace}-ipu-operator" not in wide and "ipu-operator-admission" not in wide


def test_install_is_restricted_and_least_privileged(api, installed):
    _check_pods(api, installed)
    _check_permissions(api, installed)


def _check_pods(api, namespace):
    deployments = json.loads(api.must("get", "deployments", "-o", "json", namespace=namespace))["items"]
    assert {each["metadata"]["name"] for each in deployments} == {
        "ipu-operator", "ipu-operator-vipu-server"}
    for each in deployments:
        pod = {"apiVersion": "v1", "kind": "Pod", **each["spec"]["template"]}
        pod["metadata"]["name"] = "judged"
        api.must("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(pod), namespace=namespace)


def _check_permissions(api, namespace):
    user = f"system:serviceaccount:{namespace}:{ACCOUNT}"

    def question(verb, resource, where):
        scope = ["--all-namespaces"] if where == "*" else ["-n", namespace if where == "own" else where]
        resource, _, sub = resource.partition("/")
        part = [f"--subresource={sub}"] if sub else []
        return ["auth", "can-i", verb, resource, *part, *scope, "--as", user]

    for asked in ALLOWED:
        api.until(*question(*asked))  # new roles take a moment to be known everywhere in the API server
    assert [asked for asked in REJECTED if api.kubectl(*question(*asked)).stdout.strip() != "no"] == []


@pytest.fixture(params=["helm", "helm3"])
def helm(request, api, programs):
    """Would this release of the chart be taken by the API server, beside what is there?"""

    def run(verb, release, where, *args):
        return subprocess.run([programs / request.param, verb, release, CHART, "--namespace", where, "--dry-run=server", "--no-hooks",
                               *args], capture_output=True, text=True, env={**os.environ, "KUBECONFIG": api.kubeconfig}, timeout=300)

    return run


@pytest.fixture
def another(api, programs, namespace):
    """A template of release `first` is in the cluster."""

    @contextlib.contextmanager
    def made(template, *values):
        made = subprocess.run([programs / "helm", "template", "first", CHART, "--namespace", namespace, "--show-only", template,
                               *values], capture_output=True, text=True, check=True, timeout=300).stdout
        api.must("apply", "-f", "-", stdin=made)
        try:
            yield
        finally:
            api.must("delete", "-f", "-", stdin=made)

    return made


BINDING, DEPLOYMENT = "templates/rbac.yaml", "templates/controller-manager.yaml"


def test_a_second_operator_for_the_same_jobs_is_rejected(helm, another, namespace):
    second = "--skip-crds", "--set=fullnameOverride=other"
    with another(BINDING):
        rejected = helm("install", "second", "default", *second)
        assert rejected.returncode != 0
        assert f"release first in namespace {namespace} runs the jobs of all namespaces already" in rejected.stderr
        done = helm("install", "second", "default", *second, "--set=controller.watchNamespace=default",
                    "--set=admissionWebhooks.enabled=false")
        assert done.returncode == 0, done.stderr
        done = helm("install", "first", namespace, *second, "--set=fullnameOverride=renamed")
        assert done.returncode == 0, done.stderr
    of_one = f"--set=controller.watchNamespace={namespace},admissionWebhooks.enabled=false"
    with another(BINDING, of_one):
        for values in ((), (of_one,)):
            rejected = helm("install", "second", "default", *second, *values)
            assert rejected.returncode != 0
            assert f"release first in namespace {namespace} runs the jobs of namespace {namespace} already" in rejected.stderr
        done = helm("install", "first", namespace, *second)
        assert done.returncode == 0, done.stderr
        done = helm("install", "second", "default", *second, of_one.replace(namespace, "default"))
        assert done.returncode == 0, done.stderr


def test_an_operator_continues_with_existing_jobs(helm, another, namespace):
    """Nobody would give back the IPUs of those that it does not look at any more."""
    def of(where):
        return f"--set=controller.watchNamespace={where},admissionWebhooks.enabled=false"

    def error_of(*values):
        done = helm("install", "first", namespace, "--skip-crds", "--set=fullnameOverride=other", *values)
        return "" if done.returncode == 0 else done.stderr

    with another(DEPLOYMENT):
        assert "this release runs the jobs of all namespaces; this cannot be changed on upgrade" in error_of(of(namespace))
        assert error_of() == ""
        rejected = helm("install", "second", namespace, "--skip-crds", "--set=fullnameOverride=other", of(namespace))
        assert f"namespace {namespace}: release first is already installed here" in rejected.stderr
        assert "Nothing was installed, except possibly the IPUJob CRD" in rejected.stderr
    with another(DEPLOYMENT, of("default")):
        assert "this release runs the jobs of namespace default; this cannot be changed on upgrade" in error_of(of(namespace))
        assert error_of(of("default")) == error_of() == ""


@pytest.mark.parametrize("values, kinds", [(CERTIFIED, ("Certificate", "Issuer")), (EVERYTHING, ("ServiceMonitor", "PrometheusRule"))],
                         ids=["cert-manager", "prometheus-operator"])
def test_what_others_define_is_taken_too(api, programs, namespace, values, kinds):
    """By a real API server with their own definitions, rules in CEL included."""
    for definition in third_party_crds.definitions(*kinds):
        api.must("apply", "--server-side", "-f", "-", stdin=json.dumps(definition))
        api.until("wait", "--for=condition=Established", f"crd/{definition['metadata']['name']}", "--timeout=30s")
        api.until("get", definition["metadata"]["name"])  # established is not yet served and found
    things = [thing for thing in objects(render(programs / "helm", values, namespace=namespace)) if thing["kind"] in kinds]
    assert {thing["kind"] for thing in things} == set(kinds)
    for thing in things:
        for broken, found in ((thing, 0), ({**thing, "spec": {**thing["spec"], "unheardOf": 1}}, 1)):
            done = api.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(broken))
            assert done.returncode == found, done.stderr


def test_the_plain_manifests_are_taken(api):
    """By the API server, as if they were applied; the namespace alone is made, because the others are in it."""
    namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ipu-operator"}})
    api.must("create", "-f", "-", stdin=namespace)
    try:
        output = api.must("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", str(MANIFEST))
        assert "deployment.apps/ipu-operator serverside-applied" in output
        assert api.kubectl("get", "deployment", "ipu-operator", namespace="ipu-operator").returncode != 0
    finally:
        api.must("delete", "namespace", "ipu-operator", "--wait=false")


def test_an_edited_list_of_controllers_outlives_the_next_manifest(api, programs, namespace, tmp_path):
    """By the command of docs/upgrade.md. `kubectl edit` writes under the name that is taken here."""
    assert pages_of("manifest") == ["docs/upgrade.md"]
    (apply,) = blocks_at("docs/upgrade.md", "manifest")
    (table,) = [thing for thing in objects(MANIFEST.read_text())
                if (thing["kind"], thing["metadata"]["name"]) == ("ConfigMap", "ipu-operator-vipu-controllers")]
    table["metadata"]["namespace"] = namespace
    after = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "after", "namespace": namespace}}
    mine = {"data": {"controllers.yaml": "vipuControllers: [{host: pod1}]\n"}}
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("\n---\n".join(json.dumps(thing) for thing in (table, after)))
    types = Reader(tmp_path, os.environ | {"KUBECONFIG": api.kubeconfig, "PATH": f"{programs}:{os.environ['PATH']}"},
                   **{str(MANIFEST.relative_to(ROOT)): manifest})

    api.must("apply", "--server-side", "-f", "-", stdin=json.dumps(table))
    api.must("patch", "configmap", table["metadata"]["name"], "--field-manager=kubectl-edit", "--type=merge",
             "-p", json.dumps(mine), namespace=namespace)
    types(apply)
    api.must("get", "configmap", "after", namespace=namespace)
    kept = json.loads(api.must("get", "configmap", table["metadata"]["name"], "-o", "json", namespace=namespace))
    assert kept["data"] == mine["data"]
