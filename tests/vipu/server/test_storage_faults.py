"""vipu-server and a storage that fails while it runs, or is not what it should be when it starts. Changes are rejected with the
reason, reads go on, nothing that was answered is lost, and it recovers by itself. A disk that is full has UNAVAILABLE:
RESOURCE_EXHAUSTED of this API says that there are not enough free IPUs."""

import resource
import shutil
import sqlite3
import subprocess
import urllib.request

import grpc
import pytest

from programs import DEADLINE_S, Server, run_program, until
from test_persistence import settle

QUICK = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\nadmin-listen: 127.0.0.1:0\nclusters: [{id: cl1, ipulink-domains: 16}]\n"


def rejected(call, *words):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    for word in words:
        assert word in caught.value.details()


def ids(client):
    return {partition.id for partition in client.list()}


def create_until_rejected(client, *words):
    """The ids that were answered; then the storage is full."""
    made = []
    for number in range(1000):
        try:
            client.create(f"p{number}", 1)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE and all(word in error.details() for word in words), error
            return set(made)
        made.append(f"p{number}")
    raise AssertionError("it never was full")


class SmallDisk:
    """A file system of 512 KiB in a mount namespace of its own, which ends with its process."""

    def __init__(self, folder):
        folder.mkdir()
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=512k tmpfs {folder} && echo ready && cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"
        self.outside = f"/proc/{self.holder.pid}/root{folder}"

    def fill(self):
        try:
            with open(f"{self.outside}/filler", "wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
        except OSError as error:
            assert error.errno == 28

    def free(self):
        with open(f"{self.outside}/filler", "wb"):
            pass

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(DEADLINE_S)
        self.holder.stdout.close()


class ServerOnDisk(Server):
    def __init__(self, disk, folder, storage):
        self.disk = disk
        super().__init__(folder, QUICK, storage=storage)

    def start(self):
        enter = ["nsenter", f"--mount=/proc/{self.disk.holder.pid}/ns/mnt"]
        self.args = self.args if self.args[0] == enter[0] else [*enter, *self.args]
        super().start()


@pytest.fixture
def disk(tmp_path):
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.close()


def test_a_full_disk(disk, tmp_path, dial):
    server = ServerOnDisk(disk, tmp_path, tmp_path / "disk" / "state.db")
    try:
        client = dial(server.target)
        client.create("first", 4)
        disk.fill()
        made = create_until_rejected(client, "No space left on device", "state.db", "free space") | {"first"}
        assert ids(client) == made
        rejected(lambda: client.remove("first"), "No space left")
        server.restart()  # a full disk is no reason to end, or not to begin
        client = dial(server.target)
        assert ids(client) == made
        rejected(lambda: client.create("late", 1), "No space left")
        disk.free()
        client.create("late", 1)
        client.remove("first")
        until(lambda: "first" not in ids(client), "it is gone")
        server.restart()
        assert ids(dial(server.target)) == made - {"first"} | {"late"}
        assert server.stop() == 0
    finally:
        server.kill()


def test_a_file_of_the_largest_size(serve, dial):
    """A limit of the file size (LimitFSIZE= of systemd, ulimit -f) is a full disk, too, not a deadly signal."""
    server = serve(QUICK)
    client = dial(server.target)
    pid = server.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (64 << 10, hard))
    made = create_until_rejected(client, "File too large")
    assert ids(client) == made
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    client.create("late", 1)
    server.restart()
    assert ids(dial(server.target)) == made | {"late"}


@pytest.fixture
def apart(serve, tmp_path):
    """A server whose storage has a folder for itself."""
    (tmp_path / "storage").mkdir()
    return serve(QUICK, storage=tmp_path / "storage" / "state.db")


def test_a_folder_that_is_removed(apart, dial, tmp_path):
    client = dial(apart.target)
    client.create("p1", 4)
    shutil.rmtree(tmp_path / "storage")
    rejected(lambda: client.create("p2", 4), str(tmp_path / "storage"), "No such file or directory")
    rejected(lambda: client.remove("p1"), "No such file or directory")
    assert [p.id for p in settle(client)[0]] == ["p1"]
    (tmp_path / "storage").mkdir()
    client.create("p3", 4)
    apart.restart()
    assert ids(dial(apart.target)) == {"p1", "p3"}


