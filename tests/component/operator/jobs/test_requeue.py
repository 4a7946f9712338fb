"""A job that cannot start keeps its IPUs only as long as no other job waits for them."""

from kubelet import statuses
from waiting import until


def placed_pod(world, job):
    return until(lambda: (pod := job.wait_pods(1)[f"{job.name}-worker-0"])["spec"].get("nodeName") and pod,
                 "its pod has a node", tell=world.tell)


def be_stuck(world, job):
    """Its image cannot be pulled."""
    pod = placed_pod(world, job)
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    world.kubelet.report(pod, "Pending", statuses(pod, waiting))
    job.wait("Starting", "ImagePullFailed")


def test_a_job_that_cannot_start_gives_its_ipus_to_one_that_waits(world, vipu):
    world.start_operator(vipu.address, "--requeue-seconds", 600)
    world.automatic(starts=lambda pod: not pod["metadata"]["name"].startswith("stuck"))
    stuck = world.job("stuck", ipusPerJobInstance="64", startDeadlineSeconds=3600)
    be_stuck(world, stuck)
    waits = world.job("waits", ipusPerJobInstance="64")
    told = waits.wait("Pending", "InsufficientIPUs")
    assert f"in use by {world.ns}/stuck (64 IPUs, its pods cannot start: ImagePullFailed)" in told["lastMessage"]
    assert told["queue"]["blockedBy"] == [f"{world.ns}/stuck"]
    behind = world.job("behind", ipusPerJobInstance="64")
    holder = f"the first is {world.ns}/waits, which waits for {world.ns}/stuck (64 IPUs, its pods cannot start: ImagePullFailed)"
    assert holder in behind.wait("Pending", "Queued")["lastMessage"]
    behind.delete()
    assert stuck.status["launcherStatus"] == "Starting", "the grace"
    world.operator.kill()
    world.forget_lease()
    world.start_operator(vipu.address, "--requeue-seconds", 1)
    waits.wait("Running")
    given_up = until(lambda: (status := stuck.status)["launcherStatus"] == "Pending" and status, "it is back in the queue",
                     tell=world.tell)
    failure = given_up["startFailure"]
    assert failure["reason"] == "ImagePullFailed" and "no such image" in failure["message"] and failure["tries"] == 1
    assert "no such image" in given_up["lastMessage"] and given_up["stuckSince"]
    since = given_up["stuckSince"]
    world.operator.kill()
    world.restart_operator()
    queued = stuck.wait("Pending", "InsufficientIPUs")
    assert "; the last start failed: Pod stuck-worker-0 is waiting: ImagePullBackOff: no such image" in queued["lastMessage"]
    assert queued["startFailure"] == failure and queued["stuckSince"] == since
    younger = world.job("younger", ipusPerJobInstance="64")
    assert f"the first is {world.ns}/stuck" in younger.wait("Pending", "Queued")["lastMessage"], "it keeps its age"
    world.kubelet.succeed(waits.pods()["waits-worker-0"])
    waits.wait("Completed")
    pod = placed_pod(world, stuck)
    world.kubelet.run(pod)
    status = stuck.wait("Running")
    assert "startFailure" not in status and "stuckSince" not in status and status["restartCount"] == 0
    world.kubelet.succeed(pod)
    for job in (stuck, younger):
        until(lambda: job.status["launcherStatus"] in ("Completed", "Running"), "both are served", tell=world.tell)
