"""Nodes that are lost, and parts of the cluster that are killed while jobs run."""

import kube
import pytest
from jobs import UNTIL_TOLD, Job, job, mpi, over_both_nodes, untagged
from stack import SECOND, SPARE

pytestmark = pytest.mark.timeout(900)
SLOW_S = 150
LEAVES_SOON = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
               "tolerationSeconds": 1}
ONLY_THERE = {"nodeSelector": {"kubernetes.io/hostname": SECOND}, "tolerations": [SPARE]}
RATHER_THERE = {"tolerations": [SPARE, LEAVES_SOON], "affinity": {"nodeAffinity": {
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": [SECOND]}]}}]}}}


def node_of(made):
    pod = made.pod()
    return pod and pod["spec"].get("nodeName")


def led_from_the_first_node(name):
    """A job with a worker on each node, and its launcher where nothing happens."""
    made = mpi(name, UNTIL_TOLD, pod=over_both_nodes(name))
    made["spec"]["launcher"]["template"] = {"spec": {"nodeSelector": {"kubernetes.io/hostname": "node1"}}}
    return made


def test_a_lost_node_holds_its_ipus_and_then_loses_them(stack, namespace, start):
    lost = start(job("lost", UNTIL_TOLD, ipus=8, pod={**ONLY_THERE, "tolerations": [SPARE, LEAVES_SOON]}))
    moves = start(job("moves", UNTIL_TOLD, ipus=8, pod=RATHER_THERE, restartPolicy={"type": "OnFailure"}))
    led = start(led_from_the_first_node("led"))
    for one in (lost, moves):
        one.wait_for_state("Running", seconds=SLOW_S)
        assert node_of(one) == SECOND
    led.wait_for_state("Running", seconds=SLOW_S)
    kube.wait_for("both ranks run", lambda: len(untagged(namespace.attempt("logs", "led-launcher").stdout)) == 2, SLOW_S)
    there = next(n for n in (0, 1) if led.pod(n)["spec"]["nodeName"] == SECOND)
    first = {f"p-{name}-{namespace.namespace}-0" for name in ("lost", "moves")}
    with stack.cut_off():
        named = led.wait_for_reason("WorkerLost", SLOW_S)["failures"][0]
        assert (named["pod"], named["node"]) == (f"led-worker-{there}", SECOND), "not the launcher that misses it"
        stack.wait_until_ready(SECOND, False)
        kube.wait_for("its pods are asked to go", lambda: lost.pod()["metadata"].get("deletionTimestamp"), SLOW_S)
        assert first <= stack.partitions().keys(), "their processes may still run"

        ended = lost.wait_for_state("Failed", seconds=SLOW_S)
        assert ended["reason"] == "NodeLost" and SECOND in ended["failures"][0]["node"]
        kube.wait_for(moves.reported, lambda: node_of(moves) == "node1", SLOW_S)
        again = moves.wait_for_state("Running", seconds=SLOW_S)
        assert led.wait_for_state("Failed", seconds=SLOW_S)["reason"] == "WorkerLost"
        kube.wait_for("the removal of the partitions was the fence", lambda: not first & stack.partitions().keys(), SLOW_S)
        kube.wait_for("only what runs has one", lambda: len(stack.partitions()) == 1, SLOW_S)
        assert again["restartCount"] == 1
    stack.wait_until_ready(SECOND)
    moves.let_end()
    moves.wait_for_state("Completed")


def test_a_killed_kubelet_changes_nothing_for_running_jobs(stack, namespace, start):
    alone = start(job("alone", UNTIL_TOLD, pod=ONLY_THERE))
    apart = start(mpi("apart", UNTIL_TOLD, pod=over_both_nodes("apart")))
    for made in (alone, apart):
        made.wait_for_state("Running", seconds=SLOW_S)
    stack.kill_component("kubelet-node2", "kubelet")
    stack.revive()
    kube.wait_for("the kubelet answers", lambda: namespace.attempt("exec", "alone-worker-0", "--", "true").returncode == 0)
    for made, number in ((alone, 0), (apart, 0), (apart, 1)):
        made.let_end(number)
    for made in (alone, apart):
        assert made.wait_for_state("Completed", seconds=SLOW_S)["restartCount"] == 0
    assert alone.log().splitlines()[-1] == "over"
    assert untagged(namespace("logs", "apart-launcher")).count("over") == 2


@pytest.mark.parametrize("kill", ["api-server", "vipu-server"])
def test_jobs_outlive_the_death_of_what_they_are_run_by(stack, namespace, kill):
    names = [f"outlives-{n}" for n in range(4)]
    namespace.create(*(job(name, "sleep 3; echo over", ipus=16) for name in names))
    made = [Job(namespace, name) for name in names]
    made[0].wait_for_state("Starting", "Running", "Completed", seconds=SLOW_S)  # a look can come late
    if kill == "api-server":
        stack.kill_component("kube-apiserver", "kube-apiserver")
        stack.revive()
    else:
        stack.kill_vipu_server()
    for one in made:
        one.wait_for_state("Completed", seconds=SLOW_S)
        assert one.status["restartCount"] == 0 and one.log().strip() == "over"
    kube.wait_for("no partition is left", lambda: not stack.partitions(), SLOW_S)
