"""vipu-server and a disk that does nothing for a while: calls end at their deadlines, and nothing else stands still."""

import os
import time
import urllib.request

import grpc
import pytest

from generic import pb
from programs import DEADLINE_S, Server, program, until
from test_persistence import settle

CONFIG = "create-ms: 0\nremove-ms: 0\nadmin-listen: 127.0.0.1:0\nclusters: [{id: cl1}]\n"


class SlowDisk(Server):
    def __init__(self, folder):
        self.hangs = folder / "the disk hangs"
        super().__init__(folder, CONFIG)

    def start(self):
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        preload = {"LD_PRELOAD": program("../tests/unit/vipu/vipu-crash.so"), "CRASH_HOW": "hang", "CRASH_AT": "1", "CRASH_WHILE": self.hangs,
                   "ASAN_OPTIONS": options}
        self.args = self.args if self.args[0] == "env" else ["env", *(f"{name}={value}" for name, value in preload.items()), *self.args]
        super().start()


@pytest.fixture
def server(tmp_path):
    running = SlowDisk(tmp_path)
    yield running
    running.hangs.unlink(missing_ok=True)
    running.stop()


def create(client, id, timeout):
    return client.user.CreatePartition.future(pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id=id, size=1)), timeout=timeout)


def ends_overdue(call, begun):
    assert call.exception(DEADLINE_S).code() == grpc.StatusCode.DEADLINE_EXCEEDED
    return time.monotonic() - begun < DEADLINE_S / 2


def healthz(server):
    return urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}/healthz", timeout=DEADLINE_S).status


def test_calls_end_at_their_deadlines(server, dial):
    client = dial(server.target)
    client.create("p1", 1)
    settle(client)  # no transaction is under way
    server.hangs.touch()
    begun = time.monotonic()
    under_way = create(client, "p2", 0.3)
    assert ends_overdue(under_way, begun), "its transaction is under way"
    assert ends_overdue(create(client, "p3", 0.3), begun), "it waits for that"
    assert healthz(server) == 200
    patient = client.user.ListPartitions.future(pb.ListPartitionsRequest(), timeout=DEADLINE_S)
    assert not patient.done()
    server.hangs.unlink()
    assert sorted(partition.id for partition in patient.result().partitions) == ["p1", "p2"], "what had begun is done, the other is not"
    server.restart()
    assert sorted(partition.id for partition in settle(dial(server.target))[0]) == ["p1", "p2"]


def test_others_are_accepted_meanwhile(server, dial):
    """A caller that has no deadline of its own is answered when the disk goes on, whenever it came."""
    client = dial(server.target)
    server.hangs.touch()
    first = create(client, "p1", DEADLINE_S)
    until(lambda: healthz(server) == 200, "the loop goes on")
    others = [dial(server.target) for _ in range(3)]
    calls = [create(other, f"q{n}", DEADLINE_S) for n, other in enumerate(others)]
    server.hangs.unlink()
    assert [call.result().partition_id for call in [first, *calls]] == ["p1", "q0", "q1", "q2"]


def test_it_stops_when_the_disk_goes_on(server, dial):
    """With the change that was under way."""
    client = dial(server.target)
    server.hangs.touch()
    call = create(client, "p1", DEADLINE_S)
    until(lambda: healthz(server) == 200, "the loop goes on")
    server.process.terminate()
    server.hangs.unlink()
    assert call.result().partition_id == "p1" and server.process.wait(DEADLINE_S) == 0
    server.start()
    assert [partition.id for partition in dial(server.target).list()] == ["p1"]
