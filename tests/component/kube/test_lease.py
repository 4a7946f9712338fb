"""The lease: two processes on a real API server, and one whose server falls silent."""

import itertools
import json
import time
from datetime import datetime

from probe import DEADLINE
from scripted import Exchange

LEASE_S = 6  # as kube_probe asks for


def test_one_holds_the_lease_and_the_other_follows_when_it_is_released(cluster, namespace, probe_of):
    first = probe_of(cluster.kubeconfig, "-n", namespace, "lease", "l")
    first.wait("started")
    second = probe_of(cluster.kubeconfig, "-n", namespace, "lease", "l")
    second.wait("holder")
    first.stop()
    before = time.monotonic()
    second.wait("started")
    assert time.monotonic() - before < 2
    assert "held 1 healthy 1" in second.stop()


def test_a_dead_holder_is_followed_when_its_time_is_over(cluster, namespace, probe_of):
    first = probe_of(cluster.kubeconfig, "-n", namespace, "lease", "l")
    first.wait("started")
    second = probe_of(cluster.kubeconfig, "-n", namespace, "lease", "l")
    second.wait("holder")
    first.kill()

    def spec():
        return json.loads(cluster.kubectl("get", "lease", "-n", namespace, "l", "-o", "json"))["spec"]

    renewed = datetime.fromisoformat(spec()["renewTime"])
    second.wait("started")
    after = spec()
    assert (datetime.fromisoformat(after["acquireTime"]) - renewed).total_seconds() > LEASE_S - 0.1  # clocks are set now and then
    assert after["leaseTransitions"] == 1


def test_a_deleted_lease_is_created_again(cluster, namespace, probe_of):
    probe = probe_of(cluster.kubeconfig, "-n", namespace, "lease", "l")
    holder = probe.wait("holder").split()[1]
    probe.wait("started")
    cluster.kubectl("delete", "lease", "-n", namespace, "l")
    deadline = time.monotonic() + DEADLINE
    while holder not in cluster.kubectl("get", "lease", "-n", namespace, "-o", "yaml"):
        assert time.monotonic() < deadline
    output = probe.stop()
    assert "lost" not in output and "held 1" in output


def lease(version, holder):
    return {
        "kind": "Lease",
        "metadata": {"name": "l", "resourceVersion": str(version)},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": LEASE_S},
    }


def test_a_silent_server_ends_it_at_the_deadline(server, probe_of):
    def create(exchange):
        holder = json.loads(exchange.body)["spec"]["holderIdentity"]
        exchange.reply(201, lease(1, holder))

    server.script(lambda exchange: exchange.status(404, "NotFound"), create, Exchange.hold)
    probe = probe_of(server, "-n", "n", "lease", "l")
    probe.wait("started")
    before = time.monotonic()
    probe.wait("^lost")
    assert time.monotonic() - before < LEASE_S
    assert "held 0" in probe.stop()


def test_another_holder_ends_it_at_once(server, probe_of):
    def create(exchange):
        exchange.reply(201, lease(1, json.loads(exchange.body)["spec"]["holderIdentity"]))

    server.script(
        lambda exchange: exchange.status(404, "NotFound"),
        create,
        lambda exchange: exchange.status(409, "Conflict"),
    )
    versions = itertools.count(9)  # it renews
    server.always(lambda exchange: exchange.reply(200, lease(next(versions), "thief")))
    probe = probe_of(server, "-n", "n", "lease", "l")
    probe.wait("started")
    probe.wait("^lost")
    patch = json.loads(server.wait_for(3).body)
    assert patch["metadata"]["resourceVersion"] == "1"  # a compare-and-swap, never a blind write
    output = probe.stop()
    assert all(exchange.method == "GET" for exchange in server.seen[3:]), output
