"""By priority, then first come, first served: 64 IPUs and jobs of 32, 64 and 4."""

import concurrent.futures
import json
import threading
from datetime import datetime, timedelta

import pytest

from kube_api import Rejected
from test_admission import Webhooks
from waiting import until
from world import pod_template


@pytest.fixture
def webhooks(world, vipu):
    webhooks = Webhooks(world, controllers=vipu.address)
    yield webhooks
    webhooks.remove()


def waits(job):
    return job.is_in("Pending")


def test_nothing_passes_the_head(world, vipu):
    operator = world.start_operator(vipu.address, "--queue-policy", "strict")
    first = world.job("first", ipusPerJobInstance="32")
    pod = first.run_pods(1)["first-worker-0"]
    first.wait("Running")

    head = world.job("head", ipusPerJobInstance="64")
    reported = head.wait("Pending", "InsufficientIPUs")["lastMessage"]
    assert "Waiting for 64 IPUs" in reported and "32 of 64 IPUs free, no free block of this size" in reported
    assert f"{world.ns}/first (32 IPUs)" in reported

    world.cluster.next_second()
    small = world.job("small")
    reported = small.wait("Pending", "Queued")["lastMessage"]
    assert f"1 instance ahead in the queue, the first is {world.ns}/head" in reported
    assert list(vipu.partitions()) == [f"p-first-{world.ns}-0"], "4 IPUs are free, but nothing passes the head"

    at = {"controller": vipu.address, "freeIpus": 32, "totalIpus": 64}
    since = [job.get()["metadata"]["creationTimestamp"] for job in (head, small)]
    assert head.status["queue"] == {**at, "ipus": 64, "since": since[0], "position": 1, "fittingPartitions": 0, "blockedBy": [f"{world.ns}/first"]}
    assert small.status["queue"] == {**at, "ipus": 4, "since": since[1], "position": 2, "fittingPartitions": 8, "blockedBy": [f"{world.ns}/head"]}
    status, page = operator.ask("/queue")
    line = json.loads(page)["queue"]
    assert (status, [item["job"] for item in line]) == (200, [f"{world.ns}/head", f"{world.ns}/small"])
    assert [(item["position"], item["reason"]) for item in line] == [(1, "InsufficientIPUs"), (2, "Queued")]

    world.kubelet.succeed(pod)
    first.wait("Completed")
    pod = head.run_pods(1)["head-worker-0"]
    head.wait("Running")
    until(lambda: waits(small) and small.status["reason"] == "InsufficientIPUs"
          and (f"{world.ns}/head (64 IPUs)" in small.status["lastMessage"]
               or "64 IPUs just granted to jobs ahead in the queue" in small.status["lastMessage"]), "the small one is the head now",
          tell=world.tell)
    assert "0 of 64 IPUs free" in small.status["lastMessage"] and not small.pods()
    world.kubelet.succeed(pod)
    head.wait("Completed")
    small.run_pods(1)
    small.wait("Running")
    assert list(vipu.partitions()) == [f"p-small-{world.ns}-0"]


def test_who_ends_in_time_passes_the_head(world, vipu):
    """On the IPUs that are kept for the head, which starts when the deadline of the first job is over."""
    world.start_operator(vipu.address)
    first = world.job("first", ipusPerJobInstance="32", activeDeadlineSeconds=3600)
    pod = first.run_pods(1)["first-worker-0"]
    first.wait("Running")
    head = world.job("head", ipusPerJobInstance="64")
    head.wait("Pending", "InsufficientIPUs")
    world.cluster.next_second()
    unlimited = world.job("unlimited")
    unlimited.wait("Pending", "Queued")
    short = world.job("short", activeDeadlineSeconds=600)
    passed = short.run_pods(1)["short-worker-0"]
    short.wait("Running")
    assert unlimited.status["launcherStatus"] == "Pending"
    for ended in (pod, passed):
        world.kubelet.succeed(ended)
    head.run_pods(1)
    head.wait("Running")
    assert not unlimited.pods()


