"""The release's life with both Helms: from the vendor's chart to ours and back, and its end with live jobs."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import kube
import pytest
from pages import blocks_at, pages_of

import vendor_chart
from jobs import UNTIL_TOLD, Job, job
from stack import CHART, SYSTEM

RELEASE = "ipu-operator"
FINALIZERS = '[{"op": "remove", "path": "/metadata/finalizers"}]'


class Helm:
    def __init__(self, stack, program):
        self.is_newest = program == "helm"
        self.program, self._kubeconfig = stack.programs / program, stack.kubectl.kubeconfig

    def attempt(self, *words):
        return kube.run(self.program, *words, "--kubeconfig", self._kubeconfig, "--namespace", SYSTEM, check=False,
                        timeout=300)

    def __call__(self, *words):
        done = self.attempt(*words)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout


@pytest.fixture(autouse=True)
def nothing_left():
    """Of a release that has gone; its test looks at that."""


@pytest.fixture(scope="module")
def bare(stack):
    """A cluster where nothing of the operator is; afterwards all is as it was."""
    usual = Helm(stack, "helm")
    usual("uninstall", RELEASE, "--no-hooks", "--wait")
    stack.kubectl("delete", "crd", "ipujobs.graphcore.ai")
    yield usual
    stack.kubectl("apply", "--server-side", "--force-conflicts", "-f", CHART / "crds")
    stack.install()
    stack.wait_until_leading()


@pytest.fixture(params=["helm", "helm3"])
def helm(stack, bare, request):
    """One of the two Helms."""
    yield Helm(stack, request.param)
    bare.attempt("uninstall", RELEASE, "--no-hooks", "--wait")  # after a failure
    stack.kubectl("delete", "crd", "ipujobs.graphcore.ai", "--ignore-not-found")
    stack.forget_lease()


@pytest.fixture
def team(stack, helm):
    """kubectl in a namespace for jobs."""
    kubectl = stack.kubectl.within("lifecycle")
    stack.kubectl("create", "namespace", kubectl.namespace)
    yield kubectl
    for name in ("runs", "ended", "kept"):
        kubectl.attempt("patch", "ipujob", name, "--type=json", "-p", FINALIZERS)  # otherwise they would stay after a failure
    stack.kubectl("delete", "namespace", kubectl.namespace, "--ignore-not-found", timeout=180)


@pytest.fixture
def migrate(stack, helm, team, reader, tmp_path):
    """Does a step of the documentation, in which a reader puts these words: that of the upgrade, for one of the team's jobs, or
    for an orphaned partition."""
    pages = pages_of("migration")
    assert pages == ["docs/migrate.md", "docs/troubleshooting.md"]
    blocks = [block for page in pages for block in blocks_at(page, "migration")]
    steps = dict(zip(("upgrade", "adopt", "release", "take over", "give back"), blocks, strict=True))
    types = reader(team.namespace, SYSTEM, NAMESPACE=team.namespace)
    (tmp_path / "helm").symlink_to(helm.program)

    def do(step, **names):
        types.names |= names
        types(steps[step])

    return do


def begin_as_the_vendor(team, name, state):
    """A job that the vendor's operator has started, and its pod."""
    finalizer = {"finalizers": ["example.com/of-the-vendor"]}
    thing = vendor_chart.job(name, UNTIL_TOLD)
    thing["metadata"] |= finalizer
    team.create(thing)
    team("patch", "ipujob", name, "--subresource=status", "--type=merge", "-p",
         json.dumps({"status": vendor_chart.status(state)}))
    made = team.get("ipujob", name)
    if state == "Running":
        team.create(vendor_chart.pod_of(made))
        team("wait", "--for=condition=Ready", f"pod/{name}-worker-0", "--timeout=60s")
    return team.get("ipujob", name)


def deployments(stack):
    return {each["metadata"]["name"] for each in stack.system.items("deployments")}


