"""A process that may still run keeps its IPUs from everybody else: held first, then cut off by the removal."""

import re
import time
from datetime import datetime, timezone

import pytest

from api_proxy import FORBIDDEN
from kubelet import now
from waiting import until

HOLD_S = 10  # and seen before it is over
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
RELEASE = "graphcore.ai/release"


def lose_the_pod(world, job):
    """It runs, and is then removed from the API by force; its partition."""
    pod = job.run_pods(1)[f"{job.name}-worker-0"]
    job.wait("Running")
    job.lost_at = time.monotonic()
    world.kubelet.vanish(pod)
    return pod["metadata"]["annotations"]["graphcore.ai/partition"]


def wait_held(world, job, partition):
    reported = job.wait("Restarting", "TerminationUnconfirmed")["lastMessage"]
    assert f"{job.name}-worker-0" in reported and world.kubelet.node in reported and partition in reported
    return reported


def new_partition(job, old):
    """That of the pod that was started anew."""
    def started():
        for pod in job.pods().values():
            name = pod["metadata"]["annotations"]["graphcore.ai/partition"]
            if name != old:
                return name
        return None
    return until(started, f"{job.name} has another partition", tell=job.world.tell)


def finish(world, vipu, job):
    world.kubelet.run(job.pods()[f"{job.name}-worker-0"])
    job.wait("Running")
    world.kubelet.succeed(job.pods()[f"{job.name}-worker-0"])
    job.wait("Completed")
    job.wait_released()
    assert vipu.partitions() == {}


@pytest.fixture
def front(world, vipu):
    """A proxy that remembers every write, and when it came."""
    proxy = world.make_vipu_proxy(vipu)
    proxy.writes = []

    def note(method, request):
        if method in ("CreatePartition", "RemovePartition", "ResetPartition"):
            proxy.writes.append((method, time.monotonic()))
        return True
    proxy.before = note
    return proxy


def when(front, method):
    return [at for name, at in front.writes if name == method]


def test_a_force_deleted_pod_holds_its_partition(world, vipu, front):
    world.start_operator(front.address, "--hold-seconds", HOLD_S)
    job = world.job("lost", ipusPerJobInstance="64")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    assert old in vipu.partitions()
    other = world.job("other")
    other.wait("Pending", "InsufficientIPUs")
    until(lambda: old not in vipu.partitions(), "the partition is removed", tell=world.tell)
    assert min(when(front, "RemovePartition")) >= job.lost_at + HOLD_S - 0.1
    assert when(front, "ResetPartition") == [], "never reset"
    new = until(lambda: set(vipu.partitions()) - {old}, "the next attempt", tell=world.tell)
    assert old not in new, "the id is not used again"
    world.automatic(lambda pod: 0)
    for waiting in (job, other):
        waiting.wait("Completed")
        waiting.wait_released()
    assert vipu.partitions() == {}


def test_a_pod_whose_creation_got_no_answer_holds_its_partition(world, front):
    """The repetition of the request is rejected, as for a quota that the pod of the first try uses."""
    proxy = world.make_api_proxy()

    def is_creation(seen):
        return seen.is_write and seen.method == "POST" and seen.path.endswith("/pods")
    proxy.after = lambda seen: not is_creation(seen)
    proxy.rejects = lambda seen: is_creation(seen) and sum(map(is_creation, proxy.since(0))) > 1
    proxy.withholds = lambda seen: seen.path.endswith("/pods") and any(map(is_creation, proxy.since(0)))
    world.start_operator(front.address, proxy=proxy)
    job = world.job("unanswered")
    until(lambda: FORBIDDEN in job.status.get("lastMessage", ""), "the rejection is reported", tell=world.tell)
    assert job.is_in("Starting") and job.records() and when(front, "RemovePartition") == []
    proxy.after, proxy.rejects, proxy.withholds = (lambda seen: True), (lambda seen: False), (lambda seen: False)
    proxy.hang_up_streams()
    job.run_pods(1)
    job.wait("Running")
    assert when(front, "RemovePartition") == []


