"""vipu-server is killed at random moments; what it said it did is still there, and nothing is half done."""

import random
import sqlite3
import subprocess
import zlib

import grpc
import pytest

from generic import Client, pb
from programs import DEADLINE_S, run_program, until

CONFIG = "create-ms: 3\nremove-ms: 3\nreset-ms: 3\nclusters: [{id: cl1, ipulink-domains: 2}]\n"


class Model:
    """What a client may conclude from the answers: ids that must be there, and those that may be."""

    def __init__(self):
        self.present, self.unsure = set(), set()

    def run(self, client, dice):
        id = f"p{dice.randrange(24)}"
        create = dice.random() < 0.6
        try:
            client.create(id, dice.choice([1, 2, 4, 8, 16])) if create else client.remove(id)
        except grpc.RpcError as error:
            self.failed(id, create, error.code())
        else:
            # A removed partition is gone once its removal has been seen through.
            (self.present.add if create else self.unsure.add)(id)
            (self.unsure if create else self.present).discard(id)

    def failed(self, id, create, code):
        if code == grpc.StatusCode.NOT_FOUND:
            assert id not in self.present
            self.unsure.discard(id)
        elif code == grpc.StatusCode.ALREADY_EXISTS:
            assert id in self.present or id in self.unsure
        elif code != grpc.StatusCode.RESOURCE_EXHAUSTED:
            self.present.discard(id)
            self.unsure.add(id)


@pytest.mark.parametrize("seed", range(3))
def test_kill_at_random_moments(serve, seed):
    dice = random.Random(seed)
    server = serve(CONFIG)
    model = Model()
    for _ in range(8):
        client = Client(server.target)
        calls = dice.randrange(5, 60)
        for _ in range(calls):
            model.run(client, dice)
        # Several requests are on their way when it dies.
        ids = [f"q{dice.randrange(1000)}" for _ in range(10)]
        late = [client.user.CreatePartition.future(
            pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id=id, size=1)), timeout=DEADLINE_S) for id in ids]
        server.kill()
        for id, call in zip(ids, late):
            error = call.exception()
            if error is None:
                model.present.add(id)
            elif error.code() not in (grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.RESOURCE_EXHAUSTED):
                if id not in model.present:
                    model.unsure.add(id)
        client.close()
        server.start()
        client = Client(server.target)
        (settled,) = until(lambda: settle(client), "every operation has ended")
        there = {partition.id for partition in settled}
        assert model.present <= there <= model.present | model.unsure
        taken = [(ipu.ipulink_domain_topology_id, ipu.topology_id) for p in settled for ipu in p.spec.ipus]
        assert len(taken) == len(set(taken))
        model.present, model.unsure = there, set()
        client.close()


def settle(client):
    """The list, in a tuple, once nothing is under way any more; None before."""
    partitions = client.list()
    return (partitions,) if all(p.ready_state == pb.PS_ACTIVE for p in partitions) else None


def test_half_made_partitions_are_finished(start, dial):
    server, client = start("create-ms: 600000\nclusters: [{id: cl1}]")
    client.create("making", 4, disable_auto_reset=True)
    client.create("leaving", 4)
    client.remove("leaving")
    server.restart("create-ms: 0\nremove-ms: 0\nclusters: [{id: cl1}]")
    client = dial(server.target)
    until(lambda: [(p.id, p.ready_state) for p in client.list()] == [("making", pb.PS_ACTIVE)],
          "the one is made and the other gone")
    assert client.status("making").max_auto_reset_retries == 0
    client.create("new", 4)
    assert [p.id for p in client.list()] == ["making", "new"]


def test_hardware_that_is_no_longer_configured(start, dial):
    server, client = start("create-ms: 0\nremove-ms: 0\nclusters: [{id: a, agents: 4}, {id: b, agents: 4}]")
    client.create("p1", 4, cluster_id="b")
    server.restart("create-ms: 0\nremove-ms: 0\nclusters: [{id: a, agents: 4}]")
    client = dial(server.target)
    status = client.status("p1")
    assert status.ready_state == pb.PS_ERROR and "no longer" in status.errors[0]
    with pytest.raises(grpc.RpcError) as caught:
        client.reset("p1")
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    client.remove("p1")
    until(lambda: not client.list(), "it can be removed")


def test_one_storage_serves_one_server(serve, tmp_path):
    server = serve()
    second = run_program("vipu-server", "--listen", "127.0.0.1:0", "--storage", str(server.folder / "state.db"))
    assert second.returncode == 1 and "state.db" in second.stderr and "locked" in second.stderr


def test_a_file_that_is_no_storage(tmp_path):
    path = tmp_path / "state.db"
    path.write_bytes(b"this is no database, and long enough to be taken for one by its size" * 20)
    run = run_program("vipu-server", "--listen", "127.0.0.1:0", "--storage", str(path))
    assert run.returncode == 1 and str(path) in run.stderr and "not a database" in run.stderr


def row_checksum(*values):
    """As vipu/server/storage/row_checksum.c has it."""
    total = 0
    for value in values:
        kind = {int: 1, str: 3, bytes: 4, type(None): 5}[type(value)]
        data = b"" if value is None else value if kind == 4 else str(value).encode()
        total = zlib.crc32(bytes([kind]) + len(data).to_bytes(4, "little") + data, total)
    return total


@pytest.mark.parametrize("harm, why", [
    ("update partitions set partition = x'deadbeef'", "cannot decode the list of partitions"),
    ("insert into partitions select 'p2', number, operation, flags, partition, status, 0 from partitions", "duplicate partition p1"),
])
def test_a_storage_that_makes_no_sense(serve, dial, harm, why):
    """Although its checksums are right. Nothing is guessed: the server says which file it is, and leaves it alone."""
    server = serve("create-ms: 0\nclusters: [{id: a}]")
    dial(server.target).create("p1", 4)
    assert server.stop() == 0
    database = sqlite3.connect(server.folder / "state.db")
    database.create_function("row_checksum", -1, row_checksum)
    database.execute(harm)
    database.execute("update partitions set checksum = row_checksum(id, number, operation, flags, partition, status)")
    database.commit()
    database.close()
    run = subprocess.run(server.args, capture_output=True, text=True, timeout=DEADLINE_S)
    assert run.returncode == 1 and str(server.folder / "state.db") in run.stderr and why in run.stderr
