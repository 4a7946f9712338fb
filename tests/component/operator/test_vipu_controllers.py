"""VIPUControllers: what they tell, to whom, and how an admin cordons one."""

import json
import subprocess
from datetime import datetime, timedelta

import pytest
import yaml

from kube_api import Rejected
from quirky_vipu import QuirkyVipu, Traits
from vipu_side import QUICK
from waiting import until
from world import CHART

PLURAL = "vipucontrollers"
CORDON = "graphcore.ai/cordon"
TWO_DOMAINS = QUICK + "clusters: [{id: cl1, ipulink-domains: 2}]\n"
CRD = yaml.safe_load((CHART / "crds/vipucontrollers.graphcore.ai.yaml").read_text())


def name_of(server):
    return server.address.replace(".", "-").replace(":", "-")


def wait_object(world, name, matches, what):
    """The VIPUController, once its status is so."""
    def there():
        found = world.api.get(PLURAL, None, name)
        return found and found.get("status") and matches(found["status"]) and found
    return until(there, what, tell=lambda: json.dumps(world.api.get(PLURAL, None, name), indent=1) + world.tell())


def condition(status, kind):
    return next(row for row in status["conditions"] if row["type"] == kind)


def annotate(world, server, value):
    world.api.patch(PLURAL, None, name_of(server), {"metadata": {"annotations": {CORDON: value}}})


def test_a_controller_that_chooses_ipus_says_so_and_so_do_those_who_wait(world):
    controller = QuirkyVipu(Traits(cluster="cl1", places_last=True, foreign=("somebody-elses",)))
    world.keep(controller, controller.close)
    start(world, controller)
    first = world.job("first", ipusPerJobInstance="16", activeDeadlineSeconds=7200)
    first.run_pods(1)
    first.wait("Running")
    chooses = wait_object(world, name_of(controller), lambda status: condition(status, "HonorsPlaces")["status"] == "False", "it is found out")
    assert condition(chooses["status"], "HonorsPlaces")["reason"] == "ChoosesIPUs"
    behind = world.job("behind", ipusPerJobInstance="32")
    behind.wait("Pending", "InsufficientIPUs")
    told = until(lambda: (behind.status or {}).get("forecast"), "its start is told", tell=world.tell)
    assert told["basis"] in ("Counted", "Open")
    assert told["basis"] == "Open" or "expected to start" in behind.status["lastMessage"]


@pytest.fixture
def server(world):
    return world.make_vipu(TWO_DOMAINS)


def start(world, server, *flags):
    world.start_operator(server.address, *flags)
    return wait_object(world, name_of(server), lambda status: "ipus" in status, "the controller has an object")


def test_a_job_of_128_ipus_runs_on_two_domains(world, server):
    start(world, server)
    job = world.job("wide", ipusPerJobInstance="128")
    job.run_pods(1)
    job.wait("Running")
    status = wait_object(world, name_of(server), lambda status: status["ipus"]["ours"] == 128, "all IPUs are used")["status"]
    (partition,) = status["partitions"]
    assert partition["size"] == 128
    assert partition["places"] == [{"domain": name, "ipus": "f" * 16} for name in ("ild0", "ild1")]
    (spec,) = (listed.spec for listed in server.client.list())
    assert (spec.num_ipulink_segments, spec.num_gcds) == (2, 2)
    larger = world.job("wider", ipusPerJobInstance="256")
    assert "has 128" in larger.wait("Pending", "ExceedsCapacity")["lastMessage"]
    for pod in job.wait_pods(1).values():
        world.kubelet.succeed(pod)
    job.wait("Completed")
    job.wait_released()


def test_a_user_without_any_role_sees_free_ipus(world, server, cluster):
    server.client.create("somebody-elses", 16, reconfigurable=True)
    start(world, server)
    job = world.job("digits")
    job.run_pods(1)
    job.wait("Running")
    status = wait_object(world, name_of(server), lambda status: status["ipus"]["ours"] == 4, "the job's IPUs are reported")["status"]
    assert status["ipus"] == {"total": 128, "free": 108, "ours": 4, "others": 16, "cordoned": 0, "largestFree": 64}
    assert status["address"] == server.address
    assert status["version"] == server.client.version()
    assert [(domain["name"], domain["size"]) for domain in status["domains"]] == [("ild0", 64), ("ild1", 64)]
    assert condition(status, "Healthy")["status"] == "True"
    # IDs of partitions contain the names of jobs.
    assert sorted((part["size"], part["ours"], part.get("namespace")) for part in status["partitions"]) == [
        (4, True, world.ns), (16, False, None)]
    assert "digits" not in json.dumps(status) and "somebody" not in json.dumps(status)

    kubectl = [f"{cluster._run('bin')}/kubectl", "--kubeconfig", cluster.kubeconfig, "--as", "researcher"]
    def shown(*words):
        return subprocess.run([*kubectl, *words], capture_output=True, text=True, timeout=120)
    lines = shown("get", "vipu").stdout.splitlines()
    assert lines[0].split() == ["NAME", "UP", "IPUS", "FREE", "LARGEST", "WAITING", "CORDON", "AGE"]
    (row,) = [line.split() for line in lines if line.startswith(name_of(server))]
    assert row[1:6] == ["True", "128", "108", "64", "0"]
    for words in (["annotate", "vipu", name_of(server), f"{CORDON}=true"], ["delete", "vipu", name_of(server)],
                  ["create", "-f", "-", "--dry-run=server"]):
        assert shown(*words).returncode != 0


