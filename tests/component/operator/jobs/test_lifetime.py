"""The clocks of a job: how long it may run, be stuck, be held, and be kept."""

import pytest

from kubelet import statuses
from waiting import until
from world import pod_template


@pytest.fixture(scope="module")
def operator(shared_world):
    shared_world.vipu = shared_world.make_vipu()
    shared_world.start_operator(shared_world.vipu.address)
    shared_world.automatic(starts=lambda pod: not pod["metadata"]["name"].startswith("stuck"))
    return shared_world


def is_free(operator, job):
    job.wait_released()
    return not any(f"-{job.name}-" in name for name in operator.vipu.partitions())


def test_a_job_that_runs_too_long_fails(operator):
    job = operator.job("endless", activeDeadlineSeconds=3)
    failed = job.wait("Failed", "DeadlineExceeded")
    assert "Stopped after 3 s: spec.activeDeadlineSeconds" in failed["lastMessage"]
    assert failed["currentReplicas"] == 0 and job.condition("Failed")["reason"] == "DeadlineExceeded"
    pod = job.wait_logs_kept("endless-worker-0")["endless-worker-0"]
    assert pod["metadata"]["annotations"]["graphcore.ai/stopped-at"]
    assert "failures" not in job.status and job.status["workersStatus"]["failed"] == 0
    assert is_free(operator, job)


def test_a_deadline_survives_the_operator(operator):
    job = operator.job("outlived")
    job.wait("Running")
    job.patch({"spec": {"activeDeadlineSeconds": 5}})
    operator.operator.kill()
    operator.restart_operator()
    job.wait("Failed", "DeadlineExceeded")
    assert is_free(operator, job)


def test_a_limit_that_is_raised_without_webhooks_still_ends_the_job(operator):
    job = operator.job("raised", activeDeadlineSeconds=8)
    job.wait("Running")
    before = job.pods()["raised-worker-0"]["metadata"]["uid"]
    job.patch({"spec": {"activeDeadlineSeconds": 2_000_000_000,
                        "workers": {"template": pod_template(terminationGracePeriodSeconds=3000)}}})
    until(lambda: "its limit was raised while it has IPUs, and it still ends after 8 s" in job.status["lastMessage"], "it is told so",
          tell=operator.tell)
    until(lambda: job.wait_pods(1)["raised-worker-0"]["metadata"]["uid"] != before, "its pod is replaced", tell=operator.tell)
    assert job.pods()["raised-worker-0"]["spec"]["terminationGracePeriodSeconds"] == 30
    assert "Stopped after 8 s: the job got its IPUs for that time" in job.wait("Failed", "DeadlineExceeded")["lastMessage"]
    assert is_free(operator, job)


def test_an_interactive_job_is_held_and_ends_well(operator):
    job = operator.job("session", interactive={"ttl": 600}, workers={"template": {"spec": {"containers": [
        {"name": "shell", "image": "docker.io/library/train:1"}]}}})
    pod = job.wait_pods(1)["session-worker-0"]
    assert pod["spec"]["containers"][0]["command"] == ["/opt/ipu-launcher/ipu-launch", "hold"]
    job.wait("Running")
    job.patch({"spec": {"interactive": {"ttl": 3}}})
    done = job.wait("Completed", "InteractiveTTLExpired")
    assert (done["lastMessage"], done["currentReplicas"]) == ("All instances done", 0)
    job.wait_logs_kept("session-worker-0")
    assert is_free(operator, job)


@pytest.mark.parametrize("name, reason, message", [
    ("stuck-pull", "ImagePullFailed", "ImagePullBackOff: no such image"),
    ("stuck-node", "Unschedulable", "Unschedulable: 0/1 nodes are available"),
])
def test_pods_that_are_stuck_give_the_ipus_back(operator, name, reason, message):
    job = operator.job(name, startDeadlineSeconds=600)
    until(lambda: job.wait_pods(1)[f"{name}-worker-0"]["spec"].get("nodeName"), "its pod has a node", tell=operator.tell)
    pod = job.pods()[f"{name}-worker-0"]
    if reason == "ImagePullFailed":
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
        operator.kubelet.report(pod, "Pending", statuses(pod, waiting))
    else:
        operator.api.patch("pods", operator.ns, pod["metadata"]["name"], {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
             "message": "0/1 nodes are available"}]}}, "status")
    stuck = job.wait("Starting", reason)
    assert f"Pod {name}-worker-0 is waiting: {message}" in stuck["lastMessage"] and stuck["stuckSince"]
    until(lambda: reason in job.reasons_reported(), "an event tells it", tell=operator.tell)
    job.patch({"spec": {"startDeadlineSeconds": 3}})
    failed = job.wait("Failed", "StartDeadlineExceeded")
    assert message in failed["lastMessage"] and "stuckSince" not in failed
    assert is_free(operator, job)


def test_pods_that_cannot_be_created_are_stuck(operator):
    ns = operator.make_namespace("full")
    operator.api.create("resourcequotas", ns, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    until(lambda: operator.api.get("resourcequotas", ns, "none").get("status", {}).get("hard"), "the quota counts")
    job = operator.job("rejected", ns=ns, startDeadlineSeconds=2)
    failed = job.wait("Failed", "StartDeadlineExceeded")
    assert "exceeded quota: none" in failed["lastMessage"]


def test_a_finished_job_is_deleted_in_time(operator):
    at_once = operator.job("brief", ttlSecondsAfterFinished=0)
    later = operator.job("kept", ttlSecondsAfterFinished=1000)
    for job in (at_once, later):
        job.wait("Running")
        operator.kubelet.succeed(job.pods()[f"{job.name}-worker-0"])
    at_once.wait_gone()
    later.wait("Completed")
    assert is_free(operator, later)
    later.patch({"spec": {"ttlSecondsAfterFinished": 1}})
    later.wait_gone()


@pytest.mark.parametrize("policy, kept", [("None", True), ("Workers", False), ("All", False)])
@pytest.mark.parametrize("code", [0, 1])
def test_the_clean_pod_policy_is_followed(operator, policy, kept, code):
    job = operator.job(f"clean-{policy.lower()}-{code}", cleanPodPolicy=policy)
    job.wait("Running")
    operator.kubelet.end(job.pods()[f"{job.name}-worker-0"], code)
    job.wait("Failed" if code else "Completed")
    job.wait_released()
    if kept:
        assert list(job.pods()) == [f"{job.name}-worker-0"]
    else:
        until(lambda: not job.pods(), "its pods have gone", tell=operator.tell)
