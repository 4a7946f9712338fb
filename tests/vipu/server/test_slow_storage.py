"""vipu-server and a disk that does nothing for a while: calls end at their deadlines, and nothing else stands still."""

import concurrent.futures
import os
import time
import urllib.error
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


def put_faults(server, text):
    """(status, text) of the response, of a thread."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.admin_port}/faults", data=text.encode(), method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def hang(server, client, id):
    """A change whose transaction is under way, until the disk goes on."""
    server.hangs.touch()
    call = create(client, id, DEADLINE_S)
    until(lambda: not probe(client), "its transaction is under way")
    return call


def probe(client):
    """Whether calls are answered now."""
    try:
        client.user.ListPartitions(pb.ListPartitionsRequest(), timeout=0.2)
        return True
    except grpc.RpcError:
        return False


def test_a_reload_waits_for_the_disk_and_nothing_for_the_reload(server, dial):
    client = dial(server.target)
    call = hang(server, client, "p1")
    server.reload(CONFIG.replace("cl1", "cl1, bogus: 1"))
    until(lambda: "configuration rejected" in server.log(), "mistakes are reported at once")
    server.reload(CONFIG + "version: 9.9.9\n")
    until(lambda: "the configuration is reloaded after that" in server.log(), "it says what it waits for")
    assert healthz(server) == 200 and "configuration reloaded" not in server.log()
    server.hangs.unlink()
    assert call.result().partition_id == "p1"
    until(lambda: "configuration reloaded" in server.log(), "the reload")
    assert dial(server.target).version() == "9.9.9"


def test_faults_wait_for_the_disk_for_some_seconds(server, dial):
    client = dial(server.target)
    call = hang(server, client, "p1")
    with concurrent.futures.ThreadPoolExecutor() as threads:
        first = threads.submit(put_faults, server, '{"stall-ms": 1}')
        until(lambda: put_faults(server, "wrong") == (503, "another change of the faults waits for the storage; try again\n"), "it waits")
        assert healthz(server) == 200
        assert first.result() == (503, "the storage has not responded for 5 seconds; nothing has changed, try again\n")
        second = threads.submit(put_faults, server, '{"calls": [{"method": "GetVersion", "status": "INTERNAL"}]}')
        until(lambda: put_faults(server, "wrong")[0] == 503, "it waits")
        server.hangs.unlink()
        assert second.result()[0] == 200
    assert call.result().partition_id == "p1"
    with pytest.raises(grpc.RpcError) as error:
        client.versions.GetVersion(pb.VersionRequest())
    assert error.value.code() == grpc.StatusCode.INTERNAL


def test_a_call_that_a_fault_delays_does_not_stop_the_loop(server, dial):
    """Its time comes while a transaction is under way."""
    client, late = dial(server.target), dial(server.target)
    assert put_faults(server, '{"calls": [{"method": "GetVersion", "latency-ms": 500}]}')[0] == 200
    delayed = late.versions.GetVersion.future(pb.VersionRequest(), timeout=DEADLINE_S)
    call = hang(server, client, "p1")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 1 and healthz(server) == 200, "the loop goes on")
    assert not delayed.done()
    server.hangs.unlink()
    assert delayed.result().version and call.result().partition_id == "p1"


def test_it_stops_though_the_disk_does_not_go_on(server, dial):
    """In ten seconds, with what has a response."""
    client = dial(server.target)
    client.create("p1", 1)
    hang(server, client, "p2")
    began = time.monotonic()
    server.process.terminate()
    assert server.process.wait(DEADLINE_S) == 1 and 9 < time.monotonic() - began < 20
    assert "its changes are lost if that takes too long" in server.log()
    server.hangs.unlink()
    server.start()
    assert [partition.id for partition in dial(server.target).list()] == ["p1"]


def test_it_stops_when_the_disk_goes_on(server, dial):
    """With the change that was under way."""
    client = dial(server.target)
    call = hang(server, client, "p1")
    server.process.terminate()
    server.hangs.unlink()
    assert call.result().partition_id == "p1" and server.process.wait(DEADLINE_S) == 0
    server.start()
    assert [partition.id for partition in dial(server.target).list()] == ["p1"]
