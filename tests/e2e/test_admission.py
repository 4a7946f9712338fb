"""The admission webhooks as the chart installs them: the API server asks through the Service."""

import json
import threading

import kube
import pytest
from jobs import job

APPLIERS = 3
OPERATOR = "deployment/ipu-operator"


@pytest.fixture(scope="module", autouse=True)
def webhooks(stack):
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
