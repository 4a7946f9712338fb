"""The way to the API server breaks in every manner: the operator finds its way back, and nothing is done twice."""

import re
import threading

import pytest

from test_admission import CONFIGS, Webhooks
from waiting import until
from world import NAME

KINDS = ("ipujobs", "pods", "configmaps", "nodes", "services", "endpointslices", "networkpolicies", "vipucontrollers")
OTHERS = {"services": {"spec": {"ports": [{"port": 80}]}}, "networkpolicies": {"spec": {"podSelector": {}}},
          "endpointslices": {"addressType": "IPv4", "endpoints": []}}
LABELS = {NAME: "other", "endpointslice.kubernetes.io/managed-by": "ipu-operator"}
LOST_LEASE = 1
RELEASE = "graphcore.ai/release"
PATIENCE_S = 240  # watches and leases take their time after an outage


def made_once(proxy):
    """Every pod and record was made by one request."""
    posts = [request.path + str(request).partition("(")[2] for request in proxy.since(0)
             if request.method == "POST" and request.is_write and not request.is_lease and "events" not in request.path]
    return sorted(posts) == sorted(set(posts))


def complete(world, vipu, job):
    world.kubelet.succeed(job.run_pods(1)[f"{job.name}-worker-0"])
    job.wait("Completed")
    job.wait_released()
    assert vipu.partitions() == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_watch_cut_in_the_middle_of_a_line(world, vipu, kind):
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    job = world.job("cut")
    pod = job.run_pods(1)["cut-worker-0"]
    job.wait("Running")
    mark = proxy.mark()
    proxy.cut_next(kind)
    world.kubelet.succeed(pod)
    if kind == "nodes":
        world.kubelet.boot("boot-2")
    if kind in OTHERS:
        world.api.create(kind, world.ns, {"metadata": {"name": "other", "labels": LABELS}, **OTHERS[kind]})
    job.wait("Completed")
    until(lambda: proxy.is_cut(kind), "the watch is cut", tell=world.tell)
    until(lambda: any(request.is_watch and kind in request.path for request in proxy.since(mark)), "it watches again",
          tell=world.tell)
    job.wait_released()
    again = world.job("again")
    complete(world, vipu, again)
    assert made_once(proxy)


def kinds(requests):
    return {request.path.rpartition("/")[2] for request in requests}


def test_watches_that_begin_in_the_distant_past(world, vipu):
    """Where the server remembers so much it tells all of it again; where it does not, it answers 410."""
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    job = world.job("expired")
    pod = job.run_pods(1)["expired-worker-0"]
    job.wait("Running")
    allowed, sent_back = threading.Event(), set()

    def send_back(seen):
        if not seen.is_watch:
            return True
        if allowed.is_set() and not kinds([seen]) & sent_back and "sendInitialEvents" not in seen.query:
            sent_back.update(kinds([seen]))
            seen.target = re.sub(r"resourceVersion=\d+", "resourceVersion=1", seen.target)
        return allowed.is_set()
    proxy.before = send_back
    proxy.hang_up_streams()
    world.job("gone").delete()
    world.kubelet.succeed(pod)
    late = world.job("late")
    allowed.set()
    job.wait("Completed")
    job.wait_released()
    complete(world, vipu, late)
    until(lambda: sent_back == set(KINDS), "every watch was sent back", tell=world.tell)
    assert "ipujobs" in kinds(proxy.expired)
    assert made_once(proxy)


def test_connections_that_break_all_the_time(world, vipu):
    proxy = world.make_tcp_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    world.automatic(lambda pod: 0)
    jobs = [world.job(f"storm-{n}") for n in range(8)]
    for _ in range(10):
        accepted = proxy.accepted
        proxy.hang_up()
        until(lambda accepted=accepted: proxy.accepted > accepted, "it connects again", tell=world.tell)
    proxy.cut_inside(200)
    until(proxy.has_cut, "a record of TLS is cut in its middle", tell=world.tell)
    for job in jobs:
        job.wait("Completed", seconds=PATIENCE_S)
        job.wait_released(PATIENCE_S)
        assert len(job.pods()) == 1
    assert vipu.partitions() == {} and world.records() == {}