def starts_of(status):
    return {start["ipus"]: start for start in status.get("starts", ())}


def test_it_tells_when_a_new_job_of_each_size_would_start(world):
    server = world.make_vipu(QUICK + "clusters: [{id: cl1, ipulink-domains: 1}]\n")
    start(world, server)
    empty = wait_object(world, name_of(server), lambda status: "starts" in status, "starts are told")["status"]
    assert empty["starts"] == [{"ipus": 2 ** i, "state": "Now"} for i in range(7)], "each size that the controller can make"

    # The first half is in use for two hours, and a job of all IPUs has its reservation behind it. A restart begins a new round.
    first = world.job("first", ipusPerJobInstance="32", activeDeadlineSeconds=7200)
    first.run_pods(1)
    first.wait("Running")
    world.job("head", ipusPerJobInstance="64").wait("Pending", "InsufficientIPUs")
    until(lambda: json.loads(world.operator.ask("/queue")[1])["queue"][0].get("reservation"), "it has a reservation", tell=world.tell)
    world.operator.kill()
    world.restart_operator()
    busy = wait_object(world, name_of(server), lambda status: all("startsNowWithin" in starts_of(status)[size] for size in (1, 16, 32)),
                       "the starts are renewed")["status"]
    starts = starts_of(busy)
    within = starts[32]["startsNowWithin"]
    assert 6600 <= within < 7200 and within % 300 == 0, "as long as the reserved half is free, with a little to spare"
    assert {size: starts[size] for size in (1, 16, 64)} == {
        1: {"ipus": 1, "state": "Open", "startsNowWithin": within}, 16: {"ipus": 16, "state": "Open", "startsNowWithin": within},
        64: {"ipus": 64, "state": "Open"}}
    assert "head" not in json.dumps(busy["starts"]) and world.ns not in json.dumps(busy["starts"])

    # What it tells is so.
    beside = world.job("beside", ipusPerJobInstance="32", activeDeadlineSeconds=within)
    beside.run_pods(1)
    beside.wait("Running")


def test_names_of_jobs_are_reported_on_request(world, server):
    start(world, server, "--vipu-controllers-visibility=names")
    job = world.job("digits")
    job.run_pods(1)
    status = wait_object(world, name_of(server), lambda status: status["partitions"], "the partition is reported")["status"]
    assert status["partitions"][0]["job"] == f"{world.ns}/digits"
    assert status["partitions"][0]["id"] == f"p-digits-{world.ns}-0"


def test_a_controller_that_dies_is_down_at_once(world, server):
    start(world, server)
    server.kill()
    down = wait_object(world, name_of(server), lambda status: condition(status, "Reachable")["status"] == "False", "it is down")
    assert condition(down["status"], "Reachable")["reason"] == "ControllerUnavailable"
    assert condition(down["status"], "Healthy")["status"] == "Unknown"
    server.start()
    wait_object(world, name_of(server), lambda status: condition(status, "Reachable")["status"] == "True", "it is up again")


def test_addresses_can_be_hidden(world, server):
    world.start_operator(server.address, "--hide-vipu-controller-addresses")
    def hidden():
        found = [item for item in world.api.list(PLURAL) if item["metadata"]["name"].startswith("vipu-")]
        return found and "ipus" in found[0].get("status", {}) and found
    (item,) = until(hidden, "the controller has an object", tell=world.tell)
    assert str(server.port) not in json.dumps({"name": item["metadata"]["name"], "status": item["status"]})
    server.kill()
    name = item["metadata"]["name"]
    down = wait_object(world, name, lambda status: condition(status, "Reachable")["status"] == "False", "it is down")
    assert str(server.port) not in json.dumps(down["status"])