def test_an_out_of_service_node_ends_the_hold(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("fenced")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    world.kubelet.taint(OUT_OF_SERVICE)
    job.wait_pods(1)
    world.kubelet = world.make_node("ipu-spare")
    finish(world, vipu, job)


def test_a_rebooted_node_ends_the_hold(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("rebooted")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    world.kubelet.boot("boot-2")
    job.wait_pods(1)
    finish(world, vipu, job)


def test_an_admin_ends_the_hold(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("vouched")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    job.annotate(**{RELEASE: old})
    job.wait_pods(1)
    finish(world, vipu, job)


def test_a_hold_says_until_when_and_how_to_end_it(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("told")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    job.delete()
    held = job.wait("Terminating", "TerminationUnconfirmed")
    told = re.fullmatch(r"Deleting: holding partition (\S+) until (\S+): processes of pod told-worker-0 on node \S+ may still be "
                        r"running\. If none is running, release it now: kubectl annotate -n (\S+) ipujob (\S+) (\S+)=(\S+)",
                        held["lastMessage"])
    assert told, held["lastMessage"]
    ends_in_s = (datetime.fromisoformat(told[2]) - datetime.now(timezone.utc)).total_seconds()
    assert 300 < ends_in_s <= 601
    assert (told[1], told[3], told[4], told[5], told[6]) == (old, world.ns, "told", RELEASE, old)
    assert [item["state"] for item in held["partitions"]] == ["Held"]
    until(lambda: "TerminationUnconfirmed" in job.reasons_reported(), "an event tells it", tell=world.tell)
    job.annotate(**{told[5]: told[6]})
    job.wait_gone()
    assert vipu.partitions() == {}


def test_a_partition_that_is_gone_is_not_held(world, vipu):
    """Its removal is the fence, whoever removed it."""
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("fenceless", ipusPerJobInstance="64")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    job.delete()
    job.wait("Terminating", "TerminationUnconfirmed")
    other = world.job("other", ipusPerJobInstance="64")
    assert f"in use by {world.ns}/fenceless (64 IPUs)" in other.wait("Pending", "InsufficientIPUs")["lastMessage"]
    vipu.client.remove(old)
    job.wait_gone()
    other.run_pods(1)
    other.wait("Running")
    assert set(world.spent()) == {old}, "its process may live, and knows the id"


def test_a_restart_in_the_middle_of_the_hold_does_not_end_it(world, vipu, front):
    world.start_operator(front.address, "--hold-seconds", HOLD_S)
    job = world.job("forgot")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    world.operator.kill()
    restarted_at = time.monotonic()
    world.restart_operator()
    new = new_partition(job, old)
    assert new != old
    assert min(when(front, "RemovePartition")) >= restarted_at + HOLD_S - 1, "a restarted operator waits the full hold again"
    assert when(front, "ResetPartition") == []
    finish(world, vipu, job)


def test_deletion_of_a_job_whose_pod_is_lost_waits_too(world, vipu, front):
    world.start_operator(front.address, "--hold-seconds", HOLD_S)
    job = world.job("gone")
    old = lose_the_pod(world, job)
    wait_held(world, job, old)
    job.delete()
    reported = job.wait("Terminating")["lastMessage"]
    assert old in reported and "may still be running" in reported
    job.wait_gone()
    assert min(when(front, "RemovePartition")) >= job.lost_at + HOLD_S - 0.1
    assert vipu.partitions() == {} and world.records() == {}
    assert set(world.spent()) == {old}
    again = world.job("gone")
    new = again.run_pods(1)["gone-worker-0"]["metadata"]["annotations"]["graphcore.ai/partition"]
    assert new != old, "a process that lives on would find it by its id"
    again.wait("Running")
    world.operator.kill()
    world.restart_operator()
    finish(world, vipu, again)
    assert set(world.spent()) == {old}


def test_a_spent_id_is_free_when_its_pod_has_ended(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", "2")
    job = world.job("stuck")
    pod = job.run_pods(1)["stuck-worker-0"]
    job.wait("Running")
    job.delete()  # its kubelet does not answer
    job.wait_gone()
    until(lambda: set(world.spent()) == {f"p-stuck-{world.ns}-0"}, "the id is kept", tell=world.tell)
    world.kubelet.end_deleted(pod)
    until(lambda: world.spent() == {}, "the id is free again, and nothing is on its way to it", tell=world.tell)


def test_a_pod_that_the_garbage_collector_called_failed_proves_nothing(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("swept", restartPolicy={"type": "OnFailure"})
    pod = job.run_pods(1)["swept-worker-0"]
    job.wait("Running")
    running = pod["status"]["containerStatuses"]
    world.api.patch("pods", world.ns, "swept-worker-0", {"status": {
        "phase": "Failed", "containerStatuses": running, "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "status")
    world.kubelet.vanish(pod)
    held = job.wait("Restarting", "TerminationUnconfirmed")
    assert held["failures"][0]["reason"] == "NodeLost"
    assert list(vipu.partitions()) == [f"p-swept-{world.ns}-0"]


def test_a_lost_node_fails_a_job_that_never_restarts_and_its_ipus_are_held(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("lost")
    pod = job.run_pods(1)["lost-worker-0"]
    job.wait("Running")
    # The cluster resets a condition that is two minutes old on a pod that is not being deleted.
    world.api.patch("pods", world.ns, "lost-worker-0", {"status": {"conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
         "lastTransitionTime": now()}]}}, "status")
    world.api.delete("pods", world.ns, "lost-worker-0")
    until(lambda: "NodeLost" in job.reasons_reported(), "an event tells it", tell=world.tell)
    world.kubelet.vanish(pod)  # by force: its kubelet has said nothing
    job.wait("Failed", "NodeLost")
    assert list(vipu.partitions()) == [f"p-lost-{world.ns}-0"]
    job.annotate(**{RELEASE: f"p-lost-{world.ns}-0"})
    job.wait_released()


def test_a_pod_that_never_had_a_node_is_not_held(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    job = world.job("unbound")
    first = job.wait_pods(1)["unbound-worker-0"]
    world.kubelet.vanish(first)
    until(lambda: (pod := job.pods().get("unbound-worker-0")) and pod["metadata"]["uid"] != first["metadata"]["uid"],
          "it comes back", tell=world.tell)
    assert list(vipu.partitions()) == [f"p-unbound-{world.ns}-0"]


def test_a_pod_that_gets_its_node_while_it_is_deleted_is_waited_for(world, vipu):
    """Deleted without its node's knowledge, it may still run."""
    proxy = world.make_api_proxy()
    bound = []

    def bind_first(seen):
        if seen.method == "DELETE" and seen.path.endswith("/pods/late-worker-0") and not bound:
            bound.append(job.pods()["late-worker-0"])
            world.kubelet.bind(bound[0])
        return True

    world.start_operator(vipu.address, "--hold-seconds", 600, proxy=proxy)
    job = world.job("late")
    job.wait_pods(1)
    proxy.before = bind_first
    job.patch({"spec": {"suspend": True}})
    until(lambda: bound and job.pods()["late-worker-0"]["metadata"].get("deletionTimestamp"),
          "its node is asked to end it", tell=world.tell)
    world.kubelet.end_deleted(job.pods()["late-worker-0"])
    job.wait("Suspended")
    job.wait_released()
    assert vipu.partitions() == {}


def test_a_namespace_that_goes_takes_its_job_along_and_the_ipus_come_back(world, vipu):
    world.start_operator(vipu.address, "--hold-seconds", 600)
    ns = world.make_namespace(f"{world.ns}-gone")
    world.automatic()
    job = world.job("inside", ns=ns)
    job.wait("Running")
    world.api.delete("namespaces", None, ns)
    job.wait_gone()
    until(lambda: world.api.get("namespaces", None, ns) is None, "the namespace has gone", tell=world.tell)
    assert vipu.partitions() == {} and world.records() == {}