def test_a_silent_network_ends_the_leadership(world, vipu):
    proxy = world.make_tcp_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    job = world.job("silent")
    pod = job.run_pods(1)["silent-worker-0"]
    job.wait("Running")
    proxy.freeze()
    until(lambda: not world.operator.is_alive(), "it ends, because its lease could be another's by now", PATIENCE_S,
          world.tell)
    assert world.operator.process.returncode == LOST_LEASE
    world.kubelet.succeed(pod)
    assert list(vipu.partitions()) == [f"p-silent-{world.ns}-0"]
    for end in (True, False):
        world.operator.start()
        until(lambda: world.operator.health("/healthz") == 200, "the next one is up", PATIENCE_S, world.tell)
        if end:
            assert world.operator.end() == 0, "it can be asked to go at any time"
    proxy.hang_up()
    proxy.thaw()
    job.wait("Completed", seconds=PATIENCE_S)
    job.wait_released()
    assert vipu.partitions() == {} and list(job.pods()) == ["silent-worker-0"]


def test_an_api_server_that_crashes_and_forgets(world, vipu):
    """What happened meanwhile is found by new lists: an end is seen, and a pod whose end was not seen is held."""
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, "--hold-seconds", 600, proxy=proxy)
    running, starting, going = (world.job(name) for name in ("running", "starting", "going"))
    pods = running.run_pods(1) | going.run_pods(1)
    starting.wait_pods(1)
    for job in (running, going):
        job.wait("Running")
    going.delete()
    going.wait("Terminating")
    is_back = threading.Event()
    proxy.before = lambda seen: is_back.is_set() or not seen.is_watch
    proxy.hang_up_streams()
    world.kubelet.succeed(pods["running-worker-0"])
    world.kubelet.end_deleted(pods["going-worker-0"])
    world.cluster.compact()
    world.cluster.crash_api_server()
    try:
        until(lambda: "watch failed, retrying" in world.operator.log(), "the loss is noticed", PATIENCE_S, world.tell)
    finally:
        world.cluster.up()
    is_back.set()
    renewed, starts = world.lease()["spec"]["renewTime"], []

    def goes_on():
        """On a slow machine the API server was away for longer than the lease, and another process goes on."""
        if not world.operator.is_alive():
            assert world.operator.process.returncode == LOST_LEASE
            starts.append(world.operator.start())
        return world.lease()["spec"]["renewTime"] > renewed and (starts or kinds(proxy.expired) == set(KINDS))
    until(goes_on, "it leads, and every watch was too old", PATIENCE_S, world.tell)
    world.operator.until_working(PATIENCE_S)
    running.wait("Completed", seconds=PATIENCE_S)
    until(lambda: "may still be running" in going.status["lastMessage"], "it is held", PATIENCE_S, world.tell)
    going.annotate(**{RELEASE: pods["going-worker-0"]["metadata"]["annotations"]["graphcore.ai/partition"]})
    going.wait_gone(PATIENCE_S)
    world.kubelet.succeed(starting.run_pods(1)["starting-worker-0"])
    starting.wait("Completed")
    starting.wait_released()
    running.wait_released()
    until(lambda: world.records() == {}, "what was let go is swept", PATIENCE_S, world.tell)
    assert vipu.partitions() == {} and made_once(proxy)
    assert sorted(pod["metadata"]["name"] for pod in world.api.list("pods", world.ns)) == [
        "running-worker-0", "starting-worker-0"]


def test_what_a_dead_watch_does_not_show_is_written_more_and_more_seldom(world):
    proxy = world.make_api_proxy()
    webhooks = Webhooks(world, proxy=proxy)
    try:
        before, mark = webhooks.shown(), proxy.mark()
        proxy.withholds = lambda seen: CONFIGS[0] in seen.path
        webhooks.empty_secret()

        def writes():
            return [seen.at for seen in proxy.since(mark) if seen.is_write and CONFIGS[0] in seen.path]

        until(lambda: len(writes()) >= 7, "a configuration is written again and again", tell=world.tell)
        assert writes()[6] - writes()[0] > 2, "0.1 s after the first, and twice as long each time, or a little less"
        proxy.withholds = lambda seen: False
        proxy.hang_up_streams()
        until(lambda: webhooks.shown() == webhooks.kept() != before, "the new certificate is shown", tell=world.tell)
    finally:
        webhooks.remove()
