"""What the chart has for safety, at work in a real cluster."""

import json

import kube
import pytest
import workers
from jobs import IMAGE, Job, job
from permissions import Audit, not_allowed, rights
from stack import NODE_LABEL, SYSTEM

ACCOUNT = "ipu-operator-controller"
USER = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
MADE = f"{SYSTEM}-ipu-operator-controller"
OWNER = {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "name": "owner", "uid": "0", "controller": True}


def test_a_drain_may_take_one_replica(stack):
    def allows_one():
        budget = stack.system.get("poddisruptionbudget", "ipu-operator-controller-manager")
        return budget["status"].get("disruptionsAllowed") == 1

    kube.wait_for("one pod may go", allows_one)


def test_the_operators_pods_have_its_priority(stack):
    assert stack.operator_pod()["spec"]["priority"] == 1000000


def test_all_pods_of_the_chart_are_restricted(stack):
    label = "pod-security.kubernetes.io/enforce=restricted"
    done = stack.kubectl.attempt("label", "namespace", SYSTEM, label, "--dry-run=server", "--overwrite", check=True)
    assert "Warning" not in done.stderr, done.stderr
    mine = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "loose"}, "spec": {
        "nodeSelector": {"no": "node"}, "containers": [{"name": "main", "image": IMAGE, "securityContext": {"privileged": True}}]}})
    stack.system("create", "-f", "-", stdin=mine)
    try:
        reported = stack.kubectl.attempt("label", "namespace", SYSTEM, label, "--dry-run=server", "--overwrite").stderr
        assert "loose" in reported, "the API server would have said so"
    finally:
        stack.system("delete", "pod", "loose", "--force", "--grace-period=0")


def test_the_operators_requests_have_their_own_priority_level(stack):
    def dispatched():
        lines = stack.kubectl("get", "--raw", "/metrics").splitlines()
        counts = [line for line in lines if line.startswith("apiserver_flowcontrol_dispatched_requests_total")]
        return {schema for schema in (MADE, f"{MADE}-lease") if any(f'flow_schema="{schema}"' in line for line in counts)}

    kube.wait_for("both are in use", lambda: dispatched() == {MADE, f"{MADE}-lease"})


@pytest.mark.parametrize("role, may, may_not", [
    ("view", ["get ipujobs", "watch ipujobs", "get ipujobs/status"], ["create ipujobs", "update ipujobs/scale"]),
    ("edit", ["get ipujobs", "create ipujobs", "patch ipujobs", "delete ipujobs", "update ipujobs/scale"],
     ["patch ipujobs/status"]),
    ("admin", ["get ipujobs", "create ipujobs", "patch ipujobs/status"], []),
])
def test_the_clusters_roles_concern_jobs(namespace, role, may, may_not):
    namespace("create", "rolebinding", role, f"--clusterrole={role}", f"--user=a-{role}er")

    def can(question):
        verb, _, what = question.partition(" ")
        resource, _, sub = what.partition("/")
        words = ["auth", "can-i", verb, f"{resource}.graphcore.ai", "--as", f"a-{role}er"]
        return namespace.attempt(*words, *([f"--subresource={sub}"] if sub else [])).stdout.strip() == "yes"

    kube.wait_for(lambda: f"may {[one for one in may if not can(one)]}", lambda: all(map(can, may)))
    assert [one for one in may_not if can(one)] == []


def test_the_operators_token_makes_no_other_pods(stack, namespace):
    token = stack.system("create", "token", ACCOUNT).strip()

    def attempt(*owners, **spec):
        marks = {"labels": {"graphcore.ai/job-name": "owner", "graphcore.ai/role": "worker"},
                 "annotations": {"graphcore.ai/partition": "p-owner-0"}}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "ownerReferences": list(owners), **marks},
                "spec": {"restartPolicy": "Never", "initContainers": [{"name": "ipu-launcher", "image": IMAGE}],
                         "containers": [{"name": "main", "image": IMAGE}], **spec}}
        # A kubeconfig's certificate would go first.
        return kube.run(namespace.program, "--kubeconfig=/dev/null", "-n", namespace.namespace, "--token", token,
                        "--server", server(stack), "--insecure-skip-tls-verify", "create", "--dry-run=server",
                        "--validate=false", "-f", "-", stdin=json.dumps(made), check=False)

    assert "may only create, update or delete objects controlled by an IPUJob" in attempt().stderr
    assert "with hostPID; to allow it" in attempt(OWNER, hostPID=True).stderr
    own = attempt(OWNER)
    assert own.returncode == 0, own.stderr


def server(stack):
    return stack.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")


def test_an_operator_of_one_namespace_runs_its_jobs_alone(stack, namespace):
    other = f"{namespace.namespace}-other"
    stack.kubectl("create", "namespace", other)
    try:
        with stack.alone(namespace.namespace):
            stack.kubectl.within(other).create(job("ignored", "echo ran"))
            namespace.create(job("alone", "echo ran on $IPUOF_VIPU_API_PARTITION_ID"))
            made = Job(namespace, "alone")
            made.wait_for_state("Completed")
            assert f"ran on alone-alone-{namespace.namespace}-0" in made.log()
            assert made.pod()["spec"]["nodeSelector"] == dict([NODE_LABEL.split("=")])
            namespace("delete", "ipujob", "alone", "--timeout=60s")
            ignored = Job(stack.kubectl.within(other), "ignored")
            assert ignored.status["lastMessage"] == "Waiting for the IPU operator to pick up the job"
            assert "finalizers" not in ignored.get()["metadata"]
            audit = Audit(f"system:serviceaccount:{namespace.namespace}:{ACCOUNT}", stack.audit_log())
            assert audit.calls and audit.forbidden == set()
            stack.kubectl.within(other)("delete", "ipujob", "ignored")
    finally:
        stack.kubectl("delete", "namespace", other, "--wait=false")


@pytest.mark.last
def test_every_request_of_the_operator_was_within_its_rights(stack, request):
    """Those of all other tests. While the webhooks were turned off, the old pod still asked for what it had."""
    audit = Audit(USER, *workers.of(request.config).audit_logs())
    allowed = rights(stack.rendered("admissionWebhooks.enabled=true"), ACCOUNT)
    assert audit.calls
    assert sorted(map(str, not_allowed(audit.calls | audit.forbidden, allowed))) == []
