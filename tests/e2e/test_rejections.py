"""Jobs that cannot run: every reason at once, nothing made, and a way out."""

import json

import kube
import pytest
from jobs import UNTIL_TOLD, Job, job


def test_a_pod_template_that_the_api_server_rejects(stack, namespace, start):
    made = start(job("rejected", "echo ran", container={"imagePullPolicy": "Sometimes",
                                                          "ports": [{"containerPort": 99999}]}))
    ended = made.wait_for_state("Failed")
    assert ended["reason"] == "InvalidPodTemplate"
    namespace("wait", "--for=condition=Finished", "ipujob/rejected", "--timeout=10s")  # which either end sets
    message = made.condition("Failed")["message"]
    assert "spec.containers[0].imagePullPolicy" in message and "Sometimes" in message
    assert "spec.containers[0].ports[0].containerPort" in message
    assert made.pods() == [] and not stack.partitions() and not stack.records()

    # It is judged again when the template changes.
    mended = job("rejected", "echo ran")["spec"]["workers"]
    namespace("patch", "ipujob", "rejected", "--type=merge", "-p", json.dumps({"spec": {"workers": mended}}))
    made.wait_for_state("Completed")
    assert made.log().strip() == "ran"


@pytest.mark.parametrize("namespace", ["e2e-quota"], indirect=True)
def test_a_job_that_exceeds_a_quota_waits_without_ipus(stack, namespace, start):
    namespace("create", "quota", "none", "--hard=pods=0")
    kube.wait_for("the quota is in force",
                  lambda: namespace.get("quota", "none").get("status", {}).get("hard", {}).get("pods") == "0")
    made = start(job("waiting", "echo ran"))
    waits = kube.wait_for(made.reported, lambda: "exceeded quota" in (s := made.status).get("lastMessage", "") and s)
    assert waits["launcherStatus"] == "Pending"
    assert not stack.partitions() and not stack.records()
    namespace("delete", "quota", "none")
    made.wait_for_state("Completed", seconds=120)


@pytest.fixture
def no_rules(stack):
    """The definition as an older one that let more pass: without its CEL rules."""
    name = "ipujobs.graphcore.ai"
    kept = stack.kubectl("get", "crd", name, "-o", "json")

    def without(node):
        if isinstance(node, dict):
            return {key: without(value) for key, value in node.items() if key != "x-kubernetes-validations"}
        return [without(item) for item in node] if isinstance(node, list) else node

    stack.kubectl("replace", "-f", "-", stdin=json.dumps(without(json.loads(kept))))
    yield
    current = stack.kubectl.get("crd", name)
    current["spec"] = json.loads(kept)["spec"]
    stack.kubectl("replace", "-f", "-", stdin=json.dumps(current))
    kube.wait_for("the rules are back", lambda: stack.kubectl.attempt(
        "create", "--dry-run=server", "-f", "-", stdin=json.dumps(job("probe", "true", ipus=3))).returncode != 0)


MISTAKES = {
    "three": ({"ipus": 3}, ["spec.ipusPerJobInstance"]),
    "zero": ({"ipus": 0}, ["spec.ipusPerJobInstance"]),
    "negative": ({"ipus": -4}, ["spec.ipusPerJobInstance"]),
    "text": ({"ipus": "four"}, ["spec.ipusPerJobInstance"]),
    "uneven": ({"ipus": 4, "workersPerJobInstance": "8"}, ["spec.ipusPerJobInstance"]),
    "several": ({"ipus": 12, "workersPerJobInstance": "many", "modelReplicasPerWorker": "-1"},
                ["spec.ipusPerJobInstance", "spec.workersPerJobInstance", "spec.modelReplicasPerWorker"]),
}


def test_sizes_that_slip_past_the_rules(stack, namespace, no_rules):
    kube.wait_for("the rules are off", lambda: namespace.attempt(
        "create", "--dry-run=server", "-f", "-", stdin=json.dumps(job("probe", "true", ipus=3))).returncode == 0)
    namespace.create(*(job(name, UNTIL_TOLD, **shape) for name, (shape, _) in MISTAKES.items()))
    for name, (_, fields) in MISTAKES.items():
        made = Job(namespace, name)
        ended = made.wait_for_state("Failed")
        assert ended["reason"] == "InvalidSpec"
        for field in fields:
            assert field in ended["lastMessage"], name
        assert made.pods() == []
    assert not stack.partitions() and not stack.records()
