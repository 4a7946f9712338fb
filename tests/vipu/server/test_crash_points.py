"""vipu-server dies at chosen writes to its storage, before, in the middle and after, and with the power of the machine; crash.c
counts them. "After `kill -9` at any moment the same partitions are there and half-made ones are finished or undone.\""""

import itertools
import os
import random
import signal
import subprocess

import grpc
import pytest

from generic import Client
from programs import DEADLINE_S, program, until
from test_persistence import settle

CONFIG = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters: [{id: cl1, ipulink-domains: 2}]\n"
ROUND = [("create", "a", 4), ("create", "b", 16), ("reset", "a", 0), ("remove", "a", 0), ("create", "c", 1), ("create", "a", 8),
          ("remove", "b", 0), ("reset", "c", 0), ("create", "d", 32), ("remove", "c", 0), ("create", "b", 2), ("remove", "d", 0)]
SCRIPT = [*ROUND, *((verb, id * 2, size) for verb, id, size in ROUND)]
POINTS = random.Random(4).sample(list(itertools.product(range(1, 100), ("before", "half", "after", "power"))), 200)


class Doomed:
    """A server that is going to kill itself, and what a client may conclude from its answers."""

    def __init__(self, folder, at, how):
        (folder / "config.yaml").write_text(CONFIG)
        self.log_path = folder / "doomed.log"
        preload = program("../tests/unit/vipu/vipu-crash.so")
        # A sanitizer's library wants to be the first one; here it does not matter.
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        self.disk_is_full = folder / "the disk is full"
        self.disk_is_full.touch()
        environment = {**os.environ, "CRASH_WHILE": str(self.disk_is_full), "LD_PRELOAD": preload, "CRASH_AT": str(at), "CRASH_HOW": how, "ASAN_OPTIONS": options}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program("vipu-server"), "--config", str(folder / "config.yaml"), "--storage", str(folder / "state.db"),
                 "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.sizes, self.gone, self.unsure = {}, set(), {}

    def port(self):
        """None when it died before it served."""
        def known():
            text = self.log_path.read_text()
            return [text.split(" port=")[1].split()[0]] if " port=" in text else self.process.poll() is not None and [None]
        return until(known, "it serves or is dead")[0]

    def run(self, ends_with=-signal.SIGKILL):
        """True when it ended by itself, false when it outlived the script and was killed."""
        port = self.port()
        survives = bool(port)
        if port:
            client = Client(f"127.0.0.1:{port}")
            survives = all(self.call(client, *step) for step in SCRIPT)
            client.close()
        if survives:
            self.process.kill()
        status = self.process.wait(DEADLINE_S)
        assert status == (-signal.SIGKILL if survives else ends_with), self.log_path.read_text()
        return not survives

    def call(self, client, verb, id, size):
        try:
            client.create(id, size) if verb == "create" else getattr(client, verb)(id)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE, error
            if verb != "reset":
                self.unsure[id] = size if verb == "create" else self.sizes.pop(id)
                self.gone.discard(id)
            return False
        self.note(verb, id, size, client)
        return True

    def note(self, verb, id, size, client):
        """That it was answered."""
        if verb == "create":
            self.sizes[id] = size
            self.gone.discard(id)
        elif verb == "remove":
            self.sizes.pop(id)
            self.gone.add(id)
            until(lambda: id not in {p.id for p in self.listed(client)}, "it is gone")

    def listed(self, client):
        """What is there; nothing once the server is dead, which the next call notices."""
        try:
            return client.list()
        except grpc.RpcError:
            return []

    def check(self, there):
        sizes = {p.id: len(p.spec.ipus) for p in there}
        assert self.sizes.items() <= sizes.items() <= {**self.unsure, **self.sizes}.items()
        assert not self.gone & sizes.keys()
        taken = [(i.ipulink_domain_topology_id, i.topology_id) for p in there for i in p.spec.ipus]
        assert len(taken) == len(set(taken))


def check_restart(serve, folder, doomed):
    """What was answered is there, nothing is half done, and the storage takes more."""
    server = serve(CONFIG, storage=folder / "state.db")
    client = Client(server.target)
    (there,) = until(lambda: settle(client), "every operation has ended")
    doomed.check(there)
    client.create("new", 1)
    client.close()
    assert server.stop() == 0


@pytest.mark.parametrize("part", range(8))
def test_every_write_may_be_the_last_one(serve, tmp_path, part):
    ended = 0
    for number, (at, how) in enumerate(POINTS[part::8]):
        folder = tmp_path / str(number)
        folder.mkdir()
        doomed = Doomed(folder, at, how)
        try:
            ended += doomed.run()
        finally:
            doomed.process.kill()
        check_restart(serve, folder, doomed)
    assert ended > len(POINTS[part::8]) * 2 / 3, "the script is too short for these points"


REJECTED = {"full": "No space left on device", "readonly": "Read-only file system"}


@pytest.mark.parametrize("how", REJECTED)
@pytest.mark.parametrize("at", [13, 14, 15, 20, 33, 34, 35, 50])
def test_a_storage_that_cannot_be_written(serve, tmp_path, at, how):
    """Changes are rejected with the reason and have no effect, reads go on, and with room it goes on by itself."""
    doomed = Doomed(tmp_path, at, how)
    try:
        client = Client(f"127.0.0.1:{doomed.port()}")
        rejected = [step for step in SCRIPT if not try_step(doomed, client, step, REJECTED[how])]
        assert rejected, "the script is too short"
        assert not doomed.disk_is_full.exists()
        client.close()
    finally:
        doomed.process.kill()
        doomed.process.wait(DEADLINE_S)
    log = doomed.log_path.read_text()
    assert "changes are rejected until the storage can be written" in log and REJECTED[how] in log
    assert "the storage can be written again" in log
    check_restart(serve, tmp_path, doomed)


def try_step(doomed, client, step, why):
    """False when it was rejected; then there is room, and it is made."""
    verb, id, size = step
    before = {p.id: (len(p.spec.ipus), p.ready_state) for p in client.list()}
    try:
        client.create(id, size) if verb == "create" else getattr(client, verb)(id)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE and why in error.details(), error
        assert "state.db" in error.details()
        assert {p.id: (len(p.spec.ipus), p.ready_state) for p in client.list()}.items() <= before.items()
        doomed.disk_is_full.unlink()
        assert doomed.call(client, *step)
        return False
    doomed.note(verb, id, size, client)
    return True


@pytest.mark.parametrize("how", REJECTED)
@pytest.mark.parametrize("at", [1, 2, 5, 9])
def test_a_storage_that_cannot_be_made(serve, tmp_path, at, how):
    """There is nothing to serve: it says which file and why, and starts when there is room."""
    doomed = Doomed(tmp_path, at, how)
    assert doomed.process.wait(DEADLINE_S) == 1
    log = doomed.log_path.read_text()
    assert "cannot start" in log and str(tmp_path / "state.db") in log
    check_restart(serve, tmp_path, doomed)
