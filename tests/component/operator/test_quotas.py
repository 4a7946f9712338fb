"""Quotas and shares of namespaces, and policies of single V-IPU controllers."""

import json

from waiting import until
from world import OPERATOR_NS

HISTORY = "ipu-operator-history"


def test_who_is_over_quota_waits_and_blocks_nobody(world, vipu):
    world.start_operator(vipu.address, "--queue-quotas", f"{world.ns}=32,*=48", "--queue-policy", "strict")
    first = world.job("first", ipusPerJobInstance="32")
    pods = first.run_pods(1)
    first.wait("Running")
    over = world.job("over", ipusPerJobInstance="16")
    assert over.wait("Pending", "IPUQuotaExceeded")["lastMessage"] == (
        f"Waiting for 16 IPUs: namespace {world.ns} holds 32 of its quota of 32 IPUs; it starts when jobs of the namespace have ended")
    large = world.job("large", ipusPerJobInstance="64")
    assert f"namespace {world.ns} may hold 32 IPUs" in large.wait("Pending", "IPUQuotaExceeded")["lastMessage"]
    other = world.job("other", ns=world.make_namespace(f"{world.ns}-other"), ipusPerJobInstance="32")
    other.run_pods(1)
    world.operator.kill()
    world.restart_operator()
    over.wait("Pending", "IPUQuotaExceeded")
    for pod in pods.values():
        world.kubelet.succeed(pod)
    over.run_pods(1)
    over.wait("Running")
    large.wait("Pending", "IPUQuotaExceeded")


def test_instances_of_one_job_never_hold_more_than_the_quota(world, vipu):
    """They are granted together, before any record is seen."""
    world.start_operator(vipu.address, "--queue-quotas", "*=3")
    many = world.job("many", jobInstances=10, ipusPerJobInstance="1")
    until(lambda: len(world.records()) == 3, "as many as the quota allows", tell=world.tell)
    many.run_pods(3)
    assert len(world.records()) == 3


def test_who_is_behind_the_quota_of_the_queue_enters_by_itself(world, vipu):
    world.start_operator(vipu.address, "--queue-instance-quotas", f"{world.ns}=2")
    holds = world.job("holds", ipusPerJobInstance="64")
    pods = holds.run_pods(1)
    holds.wait("Running")
    waiting = []
    for name in ("first", "second", "third"):
        waiting.append(world.job(name, ipusPerJobInstance="32"))
        waiting[-1].wait("Pending", "QueueQuotaExceeded" if name == "third" else "InsufficientIPUs" if name == "first" else "Queued")
        world.cluster.next_second()
    first, second, third = waiting
    assert third.wait("Pending", "QueueQuotaExceeded")["lastMessage"].startswith(
        f"Waiting for 32 IPUs: not in the queue yet, because namespace {world.ns} has 2 instances there, its quota")
    other = world.job("other", ns=world.make_namespace(f"{world.ns}-other"), ipusPerJobInstance="32")
    assert other.wait("Pending", "Queued")["queue"]["position"] == 3
    world.operator.kill()
    world.restart_operator()
    third.wait("Pending", "QueueQuotaExceeded")
    first.delete()
    assert third.wait("Pending", "Queued")["queue"]["position"] == 2
    for pod in pods.values():
        world.kubelet.succeed(pod)
    second.run_pods(1)
    third.run_pods(1)
    second.wait("Running")
    third.wait("Running")


def test_a_controller_may_have_its_own_policy(world, vipu):
    host, port = vipu.address.rsplit(":", 1)
    operator = world.start_operator([{"host": host, "port": int(port), "policy": "strict"}])
    page = json.loads(operator.ask("/queue")[1])
    assert (page["policy"], page["controllers"][0]["policy"]) == ("bounded", "strict")


def test_a_new_leader_knows_what_namespaces_have_used(world, vipu):
    flags = ("--queue-share-half-life-seconds", "604800", "--history", HISTORY)
    world.keep(None, lambda: world.api.delete("configmaps", OPERATOR_NS, HISTORY))
    operator = world.start_operator(vipu.address, *flags)
    used = world.job("used", ipusPerJobInstance="64")
    for pod in used.run_pods(1).values():
        world.kubelet.succeed(pod)
    used.wait_released()

    def stored():
        return (world.api.get("configmaps", OPERATOR_NS, HISTORY) or {}).get("data") or {}
    ns_hash, ipu_s = until(lambda: stored().get("usage"), "its usage is stored", tell=world.tell).split()
    assert int(ipu_s) % 64 == 0 and world.ns not in json.dumps(stored())
    operator.kill()
    world.api.patch("configmaps", OPERATOR_NS, HISTORY, {"data": {"usage": f"{ns_hash} 1000000\n"}})

    world.restart_operator()
    operator.until_logged(r"history of run times read .*runs\W+1\b")
    third = world.make_namespace(f"{world.ns}-third")
    first = world.job("first", ns=third, ipusPerJobInstance="64")
    pods = first.run_pods(1)
    older = world.job("older", ipusPerJobInstance="64")
    assert older.wait("Pending", "InsufficientIPUs")["queue"]["position"] == 1
    world.cluster.next_second()
    shares = json.loads(operator.ask("/queue")[1])["shares"]
    told = {item["namespace"]: item for item in shares["namespaces"]}
    assert shares["halfLifeSeconds"] == 604800 and 277 <= told[world.ns]["usedIpuHours"] <= 278 and told[third]["weight"] == 1
    assert f'ipu_operator_share_weight{{job_namespace="{third}"}} 1\n' in operator.ask("/metrics")[1]
    percent = {"namespace": world.ns, "usedPercent": 100, "weight": 1}
    until(lambda: any(percent in (vipu.get("status") or {}).get("shares", {}).get("namespaces", [])
                      for vipu in world.api.list("vipucontrollers")), "users see the shares", tell=world.tell)
    younger = world.job("younger", ns=world.make_namespace(f"{world.ns}-other"), ipusPerJobInstance="64")
    younger.wait("Pending", "InsufficientIPUs")
    assert "the first is " + f"{younger.ns}/younger" in older.wait("Pending", "Queued")["lastMessage"]
    for pod in pods.values():
        world.kubelet.succeed(pod)
    younger.run_pods(1)
    older.wait("Pending", "InsufficientIPUs")
