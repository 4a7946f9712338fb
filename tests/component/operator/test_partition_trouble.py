"""A partition that breaks, goes, or belongs to a controller that is silent, while its job runs or is deleted."""

import re

import pytest
from vipu_side import ONE_POD
from waiting import until

BRITTLE = f"{ONE_POD}auto-reset-retries: 0\n"
RESTARTS = {"restartPolicy": {"type": "OnFailure", "backOffLimit": 2}}


@pytest.fixture
def brittle(world):
    return world.make_vipu(config=BRITTLE)


def break_partition(vipu):
    vipu.fail("{hardware: [{agent: ag1, error: its fans stand still}]}")


def test_an_error_fails_a_job_that_does_not_restart(world, brittle):
    world.start_operator(brittle.address, "--partition-failure-seconds", 3)  # time to ask V-IPU why
    job = world.job("fragile")
    world.automatic()
    job.wait("Running")
    break_partition(brittle)
    reported = job.wait("Failed", "PartitionError")["lastMessage"]
    assert f"p-fragile-{world.ns}-0 is in error" in reported and "its fans stand still" in reported
    brittle.fail("{}")
    job.wait_released()
    assert brittle.partitions() == {}


def test_an_error_resets_the_partition_of_a_job_that_restarts(world, brittle):
    world.start_operator(brittle.address, "--partition-failure-seconds", 3)
    job = world.job("tough", **RESTARTS)
    world.automatic()
    job.wait("Running")
    brittle.fail("{partitions: [{on: now, error: a link was down}]}")
    until(lambda: job.status["restartCount"] == 1 and job.is_in("Running"), "it runs again", tell=world.tell)

    def notes():
        return [event["note"] for event in job.events() if event["reason"] == "PartitionError"]
    until(lambda: any("a link was down" in note and "(restart 1 of 2)" in note for note in notes()), "an event tells", tell=notes)
    assert [part["id"] for part in job.status["partitions"]] == [f"p-tough-{world.ns}-0"], "reset, not replaced"


def agents(vipu, job):
    (name,) = [part["id"] for part in job.status["partitions"] if part["state"] == "Active"]
    return {device.ip for gcd in vipu.client.ipuof(name).gcd_configs for device in gcd.devices}


def test_who_has_broken_ipus_gets_others(world, brittle):
    world.start_operator(brittle.address, "--partition-failure-seconds", 1)
    job = world.job("moved", **RESTARTS)
    world.automatic()
    job.wait("Running")
    before = agents(brittle, job)
    break_partition(brittle)
    until(lambda: job.status["restartCount"] == 1 and job.is_in("Running"), "it runs elsewhere", tell=world.tell)
    now = agents(brittle, job)
    assert now and not now & before


def status_writes(operator):
    return int(re.search(r'^ipu_operator_api_requests_total\{method="PATCH",resource="ipujobs"\} (\d+)$', operator.ask("/metrics")[1], re.M)[1])


def test_tries_that_are_in_vain_are_few(world):
    """Resets and what is told of them come at a measured pace."""
    vipu = world.make_vipu(config=f"{ONE_POD}auto-reset-retries: 0\n")
    proxy = world.make_vipu_proxy(vipu)
    writes = []
    proxy.before = lambda method, request: method.startswith(("Get", "List")) or not writes.append(method)
    operator = world.start_operator(proxy.address, "--partition-failure-seconds", 600)  # it is not given up meanwhile
    vipu.fail("{partitions: [{on: create, error: its fans stand still}, {on: reset, error: its fans stand still}]}")
    job = world.job("stuck", **RESTARTS)
    world.automatic()
    reported = "after an error: its fans stand still"
    until(lambda: job.is_in("Starting", "PartitionError") and reported in job.status["lastMessage"], "it is told", tell=world.tell)
    writes.clear()
    before = status_writes(operator)
    until(lambda: len(writes) >= 4, "it is reset again and again", tell=world.tell)
    assert set(writes) == {"ResetPartition"}
    assert job.is_in("Starting", "PartitionError") and reported in job.status["lastMessage"]
    assert status_writes(operator) == before, "it does not come and go with every try"
    vipu.fail("{}")
    assert job.wait("Running")["restartCount"] == 0


def test_a_partition_removed_behind_our_back_is_made_again(world, vipu):
    world.start_operator(vipu.address, "--partition-failure-seconds", 1)
    job = world.job("robbed", **RESTARTS)
    job.run_pods(1)
    job.wait("Running")
    vipu.client.remove(f"p-robbed-{world.ns}-0")
    job.wait("Restarting", "PartitionMissing")  # until its pod has ended
    world.automatic()
    assert job.wait("Running")["restartCount"] == 1
    assert list(vipu.partitions()) == [f"p-robbed-{world.ns}-0"]


def test_a_partition_that_is_re_created_in_time_is_not_reported(world, vipu):
    """poprun inside a job removes and makes the job's own partition."""
    world.start_operator(vipu.address, "--partition-failure-seconds", 600)
    job = world.job("poprun")
    pod = job.run_pods(1)["poprun-worker-0"]
    job.wait("Running")
    name = f"p-poprun-{world.ns}-0"
    vipu.client.remove(name)
    until(lambda: job.status["partitions"][0]["state"] == "Missing", "its absence shows", tell=world.tell)
    assert job.status["launcherStatus"] == "Running"
    vipu.client.create(name, size=4, reconfigurable=True)
    until(lambda: job.status["partitions"][0]["state"] == "Active", "it is back", tell=world.tell)
    assert job.status["restartCount"] == 0
    world.kubelet.succeed(pod)
    job.wait("Completed")
    job.wait_released()
    assert vipu.partitions() == {}


def ready(job):
    found = {item["type"]: item for item in job.status["conditions"]}["PartitionsReady"]
    return found["status"], found["reason"]


def test_a_silent_controller_shows_in_the_condition_and_ends_nothing(world, vipu):
    world.start_operator(vipu.address, "--partition-failure-seconds", 1)
    job = world.job("patient")
    pod = job.run_pods(1)["patient-worker-0"]
    job.wait("Running")
    assert ready(job) == ("True", "PartitionsActive")
    vipu.kill()
    until(lambda: ready(job) == ("Unknown", "ControllerUnavailable"), "the silence is told", tell=world.tell)
    assert job.status["launcherStatus"] == "Running"
    vipu.start()
    until(lambda: ready(job) == ("True", "PartitionsActive"), "its return is told", tell=world.tell)
    world.kubelet.succeed(pod)
    job.wait("Completed")


def test_a_job_whose_controller_is_dead_can_be_let_go_and_its_record_is_swept(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("stuck")
    world.automatic()
    job.wait("Running")
    name = f"p-stuck-{world.ns}-0"
    assert list(vipu.partitions()) == [name]
    vipu.kill()  # it remembers what it had
    until(lambda: "V-IPU controller unavailable" in world.operator.log(), "the loss is noticed", tell=world.tell)
    job.delete()
    way_out = f"kubectl annotate -n {world.ns} ipujob stuck graphcore.ai/release={name}"
    until(lambda: job.is_in("Terminating") and way_out in job.status["lastMessage"], "the way out is told", tell=world.tell)
    assert vipu.address in job.status["lastMessage"]
    world.api.patch("ipujobs", world.ns, "stuck", {"metadata": {"annotations": {"graphcore.ai/release": name}}})
    job.wait_gone()
    assert list(job.records()) == [name], "the record stays"
    vipu.start()
    job.wait_released()
    assert vipu.partitions() == {}
