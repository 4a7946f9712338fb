"""Two replicas behind the chart's Services: webhooks that the API server asks, metrics and statistics that pods ask."""

import contextlib
import json
import signal

import kube
import pytest
from jobs import UNTIL_TOLD, Job, job
from clients import DryRunClients, Visitor
from stack import SYSTEM, send

OPERATOR = "deployment/ipu-operator"
METRICS = f"https://ipu-operator-controller-manager-metrics.{SYSTEM}.svc:8443/metrics"
STATISTICS = f"http://ipu-operator-vipu-proxy.{SYSTEM}.svc"
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"

pytestmark = pytest.mark.usefixtures("replicas")


def test_a_user_reads_every_mistake_and_warning_and_sees_the_defaults(namespace):
    wrong = job("wrong", "echo ran", container={"imaeg": "typo", "imagePullPolicy": "Sometimes",
                                                "volumeMounts": [{"name": "none", "mountPath": "/x"}]})
    reported = namespace.attempt("create", "-f", "-", stdin=json.dumps(wrong)).stderr
    assert 'The IPUJob "wrong" is invalid' in reported
    for field in ("imaeg", "imagePullPolicy", "volumeMounts[0].name"):
        assert f"* spec.workers.template.spec.containers[0].{field}: " in reported
    assert namespace.get("ipujob", "wrong") is None
    reported = namespace.attempt("create", "-f", "-", stdin=json.dumps(job("right", "echo ran", pod={"restartPolicy": "Always"})))
    assert reported.stderr.startswith("Warning: spec.workers.template.spec.restartPolicy: ignored")
    made = Job(namespace, "right")
    made.wait_for_state("Completed")
    assert made.get()["spec"]["restartPolicy"]["type"] == "Never" and made.get()["spec"]["cleanPodPolicy"] == "None"
    reported = namespace.attempt("patch", "ipujob", "right", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    assert reported.returncode == 0 and reported.stderr.startswith("Warning: the job has finished")
    kube.wait_for("an event says so too", lambda: "UpdateIgnored" in namespace("get", "events"))


def operators(stack):
    return {pod["metadata"]["name"] for pod in stack.system.items("pods", "control-plane=controller-manager")}


def test_a_rolling_restart_rejects_no_request(stack, namespace):
    before = operators(stack)
    with DryRunClients(namespace) as clients:
        clients.wait_for_more()
        stack.system("rollout", "restart", OPERATOR)
        stack.system("rollout", "status", OPERATOR, "--timeout=120s")
        kube.wait_for("the old replicas are gone", lambda: not operators(stack) & before, 120)
        clients.wait_for_more()
    assert clients.failures == []


def test_a_leader_that_hangs_is_replaced_and_restarted(stack, start):
    stuck = stack.leading_pod()
    send(stuck, signal.SIGSTOP)
    kube.wait_for("another leads", lambda: not stack.leader().startswith(stuck["metadata"]["name"]), 90)
    stack.wait_until_restarted(stuck)
    start(job("after", "true")).wait_for_state("Completed")


@contextlib.contextmanager
def bound_to_read(stack, visitor, namespace):
    """Its account may read the metrics, as docs/monitoring.md has it."""
    (role,) = stack.kubectl.items("clusterroles", "component=metrics-reader")
    stack.kubectl("create", "clusterrolebinding", namespace, f"--serviceaccount={namespace}:{visitor}",
                  f"--clusterrole={role['metadata']['name']}")
    try:
        yield
    finally:
        stack.kubectl("delete", "clusterrolebinding", namespace)


def test_only_readers_read_the_metrics_of_both_replicas(stack, namespace):
    with bound_to_read(stack, "reader", namespace.namespace):
        reader, stranger = Visitor(namespace, "reader"), Visitor(namespace, "stranger")
        seen = set()

        def both_were_read():
            status, text = reader.ask(METRICS, token=TOKEN)
            assert status == 200, text
            seen.update(line for line in text.splitlines() if line.startswith("ipu_operator_leader "))
            return len(seen) == 2

        kube.wait_for(lambda: f"leader and standby are read: {seen}", both_were_read)
        assert seen == {"ipu_operator_leader 0", "ipu_operator_leader 1"}
        assert stranger.ask(METRICS, token=TOKEN)[0] == 403
        assert reader.ask(METRICS)[0] == 401


def test_both_replicas_serve_the_statistics(stack, namespace, start):
    made = start(job("uses", UNTIL_TOLD))
    made.wait_for_state("Running")
    visitor = Visitor(namespace, "visitor")
    pods = stack.system.items("pods", "control-plane=controller-manager")
    pages = [STATISTICS, *(f"http://{pod['status']['podIP']}:8081" for pod in pods)]
    assert len(pages) == 3
    used = {"used": 4, "available": 60}
    reported = {"/stats": ("", {namespace.namespace: used, "total": used}),
            "/query": ('{"size": 2}', {"available": True, "numOfPartitions": 30, "message": "", "largestPartition": 32})}
    for page, (body, answer) in ((f"{page}{path}", reported[path]) for page in pages for path in reported):
        # A standby sees it when it looks again.
        kube.wait_for(lambda page=page: f"{page} tells it", lambda page=page, body=body, answer=answer: json.loads(
            visitor.ask(page, body)[1]) == answer)
    assert visitor.ask(f"{STATISTICS}/health")[0] == 200
    assert visitor.ask(f"{STATISTICS}/query", '{"size": 0}')[0] == 400
    made.let_end()
