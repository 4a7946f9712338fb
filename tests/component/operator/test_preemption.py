"""Jobs get the IPUs of jobs that agree to it, if both sides ask for it."""

import json

import pytest
from waiting import until
from world import pod_template

FLAGS = ("--queue-preemption=true", "--queue-preemption-exempt-seconds", 0)
AGREES = {"graphcore.ai/preemptible": "true"}


@pytest.fixture
def classes(world):
    made = {f"{name}-{world.ns}": policy for name, policy in (("urgent", "PreemptLowerPriority"), ("polite", "Never"))}
    for name, policy in made.items():
        world.api.create("priorityclasses", None, {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": policy})
    yield [{"template": pod_template(priorityClassName=name)} for name in made]
    for name in made:
        world.api.delete("priorityclasses", None, name)


def running(world, name, ipus):
    job = world.job(name, ipusPerJobInstance=str(ipus))
    job.wait("Running")
    return job


def pod_uids(job):
    return {pod["metadata"]["uid"] for pod in job.pods().values()}


def first_ipu(job):
    (record,) = job.records().values()
    return int(record["place"].split("/")[-1])


def test_a_job_gets_the_ipus_of_one_that_agrees(world, vipu, classes):
    urgent_class, polite_class = classes
    operator = world.start_operator(vipu.address, *FLAGS)
    world.automatic()
    keeps, gives = running(world, "keeps", 32), running(world, "gives", 32)
    kept = pod_uids(keeps)
    polite = world.job("polite", ipusPerJobInstance="32", workers=polite_class)
    gives.annotate(**AGREES)
    polite.wait("Pending", "InsufficientIPUs")
    gives.annotate(**{"graphcore.ai/preemptible": None})
    polite.delete()
    urgent = world.job("urgent", ipusPerJobInstance="32", workers=urgent_class)
    urgent.wait("Pending", "InsufficientIPUs")
    assert gives.status["launcherStatus"] == keeps.status["launcherStatus"] == "Running", "neither agrees"
    gives.annotate(**AGREES)
    urgent.wait("Running")
    assert pod_uids(keeps) == kept
    for _ in range(2):
        told = gives.wait("Pending", "InsufficientIPUs")
        assert told["lastMessage"].split("; expected to start")[0].endswith(f"; preempted by job {world.ns}/urgent")
        assert told["preemptionCount"] == 1 and told["restartCount"] == 0
        operator.kill()
        operator = world.restart_operator()
    assert "IPUsPreempted" in gives.reasons_reported()
    world.kubelet.succeed(urgent.pods()["urgent-worker-0"])
    status = gives.wait("Running")
    assert status["preemptionCount"] == 1 and status["restartCount"] == 0


def test_a_job_that_may_take_long_to_stop_keeps_nobody_from_others(world, vipu, classes):
    world.start_operator(vipu.address, *FLAGS)
    world.automatic()
    slow = world.job("slow", ipusPerJobInstance="32", workers={"template": pod_template(terminationGracePeriodSeconds=601)})
    slow.wait("Running")
    kept = pod_uids(slow)
    gives = running(world, "gives", 32)
    slow.annotate(**{"graphcore.ai/checkpointed-at": "2099-01-01T00:00:00Z"})  # it claims to cost least
    gives.annotate(**AGREES)
    urgent = world.job("urgent", ipusPerJobInstance="32", workers=classes[0])
    urgent.wait("Running")
    assert pod_uids(slow) == kept and slow.status["launcherStatus"] == "Running"


def test_without_the_flag_nobody_is_preempted(world, vipu, classes):
    world.start_operator(vipu.address)
    world.automatic()
    gives = running(world, "gives", 64)
    gives.annotate(**AGREES)
    urgent = world.job("urgent", ipusPerJobInstance="64", workers=classes[0])
    told = urgent.wait("Pending", "InsufficientIPUs")
    assert f"in use by {world.ns}/gives (64 IPUs)" in told["lastMessage"] and "preempted" not in told["lastMessage"]
    assert gives.status["launcherStatus"] == "Running"


def test_the_cheapest_job_to_restart_elsewhere_is_named(world, vipu):
    """Four jobs of 16 IPUs fill the domain, and two that are no neighbours end."""
    operator = world.start_operator(vipu.address)
    world.automatic()
    by_place = sorted((running(world, f"small-{i}", 16) for i in range(4)), key=first_ipu)
    for job in (by_place[0], by_place[2]):
        world.kubelet.succeed(job.pods()[f"{job.name}-worker-0"])
        job.wait_released()
    large = world.job("large", ipusPerJobInstance="32")
    told = large.wait("Pending", "InsufficientIPUs")
    named = {f"{world.ns}/{job.name}" for job in (by_place[1], by_place[3])}
    assert any(f"; restarting {name} (16 IPUs) would make room now" in told["lastMessage"] for name in named)

    def remedy():
        return next((item["remedy"] for item in json.loads(operator.ask("/queue")[1])["queue"] if "remedy" in item), None)
    advice = until(remedy, "the page names the remedy", tell=world.tell)
    assert advice["kind"] == "Restart" and not advice["agreed"] and advice["jobs"][0]["job"] in named
    assert advice["lostIpuSeconds"] >= 16 * 240 and len(advice["blocks"]) == 1
