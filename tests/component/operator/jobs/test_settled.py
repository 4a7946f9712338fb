"""Nothing changed, nothing sent: counted between the operator and the API server."""

import json
import re
from pathlib import Path

import pytest

from waiting import until
from world import container, pod_template

RENEWALS = 4


def reported(seen):
    return "\n".join(map(str, seen))


def is_heartbeat(request):
    """A V-IPU controller still answers, and when new jobs would start there: written about once a minute."""
    return "/vipucontrollers/" in request.path and set(json.loads(request.body)["status"]) <= {"lastAnswerTime", "starts"}


def unwanted(seen):
    """What is neither a watch nor the lease, nor a heartbeat."""
    return [request for request in seen if not request.is_watch and not request.is_lease and not is_heartbeat(request)]


def renewals(seen):
    return [request for request in seen if request.is_lease and request.is_write]


def until_quiet(world, proxy, count=RENEWALS):
    """Waits until that many renewals of the lease in a row came with nothing else between them."""
    def quiet():
        seen = proxy.since(0)
        last = [n for n, request in enumerate(seen) if request in unwanted(seen)]
        return len(renewals(seen[last[-1] + 1 if last else 0:])) >= count
    until(quiet, "the operator falls silent", tell=lambda: reported(proxy.since(0)[-30:]))


def settled_jobs(world):
    """Jobs at every place where a job can rest."""
    running = world.job("running", jobInstances=2, workersPerJobInstance=2)
    for name, pod in running.run_pods(4).items():
        if name in ("running-worker-0", "running-worker-1"):
            world.kubelet.succeed(pod)
    launched = world.job("launched", workersPerJobInstance=2, launcher={"command": ["mpirun"]})
    launched.run_pods(2)
    for pod in launched.wait_pods(3).values():
        world.kubelet.run(pod)
    done = world.job("done")
    world.kubelet.succeed(done.run_pods(1)["done-worker-0"])
    failed = world.job("failed")
    world.kubelet.fail(failed.run_pods(1)["failed-worker-0"], 9, "the end")
    rejected = world.job("rejected", workers={"template": pod_template(container(image=" "))})
    starting = world.job("starting")
    running.wait("Running")
    launched.wait("Running")
    done.wait("Completed")
    failed.wait("Failed", "ContainerFailed")
    rejected.wait("Failed", "InvalidPodTemplate")
    starting.wait("Starting", "StartingPods")
    # How many IPUs are free is told to who waits for them, once a minute.
    until(lambda: len(world.records()) == 3, "what is over has been given back", tell=world.tell)
    waiting = world.job("waiting", ipusPerJobInstance="64")
    suspended = world.job("suspended", suspend=True)
    waiting.wait("Pending", "InsufficientIPUs")
    suspended.wait("Suspended")
    return [running, launched, done, failed, rejected, starting, waiting, suspended]


def test_settled_jobs_cost_nothing(world, vipu):
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    jobs = settled_jobs(world)
    until_quiet(world, proxy)
    assert any(request.is_watch for request in proxy.since(0))

    # Every job is looked at again.
    mark = proxy.mark()
    for job in jobs:
        job.annotate(**{"example.com/touched": "yes"})
    renewed = len(renewals(proxy.since(0)))
    until(lambda: len(renewals(proxy.since(0))) >= renewed + 2, "two renewals later", tell=world.tell)
    assert reported(unwanted(proxy.since(mark))) == ""

    # A crash, and every job is looked at by one who remembers nothing.
    world.operator.kill()
    world.forget_lease()
    mark = proxy.mark()
    world.restart_operator()
    until(lambda: len(renewals(proxy.since(mark))) >= RENEWALS, "it leads for a while", tell=world.tell)
    writes = [request for request in unwanted(proxy.since(mark)) if request.is_write]
    assert reported(writes) == ""


@pytest.mark.since_kubernetes(1, 34)  # streaming lists
def test_an_idle_operator_watches_and_renews_its_lease(world, vipu):
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    until(lambda: len(renewals(proxy.since(0))) >= RENEWALS, "it leads for a while", tell=world.tell)
    assert reported(request for request in unwanted(proxy.since(0)) if "vipucontrollers" not in request.path) == ""
    until_quiet(world, proxy)
    watched = sorted({re.sub(r".*/", "", request.path) for request in proxy.since(0) if request.is_watch})
    assert watched == ["configmaps", "endpointslices", "ipujobs", "networkpolicies", "nodes", "pods", "services", "vipucontrollers"]
    assert {request.agent.split("/")[0] for request in proxy.since(0)} == {"ipu-operator"}


def test_who_comes_after_a_crash_waits_for_the_lease(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("kept")
    job.run_pods(1)
    job.wait("Running")
    before = world.lease()["spec"]["holderIdentity"]
    world.operator.kill()
    world.operator.start()
    until(lambda: world.lease()["spec"]["holderIdentity"] != before, "the lease changes hands", tell=world.tell)
    world.operator.until_working()
    world.kubelet.succeed(job.pods()["kept-worker-0"])
    job.wait("Completed")
    job.wait_released()
    assert vipu.partitions() == {}


def test_a_clean_end_hands_the_lease_over_at_once(world, vipu):
    world.start_operator(vipu.address)
    assert world.operator.end() == 0
    assert world.lease()["spec"]["holderIdentity"] == ""
    world.operator.start().until_working(12)  # a lease that was not given back lasts for 15 s


def test_many_lives_leave_nothing_open(world, vipu):
    operator = world.start_operator(vipu.address)
    world.automatic(exits=lambda pod: 0)

    def live(generation, lives=20):
        jobs = [world.job(f"life-{generation}-{n}") for n in range(lives)]
        for job in jobs:
            job.wait("Completed")
            job.delete()
        for job in jobs:
            job.wait_gone()

    def open_files():
        return len(list(Path(f"/proc/{operator.process.pid}/fd").iterdir()))

    live(0)
    settled = open_files()
    for generation in (1, 2):
        live(generation)
    until(lambda: open_files() <= settled + 2, "no more files are open than after the first of them", tell=world.tell)
    assert vipu.partitions() == {} and world.records() == {}
