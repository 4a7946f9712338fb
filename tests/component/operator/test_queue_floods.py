"""Jobs of thousands of instances each, which a user who may create jobs can ask for with a few requests. A job's waiting instances are
counted, not listed: memory stays within a bound, the lease is renewed, and free IPUs are granted at once."""

import concurrent.futures
import datetime
import itertools
import json
import re

import pytest

from operator_program import Operator
from ports import free_port
from test_admission import Webhooks, job
from test_page_floods import BOUND_BYTES, PROMPT_S, forget_peak, peak_bytes, small_quarantine  # noqa: F401
from waiting import DEADLINE_S, until
from world import LEASE

JOBS, INSTANCES = 100, 10_000
IPUS = 64
RENEW_DEADLINE_S = 10  # the lease is lost then
NO_LIMIT = ("--queue-max-waiting-instances", 0, "--queue-max-waiting-instances-per-namespace", 0)


def waiting(operator):
    """How many instances wait for IPUs, by the pages of the queue."""
    total, token = 0, ""
    while token is not None:
        page = json.loads(operator.ask(f"/queue?continue={token}")[1])
        total += sum(item["instances"] for item in page["queue"] if item["state"] == "Waiting")
        token = page.get("continue")
    return total


def requests(world, resource, *verbs):
    """When they came to the API server, and the names of their objects."""
    for line in world.cluster.audit_log().read_text().splitlines():
        event = json.loads(line)
        about = event.get("objectRef", {})
        if event["verb"] in verbs and about.get("resource") == resource:
            yield datetime.datetime.fromisoformat(event["requestReceivedTimestamp"]), about.get("name", "")


def moments(world, verb, job):
    """When requests for records of partitions of jobs with this prefix came to the API server."""
    return sorted(at for at, name in requests(world, "configmaps", verb) if re.match(f"p-{job}.*-{world.ns}-", name))


def test_jobs_of_ten_thousand_instances_cost_no_more_than_small_ones(world, vipu):
    operator = world.start_operator(vipu.address, *NO_LIMIT)
    first = world.job("first", ipusPerJobInstance="64")
    pod = first.run_pods(1)["first-worker-0"]
    first.wait("Running")
    idle, before, flooded = forget_peak(operator), world.lease()["spec"], datetime.datetime.now(datetime.timezone.utc)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: world.job(f"flood-{i}", jobInstances=INSTANCES, ipusPerJobInstance="1"), range(JOBS)))
    until(lambda: waiting(operator) == JOBS * INSTANCES, "all wait", 4 * DEADLINE_S, world.tell)
    world.kubelet.succeed(pod)
    until(lambda: len(world.records()) == IPUS, "the free IPUs are granted", tell=world.tell)
    until(lambda: waiting(operator) == JOBS * INSTANCES - IPUS, "the others wait", tell=world.tell)
    begin, end = max(moments(world, "delete", "first")), min(moments(world, "create", "flood"))
    assert (end - begin).total_seconds() < PROMPT_S

    renewals = sorted(at for at, name in requests(world, "leases", "update", "patch") if name == LEASE and at > flooded)
    pause_s = max((later - at).total_seconds() for at, later in itertools.pairwise(renewals))
    assert pause_s < RENEW_DEADLINE_S
    print(f"figure: with a million instances waiting, free IPUs are granted within {1000 * (end - begin).total_seconds():.0f} ms, and the"
          f" lease is renewed every {pause_s:.1f} s at most")

    assert peak_bytes(operator) - idle < BOUND_BYTES
    until(lambda: world.lease()["spec"]["renewTime"] > before["renewTime"], "the lease is renewed", tell=world.tell)
    after = world.lease()["spec"]
    assert operator.is_alive()
    assert (after["holderIdentity"], after["leaseTransitions"]) == (before["holderIdentity"], before["leaseTransitions"])


LIMITS = ("--queue-max-waiting-instances", 12, "--queue-max-waiting-instances-per-namespace", 10)


def too_many(limit, where, value):
    """One more than may wait."""
    return (f"spec.jobInstances: Forbidden: at most {limit} instances may wait for IPUs in {where}, and 8 wait now; reduce"
            f" spec.jobInstances by 1 or more, delete jobs that wait, or ask an admin to raise {value} in the chart's values")


@pytest.fixture
def webhooks(world, vipu):
    webhooks = Webhooks(world, *LIMITS, controllers=vipu.address)
    yield webhooks
    webhooks.remove()


def test_every_replica_rejects_more_instances_than_may_wait(webhooks, tmp_path):
    world, port, folder = webhooks.world, free_port(), tmp_path / "standby"  # the leader has its own
    world.job("first", ipusPerJobInstance="64").run_pods(1)
    world.job("waits", ipusPerJobInstance="64", jobInstances=8).wait("Pending", "InsufficientIPUs")
    folder.mkdir()
    standby = Operator(folder, *world.operator.flags[:-len((*Webhooks.flags(port), *LIMITS))], *Webhooks.flags(port), *LIMITS, "--pod-name", "standby").start()
    try:
        until(lambda: standby.health("/readyz") == 200, "the standby is ready", tell=standby.tail)
        for asked in (webhooks.port, port):
            def message(instances, ns=None, asked=asked, **more):
                answer = webhooks.verdict(job(jobInstances=instances), port=asked, ns=ns, **more)
                return answer["status"]["message"] if not answer["allowed"] else ""

            of_ns = too_many(10, f"namespace {world.ns}", "queue.maxWaitingInstancesPerNamespace")
            until(lambda: of_ns in message(3), "it is rejected", tell=lambda: message(3) + standby.tail())
            assert message(2) == ""
            assert too_many(12, "the cluster", "queue.maxWaitingInstances") in message(5, ns="default")
            assert message(4, ns="default") == ""
            assert message(5, old=job(jobInstances=3)) == "", "two more"
        code = standby.end()
    finally:
        standby.kill()
    standby.check_sanitizers()
    assert code == 0


def test_a_job_that_may_not_wait_says_so_until_it_may(world, vipu):
    """It was stored all the same: several jobs were created at once, or there are no webhooks."""
    world.start_operator(vipu.address, *LIMITS)
    first = world.job("first", ipusPerJobInstance="64")
    first.run_pods(1)
    waits = world.job("waits", ipusPerJobInstance="64", jobInstances=10)
    waits.wait("Pending", "InsufficientIPUs")
    world.cluster.next_second()
    late = world.job("late", ipusPerJobInstance="64")
    reported = late.wait("Pending", "QueueFull")["lastMessage"]
    assert f"namespace {world.ns} has 10 waiting instances, the limit" in reported
    waits.patch({"spec": {"jobInstances": 9}})
    assert "1 instance ahead in the queue" in late.wait("Pending", "Queued")["lastMessage"]