def test_a_limit_that_let_a_job_past_others_cannot_be_raised(webhooks, world):
    world.automatic()
    world.job("first", ipusPerJobInstance="32", activeDeadlineSeconds=600).wait("Running")
    head = world.job("head", ipusPerJobInstance="64")
    until(lambda: "reservedBlock" in head.status.get("forecast", {}), "the IPUs are promised to it", tell=world.tell)
    world.cluster.next_second()
    job = world.job("passes", ipusPerJobInstance="32", activeDeadlineSeconds=60)
    job.wait("Running")

    def rejection(**spec):
        with pytest.raises(Rejected) as rejected:
            job.patch({"spec": spec})
        return rejected.value.body["message"]

    assert "spec.activeDeadlineSeconds: Invalid value: 61: must not become longer while the job has IPUs" in rejection(activeDeadlineSeconds=61)
    assert "spec.activeDeadlineSeconds: Forbidden: must not be removed while" in rejection(activeDeadlineSeconds=None)
    assert "terminationGracePeriodSeconds: Invalid value: 3000: must not become longer" in rejection(
        workers={"template": pod_template(terminationGracePeriodSeconds=3000)})
    job.patch({"spec": {"activeDeadlineSeconds": 50}})
    job.patch({"spec": {"suspend": True, "activeDeadlineSeconds": 3600}})
    job.wait_released()
    job.patch({"spec": {"suspend": False}})
    job.wait("Pending", "Queued")


def test_a_resumed_job_queues_behind_those_that_wait(world, vipu):
    operator = world.start_operator(vipu.address)
    old = world.job("old", ipusPerJobInstance="64", suspend=True)
    old.wait("Suspended")
    empty = world.job("empty", ipusPerJobInstance="64", jobInstances=0)
    empty.wait("Pending", "ScaledToZero")
    world.job("first", ipusPerJobInstance="64").run_pods(1)
    world.cluster.next_second()
    head = world.job("head", ipusPerJobInstance="64")
    head.wait("Pending", "InsufficientIPUs")
    world.cluster.next_second()
    old.patch({"spec": {"suspend": False}})
    old.wait("Pending", "Queued")
    world.cluster.next_second()
    empty.patch({"spec": {"jobInstances": 1}})
    empty.wait("Pending", "Queued")

    def line():
        return [item["job"].split("/")[1] for item in json.loads(operator.ask("/queue")[1])["queue"]]

    until(lambda: line() == ["head", "old", "empty"], "they are in line", tell=world.tell)
    since = [job.status["queue"]["since"] for job in (head, old, empty)]
    assert since == sorted(set(since))
    operator.kill()
    operator = world.restart_operator()
    until(lambda: line() == ["head", "old", "empty"], "the next leader knows their turn", tell=world.tell)


PARTS = ("queue", "domains", "running")


def plan_of(operator):
    """The whole plan, by pages of one item."""
    page = json.loads(operator.ask("/queue?limit=1")[1])
    whole = page
    while "continue" in page:
        page = json.loads(operator.ask(f"/queue?limit=1&continue={page['continue']}")[1])
        assert sum(len(page[part]) for part in PARTS) <= 1 and "controllers" not in page
        for part in PARTS:
            whole[part] += page[part]
    return whole


def test_the_page_is_the_whole_plan(world, vipu):
    operator = world.start_operator(vipu.address)
    first = world.job("first", ipusPerJobInstance="32", activeDeadlineSeconds=7200)
    pod = first.run_pods(1)["first-worker-0"]
    first.wait("Running")
    world.job("head", ipusPerJobInstance="64").wait("Pending", "InsufficientIPUs")
    plan = until(lambda: (plan := plan_of(operator))["queue"] and "reservation" in plan["queue"][0] and plan,
                 "the plan has the reservation", tell=world.tell)
    assert plan["policy"] == "bounded" and plan["asOf"]
    assert plan["controllers"] == [{"name": vipu.address, "up": True, "policy": "bounded", "places": True, "ipus": 64, "freeIpus": 32}]
    (domain,), (running,), (head,) = plan["domains"], plan["running"], plan["queue"]
    assert (domain["controller"], domain["domain"], domain["ipus"]) == (vipu.address, 0, "f" * 16)
    (block,) = running["blocks"]
    assert int(block["ipus"], 16) ^ int(domain["free"], 16) == int(domain["ipus"], 16), "what is not free is of the job"
    assert (running["job"], running["instance"], running["ipus"], running["partition"]) == (
        f"{world.ns}/first", 0, 32, f"p-first-{world.ns}-0")
    assert (head["cause"], head["basis"]) == ("NoRoom", "Bounds") and head["latest"] == running["end"] > running["start"]
    kept = head["reservation"]
    assert kept["blocks"] == [{"domain": 0, "domains": 1, "ipus": "f" * 16}] and kept["state"] == "Kept"
    assert (kept["controller"], kept["start"], kept["promised"]) == (vipu.address, running["end"], running["end"])

    def promises():
        return {line.split('"')[1]: int(line.split()[-1]) for line in operator.ask("/metrics")[1].splitlines()
                if line.startswith("ipu_operator_promises_total")}

    assert not any(promises().values())
    world.kubelet.succeed(pod)
    until(lambda: promises()["kept"] == 1, "the promise is kept", tell=world.tell)
    assert sum(promises().values()) == 1 and not plan_of(operator)["queue"]