def test_changes_of_time_are_saved_when_there_is_room(apart, dial, tmp_path):
    """A removal that ends while the folder is away is not made again."""
    client = dial(apart.target)
    apart.reload(QUICK.replace("remove-ms: 0", "remove-ms: 1000"))
    until(lambda: "configuration reloaded" in apart.log(), "it is read")
    client.create("p1", 4)
    client.remove("p1")
    (tmp_path / "storage").rename(tmp_path / "away")
    until(lambda: not client.list(), "the removal ends")
    until(lambda: "changes are rejected" in apart.log(), "it is noticed")
    (tmp_path / "away").rename(tmp_path / "storage")
    until(lambda: "the storage can be written again" in apart.log(), "it tries again")
    apart.kill()
    checked = run_program("vipu-server", "--check-storage", "--storage", str(tmp_path / "storage" / "state.db"))
    assert checked.returncode == 0 and "storage is valid, 0 partitions" in checked.stdout


def test_a_full_disk_is_counted(apart, tmp_path, dial):
    shutil.rmtree(tmp_path / "storage")
    rejected(lambda: dial(apart.target).create("p1", 4))
    with urllib.request.urlopen(f"http://127.0.0.1:{apart.admin_port}/metrics", timeout=DEADLINE_S) as answer:
        metrics = answer.read().decode()
    assert "vipu_storage_failures_total 1\n" in metrics
    assert apart.stop() == 0  # what was rejected is not its loss


def make(serve, dial, *partitions):
    server = serve(QUICK)
    for id in partitions:
        dial(server.target).create(id, 4)
    assert server.stop() == 0
    return server, server.folder / "state.db"


def check(path, mode="--check-storage"):
    return run_program("vipu-server", mode, "--storage", str(path))


def test_the_storage_is_checked_and_repaired(serve, dial):
    server, path = make(serve, dial, "p1", "p2", "p3")
    sound = check(path)
    assert (sound.returncode, sound.stdout) == (0, f"{path}: storage is valid, 3 partitions\n")
    with sqlite3.connect(path) as database:
        database.execute("update partitions set number = number + 8 where id = 'p2'")
    database.close()
    bad = check(path)
    assert bad.returncode == 1 and bad.stderr == f"{path}: partition 'p2' has a wrong checksum\n"
    rejection = subprocess.run(server.args, capture_output=True, text=True, timeout=DEADLINE_S)
    assert rejection.returncode == 1
    assert all(word in rejection.stderr for word in (str(path), "partition 'p2' has a wrong checksum", "--repair-storage"))
    repaired = check(path, "--repair-storage")
    assert (repaired.returncode, repaired.stdout) == (0, f"{path}: repaired, 2 partitions; the damaged file is {path}.damaged\n")
    assert check(path).returncode == 0 and check(f"{path}.damaged").returncode == 1
    server.start()
    assert ids(dial(server.target)) == {"p1", "p3"}


@pytest.mark.parametrize("mode", ["--check-storage", "--repair-storage"])
def test_what_cannot_be_checked(serve, tmp_path, mode):
    server = serve(QUICK)
    used = check(server.folder / "state.db", mode)
    assert used.returncode == 1 and "locked by another process; stop it" in used.stderr
    missing = check(tmp_path / "none.db", mode)
    assert missing.returncode == 1 and "none.db" in missing.stderr and "No such file" in missing.stderr
    assert not (tmp_path / "none.db").exists()


def test_a_database_of_another_program(tmp_path):
    """It is not taken for a fresh one, and stays as it is."""
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as database:
        database.execute("create table songs (title)")
    database.close()
    before = path.read_bytes()
    run = run_program("vipu-server", "--listen", "127.0.0.1:0", "--storage", str(path))
    assert run.returncode == 1 and str(path) in run.stderr and "not a storage of vipu-server" in run.stderr
    assert path.read_bytes() == before


def test_a_storage_of_the_future(serve, dial):
    server, path = make(serve, dial)
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 4")
    database.close()
    run = subprocess.run(server.args, capture_output=True, text=True, timeout=DEADLINE_S)
    assert run.returncode == 1 and "written by a newer vipu-server (format 4, supported up to 3)" in run.stderr