@pytest.mark.timeout(1800)
def test_from_the_vendors_chart_and_to_the_end(stack, helm, team, migrate, tmp_path):
    stack.kubectl("create", "-f", "-", stdin=json.dumps(vendor_chart.DEFINITION))
    kube.wait_for("IPUJobs are served", lambda: team.attempt("get", "ipujobs").returncode == 0)  # Established comes before that
    runs, ended, _ = (begin_as_the_vendor(team, name, state)
                      for name, state in (("runs", "Running"), ("ended", "Completed"), ("kept", "Completed")))
    values = tmp_path / "old-values.yaml"
    values.write_text(json.dumps(vendor_chart.VALUES))
    helm("install", RELEASE, vendor_chart.write(tmp_path / "chart", RELEASE), "--values", values, "--create-namespace")
    vendors = {"ipu-operator-controller-manager", "ipu-operator-vipu-proxy"}
    assert deployments(stack) == vendors

    # The upgrade leaves the vendor's jobs as they are, and takes new ones.
    migrate("upgrade", **{"old-values.yaml": f"{values} --set=vipuServer.enabled=true --wait --timeout=120s"})
    assert deployments(stack) == {"ipu-operator", "ipu-operator-vipu-server"}
    assert "suspend" in stack.kubectl("get", "crd", "ipujobs.graphcore.ai", "-o", "yaml"), "the definition is this chart's"
    with the_test_names_who_is_dead(helm):
        team.create(job("new", "true"))
        Job(team, "new").wait_for_state("Completed")
        assert team.get("ipujob", "runs")["metadata"]["resourceVersion"] == runs["metadata"]["resourceVersion"]
        assert team.get("ipujob", "ended")["status"] == ended["status"]
        assert team.get("pod", "runs-worker-0")["status"]["phase"] == "Running"

    # Back and forth again, now without that controller: the test is content.
    over = ("--force-conflicts",) if helm.is_newest else ()  # the CA of the webhooks is the operator's
    helm("rollback", RELEASE, "1", "--wait", "--timeout=120s", *over)
    assert deployments(stack) == vendors
    stack.forget_lease()  # with its rights went the operator's way to give it back
    helm("upgrade", RELEASE, CHART, "--values", values, "--set=vipuServer.enabled=true", "--set=global.vipuControllers=", "--wait",
         "--timeout=120s")
    assert deployments(stack) == {"ipu-operator", "ipu-operator-vipu-server"}
    assert team.get("pod", "runs-worker-0")["status"]["phase"] == "Running"
    assert "V-IPU controllers: ok" in helm("test", RELEASE, "--logs")

    if helm.is_newest:
        take_over_the_vendors(stack, team, migrate)
    else:
        team("annotate", "ipujob", "runs", "graphcore.ai/adopt=true")
        team("delete", "pod", "runs-worker-0")
    adopted = Job(team, "runs")
    kube.wait_for("it is this operator's", lambda: adopted.status.get("observedGeneration", -1) > 0)
    adopted.wait_for_state("Running")

    # A live job keeps the release from going; drained it waits for the next operator, and needs none to be deleted.
    rejected = helm.attempt("uninstall", RELEASE, "--wait")
    assert rejected.returncode != 0 and "before-uninstall" in rejected.stderr
    assert "1 IPUJob using or waiting for IPUs: lifecycle/runs (Running)" in stack.system(
        "logs", f"job/{RELEASE}-before-uninstall")
    assert adopted.state() == "Running" and "ipu-operator" in deployments(stack)
    helm("rollback", RELEASE, "4", "--wait", "--timeout=120s")
    stack.system("annotate", "configmap", f"{RELEASE}-vipu-controllers", "graphcore.ai/drain=true")
    helm("uninstall", RELEASE, "--wait")
    assert adopted.state() == "Suspended" and adopted.get()["metadata"]["finalizers"] == ["example.com/of-the-vendor"]
    # The garbage collector follows.
    kube.wait_for(lambda: f"all of it has gone: {what_is_left(stack)}", lambda: what_is_left(stack) == [])
    # Of a partition that has just gone the record may stay: the operator ends with its last job, and the next one tidies up.
    assert stack.records(of_the_released=False) == []


@contextlib.contextmanager
def the_test_names_who_is_dead(helm):
    """As the controller of the old values is. Once is enough, and meanwhile: it takes as long as the patience of the test."""
    if not helm.is_newest:
        yield
        return
    with ThreadPoolExecutor() as pool:
        test = pool.submit(helm.attempt, "test", RELEASE, "--logs")
        yield
        reported = test.result()
    assert reported.returncode != 0 and "vipu-server:8090 is not responding" in reported.stdout + reported.stderr


def take_over_the_vendors(stack, team, migrate):
    """One of the vendor's jobs is released, one taken over, and one gets its partition, with the commands of docs/migrate.md. A
    orphaned partition is removed with those of docs/troubleshooting.md."""
    partitions = [f"p-{name}-{team.namespace}-0" for name in ("ended", "runs", "kept")]  # of the vendor's operator
    for partition in (*partitions, "left-behind"):
        stack.system("exec", "deployment/ipu-operator-vipu-server", "--", "vipu", "create", "partition", partition, "--size", "4",
                     "--reconfigurable")
    team.create(job("newer", "true"))  # for its partition the operator looks at all of them
    Job(team, "newer").wait_for_state("Completed")
    verb = "exec", "deployment/ipu-operator", "--", "ipu-operator"
    kube.wait_for("the operator sees them",
                  lambda: {*partitions, "left-behind"} <= set(stack.system(*verb, "partitions").split()), 90)
    rejected = stack.system.attempt(*verb, "release", partitions[1])
    assert rejected.returncode != 0 and "pod lifecycle/runs-worker-0 may be using this partition" in rejected.stderr
    migrate("release", NAME="ended")
    assert team.get("ipujob", "ended") is None and partitions[0] not in stack.partitions()
    migrate("give back", PARTITION="left-behind")
    assert "left-behind" not in stack.partitions()
    migrate("adopt", NAME="kept")
    assert partitions[2] in stack.partitions()
    kube.wait_for("the operator sees its record", lambda: partitions[2] not in stack.system(*verb, "partitions").split())
    team("delete", "ipujob", "kept", "--wait=false")
    team("patch", "ipujob", "kept", "--type=json", "-p", FINALIZERS)
    kube.wait_for("its partition goes with it", lambda: partitions[2] not in stack.partitions(), 60)
    migrate("take over", NAME="runs")


def what_is_left(stack):
    """Objects of the release, of all kinds that it can have."""
    kinds = ("deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,jobs,pods,poddisruptionbudgets,"
             "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,"
             "validatingadmissionpolicies,validatingadmissionpolicybindings")
    found = stack.system.items(kinds, f"app.kubernetes.io/instance={RELEASE}")
    found += stack.system.items("leases")
    return [f"{each['kind']} {each['metadata']['name']}" for each in found if "deletionTimestamp" not in each["metadata"]]