def test_who_waits_is_told_when_it_will_start(world, vipu):
    world.start_operator(vipu.address)
    first = world.job("first", ipusPerJobInstance="32", activeDeadlineSeconds=1800)
    pod = first.run_pods(1)["first-worker-0"]
    first.wait("Running")
    head = world.job("head", ipusPerJobInstance="64")
    until(lambda: "forecast" in head.status, "it is told when it will start", tell=world.tell)
    told = head.status["forecast"]
    assert (told["position"], told["basis"]) == (1, "Bounds")
    assert told["reservedBlock"] == {"controller": vipu.address, "places": [{"domain": "ild0", "ipus": "f" * 16}]}
    begin = datetime.fromisoformat(first.status["startTime"])
    assert begin + timedelta(minutes=30) <= datetime.fromisoformat(told["latest"]) <= begin + timedelta(minutes=35)
    assert told["earliest"] <= told["expected"] <= told["latest"]
    world.kubelet.succeed(pod)
    head.run_pods(1)
    head.wait("Running")
    assert "forecast" not in head.status


def test_a_long_queue_is_told_at_its_head_alone(world, vipu):
    """The others cost no write beside the one that says that they wait."""
    told, others = 100, 150
    world.start_operator(vipu.address)
    world.job("first", ipusPerJobInstance="64", activeDeadlineSeconds=1800).run_pods(1)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: world.job(f"waits-{i}", ipusPerJobInstance="64"), range(told + others)))

    def waiting():
        jobs = world.api.list("ipujobs", world.ns)
        return [job["status"] for job in jobs if job.get("status", {}).get("reason") in ("Queued", "InsufficientIPUs")]

    until(lambda: len(waiting()) == told + others and sum("forecast" in status for status in waiting()) == told,
          "the first hundred are told", tell=world.tell)
    writes = [event for event in map(json.loads, world.cluster.audit_log().read_text().splitlines())
              if (event["verb"], event.get("objectRef", {}).get("subresource")) == ("patch", "status")
              and event["objectRef"].get("namespace") == world.ns and event["objectRef"]["name"].startswith("waits-")]
    assert len(writes) <= 2 * (told + others) + 2 * told


def test_a_job_whose_template_is_being_checked_keeps_its_place_in_the_queue(world, vipu):
    """On the page alone: the job itself gives no reason before there is an answer."""
    proxy, may_answer = world.make_api_proxy(), threading.Event()
    proxy.before = lambda seen: "dryRun" not in seen.query or may_answer.wait(20)
    operator = world.start_operator(vipu.address, proxy=proxy)
    job = world.job("asked")
    (claim,) = until(lambda: json.loads(operator.ask("/queue")[1])["queue"], "it stands in line", tell=world.tell)
    assert (claim["job"], claim["state"]) == (f"{world.ns}/asked", "ValidatingTemplate")
    assert "reason" not in job.status and job.records() == {}
    may_answer.set()
    job.run_pods(1)
    job.wait("Running")


def test_only_who_is_in_the_way_is_named(world, vipu):
    """16 IPUs are free; the cheapest way to 32 in one block is the end of the smaller job."""
    world.start_operator(vipu.address)
    for name, ipus in (("large", "32"), ("small", "16")):
        job = world.job(name, ipusPerJobInstance=ipus)
        job.run_pods(1)
        job.wait("Running")
    head = world.job("head", ipusPerJobInstance="32")
    reported = head.wait("Pending", "InsufficientIPUs")
    assert reported["queue"]["blockedBy"] == [f"{world.ns}/small"] and f"in use by {world.ns}/small (16 IPUs)" in reported["lastMessage"]


