"""A partition that breaks, goes, or belongs to a controller that is silent, while its job runs or is deleted."""

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
    world.start_operator(brittle.address, "--trouble-seconds", 1)
    job = world.job("fragile")
    world.automatic()
    job.wait("Running")
    break_partition(brittle)
    told = job.wait("Failed", "PartitionError", seconds=40)["lastMessage"]
    assert f"p-fragile-{world.ns}-0 is in error" in told and "its fans stand still" in told
    brittle.fail("{}")
    job.wait_released(60)
    assert brittle.partitions() == {}


def test_an_error_resets_the_partition_of_a_job_that_restarts(world, brittle):
    world.start_operator(brittle.address, "--trouble-seconds", 1)
    job = world.job("tough", **RESTARTS)
    world.automatic()
    job.wait("Running")
    break_partition(brittle)
    told = job.wait("Restarting", "PartitionError", seconds=40)["lastMessage"]
    assert "(1 of at most 2)" in told
    brittle.fail("{}")
    again = job.wait("Running", seconds=60)
    assert again["restartCount"] == 1
    assert [part["id"] for part in again["partitions"]] == [f"p-tough-{world.ns}-0"], "reset, not replaced"


def test_a_partition_removed_behind_our_back_is_made_again(world, vipu):
    world.start_operator(vipu.address, "--trouble-seconds", 1)
    job = world.job("robbed", **RESTARTS)
    world.automatic()
    job.wait("Running")
    vipu.client.remove(f"p-robbed-{world.ns}-0")
    job.wait("Restarting", "PartitionMissing", seconds=40)
    assert job.wait("Running", seconds=60)["restartCount"] == 1
    assert list(vipu.partitions()) == [f"p-robbed-{world.ns}-0"]


def test_what_is_made_anew_in_time_is_no_trouble(world, vipu):
    """poprun inside a job removes and makes the job's own partition."""
    world.start_operator(vipu.address, "--trouble-seconds", 600)
    job = world.job("poprun")
    pod = job.run_pods(1)["poprun-worker-0"]
    job.wait("Running")
    name = f"p-poprun-{world.ns}-0"
    vipu.client.remove(name)
    until(lambda: job.status["partitions"][0]["state"] == "Missing", "its absence shows", 30, world.tell)
    assert job.status["launcherStatus"] == "Running"
    vipu.client.create(name, size=4, reconfigurable=True)
    until(lambda: job.status["partitions"][0]["state"] == "Active", "it is back", 30, world.tell)
    assert job.status["restartCount"] == 0
    world.kubelet.succeed(pod)
    job.wait("Completed")
    job.wait_released(60)
    assert vipu.partitions() == {}


def ready(job):
    found = {item["type"]: item for item in job.status["conditions"]}["PartitionsReady"]
    return found["status"], found["reason"]


def test_a_silent_controller_shows_in_the_condition_and_ends_nothing(world, vipu):
    world.start_operator(vipu.address, "--trouble-seconds", 1)
    job = world.job("patient")
    pod = job.run_pods(1)["patient-worker-0"]
    job.wait("Running")
    assert ready(job) == ("True", "AllActive")
    vipu.kill()
    until(lambda: ready(job) == ("Unknown", "ControllerUnavailable"), "the silence is told", 40, world.tell)
    assert job.status["launcherStatus"] == "Running"
    vipu.start()
    until(lambda: ready(job) == ("True", "AllActive"), "its return is told", 40, world.tell)
    world.kubelet.succeed(pod)
    job.wait("Completed")


def test_a_job_whose_controller_is_dead_can_be_let_go_and_its_record_is_swept(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("stuck")
    world.automatic()
    job.wait("Running")
    vipu.kill()
    until(lambda: "is not available" in world.operator.log(), "the loss is noticed", 20, world.tell)
    job.delete()
    name = f"p-stuck-{world.ns}-0"
    way_out = f"kubectl annotate -n {world.ns} ipujob stuck graphcore.ai/release={name}"
    until(lambda: job.is_in("Terminating") and way_out in job.status["lastMessage"], "the way out is told", 40, world.tell)
    assert vipu.address in job.status["lastMessage"]
    world.api.patch("ipujobs", world.ns, "stuck", {"metadata": {"annotations": {"graphcore.ai/release": name}}})
    job.wait_gone()
    assert list(job.records()) == [name], "the record stays"
    vipu.start()
    assert list(vipu.partitions()) == [name]
    job.wait_released(60)
    assert vipu.partitions() == {}
