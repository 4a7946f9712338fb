"""Two replicas behind the chart's Services: webhooks that the API server asks, metrics and statistics that pods ask."""

import contextlib
import json
import signal
import threading

import kube
import pytest
from jobs import IMAGE, UNTIL_TOLD, job
from stack import SYSTEM, send

APPLIERS = 3
OPERATOR = "deployment/ipu-operator"
METRICS = f"https://ipu-operator-controller-manager-metrics.{SYSTEM}.svc:8443/metrics"
STATISTICS = f"http://ipu-operator-vipu-proxy.{SYSTEM}.svc"
# Prints status and text of a page. The certificate is the operator's own, which nobody can verify.
ASK = """
import ssl, sys, urllib.error, urllib.request
page, body, token_file = sys.argv[1:]
headers = {"Authorization": "Bearer " + open(token_file).read()} if token_file else {}
request = urllib.request.Request(page, body.encode() or None, headers)
try:
    answer = urllib.request.urlopen(request, timeout=20, context=ssl._create_unverified_context())
except urllib.error.HTTPError as refused:
    answer = refused
print(answer.status, answer.read().decode())
"""
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


@pytest.fixture(scope="module", autouse=True)
def replicas(stack):
    stack.install("admissionWebhooks.enabled=true", "controller.replicas=2")
    yield
    stack.install()
    stack.wait_until_leading()


def test_a_user_reads_every_mistake_and_sees_the_defaults(namespace, start):
    wrong = job("wrong", "echo ran", container={"imaeg": "typo", "imagePullPolicy": "Sometimes",
                                                "volumeMounts": [{"name": "none", "mountPath": "/x"}]})
    told = namespace.attempt("create", "-f", "-", stdin=json.dumps(wrong)).stderr
    assert 'The IPUJob "wrong" is invalid' in told
    for field in ("imaeg", "imagePullPolicy", "volumeMounts[0].name"):
        assert f"* spec.workers.template.spec.containers[0].{field}: " in told
    assert namespace.get("ipujob", "wrong") is None
    made = start(job("right", "echo ran"))
    made.wait_for_state("Completed")
    assert made.get()["spec"]["restartPolicy"]["type"] == "Never" and made.get()["spec"]["cleanPodPolicy"] == "None"


class Appliers:
    """People who create jobs (dry run), one after the other, as long as it lasts; what they are told when it fails."""

    def __init__(self, kubectl):
        self._kubectl, self._end, self.count, self.failures = kubectl, threading.Event(), 0, []
        self._threads = [threading.Thread(target=self._apply, args=(n,)) for n in range(APPLIERS)]

    def _apply(self, number):
        text = json.dumps(job(f"applied-{number}", "true"))
        while not self._end.is_set():
            done = self._kubectl.attempt("create", "--dry-run=server", "-f", "-", stdin=text)
            self.count += 1
            if done.returncode:
                self.failures.append(done.stderr)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def wait_for_more(self):
        so_far = self.count
        kube.wait_for("jobs are applied", lambda: self.count > so_far + 5 * APPLIERS, 120)

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()


def operators(stack):
    return {pod["metadata"]["name"] for pod in stack.system.items("pods", "-l", "control-plane=controller-manager")}


def test_a_rolling_restart_refuses_nobody(stack, namespace):
    before = operators(stack)
    with Appliers(namespace) as appliers:
        appliers.wait_for_more()
        stack.system("rollout", "restart", OPERATOR)
        stack.system("rollout", "status", OPERATOR, "--timeout=120s")
        kube.wait_for("the old replicas are gone", lambda: not operators(stack) & before, 120)
        appliers.wait_for_more()
    assert appliers.failures == []


def test_a_leader_that_stands_still_is_followed_and_started_again(stack, start):
    stuck = stack.leading_pod()
    send(stuck, signal.SIGSTOP)
    kube.wait_for("another leads", lambda: not stack.leader().startswith(stuck["metadata"]["name"]), 90)
    stack.wait_until_restarted(stuck)
    start(job("after", "true")).wait_for_state("Completed")


class Visitor:
    """A pod with a ServiceAccount of its own."""

    def __init__(self, kubectl, name):
        self._kubectl, self._name = kubectl, name
        kubectl.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"serviceAccountName": name, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": IMAGE, "command": ["sleep", "infinity"]}]}})
        kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")

    def ask(self, page, body="", token=""):
        """Status and text."""
        told = self._kubectl("exec", self._name, "--", "python3", "-c", ASK, page, body, token)
        status, _, text = told.partition(" ")
        return int(status), text


@contextlib.contextmanager
def bound_to_read(stack, visitor, namespace):
    """Its account may read the metrics, as docs/monitoring.md has it."""
    (role,) = stack.kubectl.items("clusterroles", "-l", "component=metrics-reader")
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


def test_both_replicas_tell_the_statistics(stack, namespace, start):
    made = start(job("uses", UNTIL_TOLD))
    made.wait_for_state("Running")
    visitor = Visitor(namespace, "visitor")
    pods = stack.system.items("pods", "-l", "control-plane=controller-manager")
    pages = [STATISTICS, *(f"http://{pod['status']['podIP']}:8081" for pod in pods)]
    assert len(pages) == 3
    used = {"used": 4, "available": 60}
    for page in pages:
        assert json.loads(visitor.ask(f"{page}/stats")[1]) == {namespace.namespace: used, "total": used}, page
        told = json.loads(visitor.ask(f"{page}/query", '{"size": 2}')[1])
        assert told == {"available": True, "numOfPartitions": 30, "message": "", "largestPartition": 32}, page
    assert visitor.ask(f"{STATISTICS}/health")[0] == 200
    assert visitor.ask(f"{STATISTICS}/query", '{"size": 0}')[0] == 400
    made.let_end()
