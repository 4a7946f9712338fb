"""/metrics of the operator, read by a parser that is not ours."""

import json
import re

from operator_program import ROOT
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from waiting import until


def families(operator):
    status, text = operator.ask("/metrics")
    assert status == 200
    return list(text_string_to_metric_families(text))


def samples(operator):
    """(Name, values of the labels in order of their names) -> value."""
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in families(operator) for sample in family.samples}


def test_jobs_ipus_and_the_line_are_told(world, vipu):
    operator = world.start_operator(vipu.address)
    vipu.client.create("theirs", size=8, reconfigurable=True)
    holds = world.job("holds", ipusPerJobInstance="32")
    pod = holds.run_pods(1)["holds-worker-0"]
    holds.wait("Running")
    world.job("waits", ipusPerJobInstance="64").wait("Pending", "InsufficientIPUs")
    until(lambda: samples(operator)["ipu_operator_foreign_partitions", vipu.address] == 1, "all is listed", 30, world.tell)
    told = samples(operator)
    assert told["ipu_operator_leader",] == 1 and told["ipu_operator_controller_up", vipu.address] == 1
    assert told["ipu_operator_jobs", "Running"] == 1 and told["ipu_operator_jobs", "Pending"] == 1
    assert told["ipu_operator_waiting_instances",] == 1 and told["ipu_operator_pods",] == 1
    assert told["ipu_operator_partition_records",] == 1
    assert told["ipu_operator_ipus", vipu.address, "held"] == 32
    assert told["ipu_operator_ipus", vipu.address, "foreign"] == 8
    assert told["ipu_operator_ipus", vipu.address, "free"] == 24
    assert told["ipu_operator_largest_free_block_ipus", vipu.address] == 16
    assert abs(told["ipu_operator_fragmentation_ratio", vipu.address] - 1 / 3) < 0.001
    assert told["ipu_operator_api_requests_total", "POST", "pods"] >= 2  # the question, and the pod
    assert told["ipu_operator_reconciles_total", "acted"] > 0

    world.kubelet.succeed(pod)
    holds.wait("Completed")
    vipu.kill()
    until(lambda: samples(operator)["ipu_operator_controller_up", vipu.address] == 0, "its silence is told", 60, world.tell)
    assert operator.health("/readyz") == operator.health("/healthz") == 200, "a dead controller is no illness of the operator"
    vipu.start()


def test_the_time_of_each_phase_is_told_when_it_ends(world, vipu):
    operator = world.start_operator(vipu.address)
    counts = lambda: {key[1]: value for key, value in samples(operator).items()  # noqa: E731
                      if key[0] == "ipu_operator_phase_duration_seconds_count"}
    nothing = dict.fromkeys(("queued", "allocating", "scheduling", "pulling", "starting", "running"), 0)
    assert counts() == nothing
    job = world.job("timed")
    pod = job.wait_pods(1)["timed-worker-0"]
    until(lambda: counts() == nothing | {"queued": 1, "allocating": 1}, "it got its IPUs", 30, world.tell)
    world.kubelet.run(pod)
    until(lambda: counts() == nothing | dict.fromkeys(("queued", "allocating", "scheduling", "pulling", "starting"), 1),
          "it runs", 30, world.tell)
    world.kubelet.succeed(pod)
    job.wait("Completed")
    assert counts() == dict.fromkeys(nothing, 1)
    told = samples(operator)
    assert told["ipu_operator_vipu_request_duration_seconds_count", vipu.address, "CreatePartition"] == 1
    assert told["ipu_operator_api_request_duration_seconds_count", "POST", "pods"] == 2
    assert told["ipu_operator_reconcile_duration_seconds_count",] > 0
    operator.kill()
    world.restart_operator()
    assert counts() == nothing, "what ended before is not counted twice"


def test_series_do_not_grow_with_jobs(world, vipu):
    operator = world.start_operator(vipu.address)
    world.job("first", suspend=True).wait("Suspended")
    world.job("waits", ipusPerJobInstance="128").wait("Pending", "ExceedsCapacity")
    # One series for each kind of request, from the first of its kind on.
    series = lambda: {key for key in samples(operator) if not key[0].startswith("ipu_operator_api_")}  # noqa: E731
    before = series()
    for n in range(200):
        world.job(f"job-{n}", suspend=True)
    until(lambda: samples(operator)["ipu_operator_jobs", "Suspended"] == 201, "all are counted", 120, world.tell)
    assert series() == before
    told = samples(operator)
    assert not any("job" in label for key in told for label in key[1:] if label != "ipujobs")
    assert told["ipu_operator_waiting_instances",] == 1 and told["ipu_operator_longest_wait_seconds",] >= 0


def test_a_deletion_that_does_not_end_shows(world, vipu):
    operator = world.start_operator(vipu.address)
    job = world.job("stuck")
    job.run_pods(1)
    job.wait("Running")
    assert samples(operator)["ipu_operator_longest_deletion_seconds",] == 0
    job.delete()
    until(lambda: samples(operator)["ipu_operator_longest_deletion_seconds",] > 0, "its age is told", 30, world.tell)


def test_the_page_of_the_docs_has_the_same_table(world, vipu):
    operator = world.start_operator(vipu.address)
    rows = re.findall(r"^\| `((?:ipu_operator|process)_\w+)` \| (\w+) \| (.+) \|$", (ROOT / "docs/observability.md").read_text(), re.M)
    assert rows == [(family.name, family.type, family.documentation.rstrip(".")) for family in families(operator)]


def test_the_pages_of_the_vendors_proxy(world, vipu):
    """Recorded: 4 IPUs of 32 in use in `default`; 28 are left, 14 partitions of 2 fit, and none of 64."""
    operator = world.start_operator(world.make_vipu("clusters: [{id: c, agents: 8}]\n", "small").address)
    world.job("uses").run_pods(1)
    until(lambda: json.loads(operator.ask("/stats")[1])["total"]["used"] == 4, "it is counted", 30, world.tell)
    assert json.loads(operator.ask("/stats")[1]) == {
        world.ns: {"used": 4, "available": 28}, "total": {"used": 4, "available": 28}}
    query = lambda size: json.loads(operator.ask("/query", json.dumps({"size": size}))[1])  # noqa: E731
    assert query(2) == {"available": True, "numOfPartitions": 14, "message": "", "largestPartition": 16}
    assert query(64) == {"available": True, "numOfPartitions": 0, "message": "", "largestPartition": 16}
    assert operator.ask("/health")[0] == 200
    for body, status in (('{"size": 0}', 400), ("nonsense", 400), ('{"size": "2"}', 400), ("x" * 2000, 413), (None, 405)):
        assert operator.ask("/query", body)[0] == status, body
