"""Two operators: who leads when one ends, is killed, or stands still with its words still on the way."""

import os
import re
import signal
import threading
import time

import pytest

from operator_program import Operator
from test_admission import Webhooks
from waiting import DEADLINE_S, until

LOST_LEASE = 1
HANDOVERS = 2
JOBS, CONNECTIONS = 6, 2


class Pair:
    """An operator of the world, and another one with the same controllers."""

    def __init__(self, world, controllers, folder, **how):
        self.world = world
        self.first = world.start_operator(controllers, **how)
        flags = list(self.first.flags)
        flags[flags.index("--kubeconfig") + 1] = str(world.kubeconfig(name="standby"))
        self.second = Operator(folder, *flags).start()
        world.keep(self.second, self.second.kill)
        until(lambda: self.second.health("/readyz") == 200, "the standby is ready", tell=self.second.tail)

    def await_handover(self, old):
        """Seconds from now until another one holds the lease."""
        begun = time.monotonic()
        until(lambda: self.holder() not in ("", old), "another one leads", tell=self.second.tail)
        return time.monotonic() - begun

    def holder(self):
        return self.world.lease()["spec"]["holderIdentity"]


@pytest.fixture
def pair(world, vipu, tmp_path):
    (tmp_path / "second").mkdir()
    return Pair(world, vipu.address, tmp_path / "second")


def test_a_standby_leads_soon_after_a_clean_end(pair):
    took = []
    for number in range(HANDOVERS):
        leader = (pair.first, pair.second)[number % 2]
        old = pair.holder()
        assert leader.end() == 0
        took.append(pair.await_handover(old))
        leader.start()
        until(lambda one=leader: one.health("/readyz") == 200, "it stands by", tell=leader.tail)
    print(f"\nfigure: a standby leads {max(took):.1f} s after the leader has ended")
    assert max(took) < 2


def test_a_standby_follows_a_killed_leader(pair):
    old = pair.holder()
    pair.first.kill()
    took = pair.await_handover(old)
    print(f"\nfigure: a standby leads {took:.1f} s after the leader was killed")
    assert took < 16


def test_a_deleted_lease_stays_with_its_leader(pair):
    leader = pair.holder()
    pair.world.forget_lease()
    until(lambda: pair.world.lease() is not None, "it is made anew", tell=pair.second.tail)
    assert pair.holder() == leader and pair.first.is_alive()


def test_what_waits_for_a_connection_is_not_sent_after_a_clean_end(world):
    """The webhooks are still served for a while then. Each write has passed the gate; there are fewer connections."""
    api, lost = world.make_api_proxy(), threading.Event()
    arrived = []

    def before(seen):
        if seen.method != "PATCH" or "/ipujobs/" not in seen.path:
            return True
        arrived.append(seen)
        lost.wait(300)
        return False

    api.before = before
    webhooks = Webhooks(world, proxy=api)
    sent = re.compile(r'_requests_total\{[^}]*method="PATCH",resource="ipujobs"[^}]*\} (\d+)')
    try:
        for number in range(JOBS):
            world.job(f"waits-{number}")
        until(lambda: (found := sent.search(world.operator.ask("/metrics")[1])) and int(found[1]) >= JOBS, "all are under way",
              tell=world.tell)
        until(lambda: len(arrived) == CONNECTIONS, "both connections have theirs", tell=world.tell)
        world.operator.process.send_signal(signal.SIGTERM)
        until(lambda: world.lease()["spec"]["holderIdentity"] == "", "the lease is given back", tell=world.tell)
        lost.set()
        assert world.operator.end() == 0
        assert len(arrived) == CONNECTIONS
    finally:
        lost.set()
        webhooks.remove()


def test_a_leader_that_stood_still_sends_nothing_more(world, vipu, tmp_path):
    """Its last words, held back on the way until after the change, reach no other job and leave nothing behind."""
    (tmp_path / "second").mkdir()
    wire, api = world.make_vipu_proxy(vipu), world.make_api_proxy()
    pair = Pair(world, wire.address, tmp_path / "second", proxy=api)
    old = pair.holder()
    on_the_way, may_arrive = threading.Event(), threading.Event()
    calls = []

    def before(method, _request):
        calls.append(method)
        if method == "CreatePartition" and not on_the_way.is_set():
            on_the_way.set()
            may_arrive.wait(300)
        return True

    wire.before = before
    lost = world.job("lost")
    assert on_the_way.wait(DEADLINE_S), world.tell()
    record, = lost.records()
    os.kill(pair.first.process.pid, signal.SIGSTOP)
    try:
        pair.await_handover(old)
        lost.delete()
        other = world.job("other")
        other.run_pods(1)
        other.wait("Running")
        seen = len(api.since(0))
    finally:
        os.kill(pair.first.process.pid, signal.SIGCONT)
        may_arrive.set()
    until(lambda: not pair.first.is_alive(), "the old leader sees that it leads no more", tell=pair.first.tail)
    world.operator = pair.second
    assert pair.first.process.returncode == LOST_LEASE
    pair.first.check_sanitizers()
    assert [str(request) for request in api.since(seen) if request.is_write and not request.is_lease] == []
    lost.wait_gone()
    until(lambda: record not in world.records(), "its record has gone", tell=world.tell)
    assert list(vipu.partitions()) == list(other.records())
    assert other.is_in("Running")