def test_no_job_waits_when_all_fit(world, vipu):
    """While records are made one after the other, what they stand for is not counted twice."""
    jobs = [world.job(f"fits-{i:02}", ipusPerJobInstance="1") for i in range(64)]
    world.start_operator(vipu.address)
    for job in jobs:
        job.wait_pods(1)
    assert not [job.name for job in jobs if job.reasons_reported() & {"Queued", "InsufficientIPUs"}]


def test_a_head_that_gives_up_makes_way(world, vipu):
    world.start_operator(vipu.address, "--queue-policy", "strict")
    first = world.job("first", ipusPerJobInstance="32")
    first.wait_pods(1)
    head = world.job("head", ipusPerJobInstance="64")
    head.wait("Pending", "InsufficientIPUs")
    world.cluster.next_second()
    small = world.job("small")
    small.wait("Pending", "Queued")
    head.delete()
    small.wait_pods(1)
    head.wait_gone()


def test_a_head_that_cannot_start_for_another_reason_makes_way(world, vipu):
    world.start_operator(vipu.address)
    huge = world.job("huge", ipusPerJobInstance="128")
    huge.wait("Pending", "ExceedsCapacity")
    world.cluster.next_second()
    small = world.job("small", ipusPerJobInstance="64")
    small.wait_pods(1)


def test_a_job_of_many_instances_takes_what_it_gets(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("many", jobInstances=5, ipusPerJobInstance="16")
    job.wait_pods(4)
    world.automatic(lambda pod: 0)
    done = job.wait("Completed")
    assert done["completedIndexes"] == "0-4"
    job.wait_released()
    assert vipu.partitions() == {}


def priorities(operator):
    return [item["priority"] for item in json.loads(operator.ask("/queue")[1])["queue"]]


def test_a_job_of_higher_priority_goes_first(world, vipu):
    name = f"urgent-{world.ns}"
    world.api.create("priorityclasses", None, {"metadata": {"name": name}, "value": 1000})
    try:
        operator = world.start_operator(vipu.address)
        first = world.job("first", ipusPerJobInstance="64")
        pod = first.run_pods(1)["first-worker-0"]
        patient = world.job("patient", ipusPerJobInstance="64")
        patient.wait("Pending", "InsufficientIPUs")
        world.cluster.next_second()
        urgent = world.job("urgent", ipusPerJobInstance="64", workers={"template": pod_template(priorityClassName=name)})
        urgent.wait("Pending", "InsufficientIPUs")
        patient.wait("Pending", "Queued")
        assert priorities(operator) == [1000, 0]
        world.kubelet.succeed(pod)
        urgent.wait_pods(1)
        assert not patient.pods()
        urgent.patch({"spec": {"jobInstances": 2}})
        until(lambda: priorities(operator) == [1000, 0], "its next instance stands before the patient one", tell=world.tell)
        assert operator.end() == 0
        operator = world.start_operator(vipu.address)
        until(lambda: priorities(operator) == [1000, 0], "and still does, though a pod of that name exists", tell=world.tell)
    finally:
        world.api.delete("priorityclasses", None, name)


def test_only_listed_priority_classes_order_the_queue(world, vipu):
    """What the API server's admission makes of a class: kubernetes/kubernetes, plugin/pkg/admission/priority/admission.go."""
    listed, other = f"listed-{world.ns}", f"other-{world.ns}"
    for name, value in ((listed, 10), (other, 1000)):
        world.api.create("priorityclasses", None, {"metadata": {"name": name}, "value": value})
    try:
        operator = world.start_operator(vipu.address, f"--queue-priority-classes={listed}")
        world.job("first", ipusPerJobInstance="64").wait_pods(1)
        for name, of in (("plain", None), ("system", "system-node-critical"), ("unlisted", other), ("urgent", listed)):
            template = pod_template(priorityClassName=of) if of else pod_template()
            world.job(name, ipusPerJobInstance="64", workers={"template": template}).wait("Pending")
            world.cluster.next_second()
        line = until(lambda: (items := json.loads(operator.ask("/queue")[1])["queue"]) and len(items) == 4 and items, "all wait",
                     tell=world.tell)
        assert [(item["job"].split("/")[1], item["priority"]) for item in line] == [
            ("urgent", 10), ("plain", 0), ("system", 0), ("unlisted", 0)]
    finally:
        for name in (listed, other):
            world.api.delete("priorityclasses", None, name)
