"""Suspended jobs hold nothing, may be changed, and start again; any number of times."""

import pytest

from kubelet import now
from waiting import until
from world import container, pod_template

INJECTED = {
    "metadata": {"labels": {"queue": "night"}, "annotations": {"example.org/slot": "7"}},
    "spec": {"nodeSelector": {"rack": "r1"}, "tolerations": [{"key": "night", "operator": "Exists"}],
             "containers": [container(args=["--fast"])]},
}


@pytest.fixture
def operator(world, vipu):
    world.start_operator(vipu.address)
    return world


def suspend(job, value):
    job.patch({"spec": {"suspend": value}})


def test_suspend_and_resume(operator, vipu):
    job = operator.job("sleeps", suspend=True)
    status = job.wait("Suspended")
    assert job.records() == {} and job.pods() == {} and "startTime" not in status
    suspend(job, False)
    job.run_pods(1)
    first = job.wait("Running")
    operator.automatic()
    until(lambda: first["lastReconcileTime"] < now(), "the next second")
    suspend(job, True)
    job.wait("Suspended")
    job.wait_released()
    until(lambda: "startTime" not in job.status, "its time starts again", tell=operator.tell)
    assert vipu.partitions() == {}
    for kind, status in (("Suspended", "True"), ("Running", "False")):
        until(lambda kind=kind: "uspended" in job.condition(kind)["message"], "the message of a suspended job")
        condition = job.condition(kind)
        assert condition["status"] == status and condition["lastTransitionTime"] > first["lastReconcileTime"]
    suspend(job, False)
    job.wait("Running", "Running")
    assert job.condition("Suspended")["status"] == "False"
    assert job.status["startTime"] > first["startTime"]


def test_what_is_changed_while_suspended_is_on_the_pods_afterwards(operator):
    """As a queueing system does it, twice: injected before the start, taken back at the next suspension."""
    operator.kubelet.label({"rack": "r1"})
    job = operator.job("queued", suspend=True)
    plain = {"metadata": {"labels": None, "annotations": None},
             "spec": {"nodeSelector": None, "tolerations": None, "containers": pod_template()["spec"]["containers"]}}
    operator.automatic()
    for _ in range(2):
        job.wait("Suspended")
        job.patch({"spec": {"suspend": False, "workers": {"template": INJECTED}}})
        job.wait("Running")
        pod = job.wait_pods(1)["queued-worker-0"]
        assert pod["metadata"]["labels"]["queue"] == "night"
        assert pod["metadata"]["annotations"]["example.org/slot"] == "7"
        assert pod["spec"]["nodeSelector"] == {"rack": "r1"}
        assert any(item.get("key") == "night" for item in pod["spec"]["tolerations"])
        assert pod["spec"]["containers"][0]["args"] == ["--fast"]
        suspend(job, True)
        job.wait("Suspended")
        job.wait_logs_kept("queued-worker-0")
        job.patch({"spec": {"suspend": False, "workers": {"template": plain}}})
        job.wait("Running")
        pod = job.wait_pods(1)["queued-worker-0"]
        assert "queue" not in pod["metadata"]["labels"] and "nodeSelector" not in pod["spec"]
        assert "args" not in pod["spec"]["containers"][0]
        suspend(job, True)


def test_a_scheduling_gate_of_the_template_holds_the_pod(operator):
    gates = [{"name": "example.org/quota"}]
    job = operator.job("gated", startDeadlineSeconds=600,
                       workers={"template": pod_template(schedulingGates=gates)})
    pod = job.wait_pods(1)["gated-worker-0"]
    assert pod["spec"]["schedulingGates"] == gates
    job.wait("Starting", "SchedulingGated")
    assert "stuckSince" not in job.status, "a gate is intended"
    operator.api.patch("pods", operator.ns, "gated-worker-0", {"spec": {"schedulingGates": []}})
    job.run_pods(1)
    job.wait("Running")


def test_many_times_leave_nothing_behind(operator, vipu):
    operator.automatic()
    job = operator.job("restless", jobInstances=2)
    for _ in range(8):
        job.wait("Running", "Running")
        suspend(job, True)
        job.wait("Suspended")
        suspend(job, False)
    job.wait("Running", "Running")
    until(lambda: len(job.records()) == 2 and len(vipu.partitions()) == 2, "what it held before has gone", tell=operator.tell)
    assert job.status["restartCount"] == 0
    suspend(job, True)
    job.wait_logs_kept("restless-worker-0", "restless-worker-1")
    until(lambda: not vipu.partitions(), "nothing is held", tell=operator.tell)
    assert len(job.records()) <= 2, "at most one of an instance, which remembers the ids that were used"
    job.delete()
    job.wait_gone()
    assert job.records() == {}


def running(job):
    """Pods of instances that have been taken away stay with their logs."""
    return [name for name, pod in job.pods().items() if pod["status"]["phase"] == "Running"]


def test_instances_that_are_taken_away_while_suspended_leave_no_orphan(operator, vipu):
    job = operator.job("shrinks", jobInstances=3)
    pods = job.run_pods(3)
    job.wait("Running", "Running")
    operator.kubelet.succeed(pods["shrinks-worker-2"])  # its pod stays, for the log
    until(lambda: job.status.get("completedIndexes") == "2", "one is done", tell=operator.tell)
    operator.automatic()
    job.patch({"spec": {"suspend": True, "jobInstances": 1}})
    job.wait("Suspended")
    job.wait_released()
    suspend(job, False)
    job.wait("Running", "Running")
    until(lambda: running(job) == ["shrinks-worker-0"], "only the first instance runs", tell=operator.tell)
    assert len(vipu.partitions()) == 1