def test_objects_go_with_the_configuration_and_strays_stay(world, server):
    start(world, server)
    world.api.create(PLURAL, None, {"apiVersion": "graphcore.ai/v1alpha1", "kind": "VIPUController", "metadata": {"name": "stray"}})
    stray = wait_object(world, "stray", lambda status: True, "the stray object is reported")
    assert condition(stray["status"], "Configured")["status"] == "False"
    other = world.make_vipu(name="other")
    world.operator.end()
    start(world, other)
    until(lambda: world.api.get(PLURAL, None, name_of(server)) is None, "what is not configured any more is removed", tell=world.tell)
    assert world.api.get(PLURAL, None, "stray")


def test_what_somebody_removes_or_changes_is_restored(world, server):
    start(world, server)
    world.api.delete(PLURAL, None, name_of(server))
    wait_object(world, name_of(server), lambda status: "ipus" in status, "the object is there again")
    world.api.patch(PLURAL, None, name_of(server), {"status": {"ipus": {"free": 7}, "morePartitions": 3}}, sub="status")
    wait_object(world, name_of(server), lambda status: status["ipus"]["free"] == 128 and "morePartitions" not in status,
                "the status is right again")


def test_nothing_new_starts_on_a_cordoned_controller(world, server):
    start(world, server, "--vipu-controllers-visibility=names")
    running = world.job("running", activeDeadlineSeconds=3600)
    pod = running.run_pods(1)["running-worker-0"]
    running.wait("Running")
    annotate(world, server, "true")
    # The deadline, 30 s for the pods to end and a minute for the release.
    end = datetime.fromisoformat(running.status["startTime"]) + timedelta(seconds=3600 + 30 + 60)
    until_then = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    cordon = wait_object(world, name_of(server), lambda status: status.get("cordon", {}).get("until") == until_then,
                         "the cordon is reported")["status"]["cordon"]
    assert cordon == {"state": "Draining", "partitions": 1, "ipus": 4, "until": until_then,
                      "holders": [{"name": f"{world.ns}/running", "until": until_then}]}
    waiting = world.job("waiting", jobInstances=2)
    message = waiting.wait("Pending", "InsufficientIPUs")["lastMessage"]
    assert "an admin has cordoned the controller for maintenance" in message and f"{world.ns}/running" not in message
    wait_object(world, name_of(server), lambda status: status["waiting"] == 2, "the instances that wait are counted")
    # A new leader knows of it before it grants anything.
    world.operator.kill()
    world.restart_operator()
    assert running.is_in("Running")
    world.kubelet.succeed(pod)
    running.wait("Completed")
    running.wait_released()
    wait_object(world, name_of(server), lambda status: status["cordon"]["state"] == "Drained", "the controller is drained")
    assert waiting.records() == {} and server.partitions() == {}
    annotate(world, server, None)
    waiting.run_pods(2)
    waiting.wait("Running")
    wait_object(world, name_of(server), lambda status: "cordon" not in status and status["waiting"] == 0, "the cordon is gone")


def test_partitions_are_placed_beside_a_cordoned_domain(world, server):
    server.client.create("somebody-elses", 1, reconfigurable=True)
    start(world, server)
    annotate(world, server, "ild0,ild9")
    status = wait_object(world, name_of(server), lambda status: "cordon" in status, "the cordon is reported")["status"]
    assert status["cordon"]["domains"] == ["ild0"] and "no domain ild9" in status["cordon"]["message"]
    assert (status["ipus"]["free"], status["ipus"]["cordoned"]) == (64, 64)
    jobs = [world.job(f"job{i}", ipusPerJobInstance="16") for i in range(4)]
    for job in jobs:
        job.wait_pods(1)
    placed = [part for part in server.partitions().values() if part.id != "somebody-elses"]
    assert len(placed) == 4
    assert {ipu.ipulink_domain_topology_id for part in placed for ipu in part.spec.ipus} == {1}
    message = world.job("late", ipusPerJobInstance="32").wait("Pending", "InsufficientIPUs")["lastMessage"]
    assert "an admin has cordoned 64 IPUs for maintenance" in message


def test_without_the_definition_jobs_run(world, server):
    """An upgrade with crds.upgrade=false does not bring it."""
    world.api.delete("customresourcedefinitions", None, CRD["metadata"]["name"])
    try:
        until(lambda: world.api.get("customresourcedefinitions", None, CRD["metadata"]["name"]) is None, "the definition is gone")
        world.start_operator(server.address)
        job = world.job("digits")
        job.run_pods(1)
        job.wait("Running")
    finally:
        world.api.apply("customresourcedefinitions", None, CRD)
    def served():
        try:
            return world.api.list(PLURAL) or True
        except Rejected:
            return False
    until(served, "the definition is there again")
    wait_object(world, name_of(server), lambda status: "ipus" in status, "the controller has an object")
