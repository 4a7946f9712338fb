"""SIGHUP: vipu-server reads its configuration again."""

import signal

import grpc
import pytest

from certificates import Authority
from generic import pb
from programs import DEADLINE_S, until
from test_metrics import scrape

HEAD = "admin-listen: 127.0.0.1:0\ncreate-ms: 0\nremove-ms: 0\nreset-ms: 0\n"
ONE = HEAD + "clusters: [{id: cl1, agents: 4}]\n"


def reload(server, text, taken=True):
    """Returns what was logged meanwhile."""
    before = len(server.log())
    server.reload(text)
    word = "configuration reloaded" if taken else "configuration rejected"
    until(lambda: word in server.log()[before:], word)
    return server.log()[before:]


def code_of(call, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **kwargs)
    return caught.value.code()


def test_new_clusters_agents_and_allocations(start):
    server, client = start(ONE)
    client.create("p1", 8)
    until(lambda: client.status("p1").ready_state == pb.PS_ACTIVE, "it is there")
    before = client.ipuof("p1")
    reload(server, HEAD + "clusters: [{id: cl1, agents: 8, allocations: [{id: half, agents: [ag5, ag6, ag7, ag8]}]},"
                          " {id: cl2, agents: [x1]}]\n")
    assert client.ipuof("p1") == before
    client.create("p2", 16, allocation_id="half")
    client.create("p3", 4, cluster_id="cl2")
    client.create("p4", 8, cluster_id="cl1")
    assert set(client.attributes()) == {*(f"ag{i}" for i in range(1, 9)), "x1"}
    taken = [(p.spec.cluster_id, i.topology_id) for p in client.list() for i in p.spec.ipus]
    assert len(taken) == len(set(taken)) == 36
    assert code_of(client.create, "p5", 1) == grpc.StatusCode.RESOURCE_EXHAUSTED
    for id in ("p1", "p2", "p3", "p4"):
        client.remove(id)
    until(lambda: not client.list(), "all are removed")
    reload(server, ONE)
    assert code_of(client.create, "p", 4, cluster_id="cl2") == grpc.StatusCode.INVALID_ARGUMENT
    client.create("whole", 16)


@pytest.mark.parametrize("clusters, reason", [
    ("[{id: other, agents: 4}]", 'p1 is in cluster \\"cl1\\", which was removed'),
    ("[{id: cl1, agents: 4, topology: mesh}]", 'p1 is in cluster \\"cl1\\", which has a different topology'),
    ("[{id: cl1, agents: [ag2, ag1, ag3, ag4], allocations: [{id: a, agents: [ag1]}]}]", 'agent \\"ag1\\", which was removed'),
    ("[{id: cl1, agents: 4, ipuof-address: 10.9.9.9, allocations: [{id: a, agents: [ag1]}]}]", 'agent \\"ag1\\", which was removed'),
    ("[{id: cl1, agents: 4, machines: Bow-2000, allocations: [{id: a, agents: [ag1]}]}]", 'agent \\"ag1\\", which was removed'),
    ("[{id: cl1, agents: 4}]", 'p1 is in allocation \\"a\\", which was removed or reduced'),
    ("[{id: cl1, agents: 4, allocations: [{id: a, agents: [ag2]}]}]", 'p1 is in allocation \\"a\\", which was removed or reduced'),
])
def test_what_would_disturb_a_partition_is_not_done(start, clusters, reason):
    server, client = start(HEAD + "clusters: [{id: cl1, agents: 4, allocations: [{id: a, agents: [ag1]}]}]\n")
    client.create("p1", 4, allocation_id="a")
    client.create("p2", 4)
    before = client.list()
    log = reload(server, f"{HEAD}clusters: {clusters}\n")
    assert "keeping the current clusters and allocations" in log and reason in log
    until(lambda: all(p.ready_state == pb.PS_ACTIVE for p in client.list()), "they are made")
    assert [p.spec for p in client.list()] == [p.spec for p in before]
    client.remove("p1")
    until(lambda: len(client.list()) == 1, "it is gone")
    client.create("p3", 4, allocation_id="a")


def test_users_and_times(serve, dial):
    secure = HEAD + "secure: true\nusers: [{id: u, access-key: first-key, allocations: [cl1]}]\nclusters: [{id: cl1}]\n"
    server = serve(ONE.replace("agents: 4", "agents: 16"))
    client, first = dial(server.target), dial(server.target, user_id="u", access_key="first-key")
    second = dial(server.target, user_id="u", access_key="second-key")
    client.create("p1", 4)
    reload(server, secure)
    assert [p.id for p in first.list()] == ["p1"]
    assert code_of(client.list) == grpc.StatusCode.UNAUTHENTICATED == code_of(second.list)
    reload(server, secure.replace("first-key", "second-key").replace("create-ms: 0", "create-ms: 600000"))
    second.create("slow", 4)
    assert code_of(first.list) == grpc.StatusCode.UNAUTHENTICATED
    assert second.status("slow").operation_state == pb.POS_CREATING
    reload(server, ONE.replace("agents: 4", "agents: 16"))
    assert len(client.list()) == 2


def test_a_bad_file_changes_nothing(start):
    server, client = start(ONE)
    client.create("p1", 4)
    log = reload(server, "create-ms: 600000\ntopolgy: x\nclusters: [{id: new, agents: 99}]\n", taken=False)
    assert 'line 2: unknown setting \\"topolgy\\"' in log and "line 3: agents must be" in log
    client.create("p2", 4)
    until(lambda: client.status("p2").ready_state == pb.PS_ACTIVE, "operations take as long as before")
    (server.folder / "config.yaml").unlink()
    before = len(server.log())
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "No such file" in server.log()[before:], "the missing file is named")
    assert len(client.list()) == 2
    until(lambda: "configuration rejected" in server.log()[before:], "the attempt is counted")
    _, samples = scrape(server)
    assert samples["vipu_config_reloads_total", "rejected"] == 2 and samples["vipu_config_reloads_total", "taken"] == 0


def test_what_only_a_start_can_change_is_named(serve, dial):
    server = serve(ONE)
    log = reload(server, "admin-listen: 127.0.0.1:1\nlimits: {calls: 5}\nclusters: [{id: cl1, agents: 4}]\n")
    named = [line for line in log.splitlines() if "setting takes effect after a restart" in line]
    assert [line.split("setting=")[1] for line in named] == ["admin-listen", "limits"]
    assert dial(server.target).list() == []
    _, samples = scrape(server)
    assert samples["vipu_config_reloads_total", "taken"] == 1
    assert "next start" not in reload(server, ONE)


def test_certificates(serve, dial, tmp_path):
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new", "another CA")
    first, second = old.sign("first", "IP:127.0.0.1"), new.sign("second", "IP:127.0.0.1")
    text = ONE + f"tls: {{certificate: {first.pem}, key: {first.key}}}\n"
    server = serve(text)
    kept = dial(server.target, authority=old.pem.read_bytes())
    kept.create("p1", 4)
    reload(server, ONE + f"tls: {{certificate: {second.pem}, key: {second.key}}}\n")
    assert [p.id for p in kept.list()] == ["p1"], "a connection goes on with the old certificate"
    assert [p.id for p in dial(server.target, authority=new.pem.read_bytes()).list()] == ["p1"]
    log = reload(server, ONE + f"tls: {{certificate: {second.pem}, key: {first.key}}}\n", taken=False)
    assert "line 6" in log
    assert dial(server.target, authority=new.pem.read_bytes()).version() == "1.18.0"


def test_partitions_whose_hardware_comes_back(start, dial):
    server, client = start(HEAD + "clusters: [{id: a, agents: [x]}, {id: b, agents: [y]}]\n")
    client.create("p1", 4, cluster_id="b")
    until(lambda: client.status("p1").ready_state == pb.PS_ACTIVE, "it is there")
    server.restart(HEAD + "clusters: [{id: a, agents: [x]}]\n")
    client = dial(server.target)
    assert client.status("p1").ready_state == pb.PS_ERROR
    reload(server, HEAD + "clusters: [{id: a, agents: [x]}, {id: b, agents: [y]}]\n")
    assert code_of(client.create, "p2", 1, cluster_id="b") == grpc.StatusCode.RESOURCE_EXHAUSTED
    client.reset("p1")
    until(lambda: client.status("p1").ready_state == pb.PS_ACTIVE, "a reset brings it back")


def test_calls_continue_meanwhile(start):
    more = HEAD + ("secure: false\nusers: [{id: u, access-key: some-key-1, allocations: [half]}]\nclusters:\n"
                   "  - {id: cl1, agents: 8, allocations: [{id: half, agents: [ag5, ag6]}]}\n  - {id: cl2}\n")
    server, client = start(ONE)
    for number in range(100):
        server.reload(ONE if number % 2 else more)
        client.create(f"p{number}", 4)
        assert client.status(f"p{number}").partition_id == f"p{number}"
        client.remove(f"p{number}")
        until(lambda: not client.list(), "it is gone")
    until(lambda: server.log().count("configuration reloaded") > 10, "it was read again and again")
    assert "invalid configuration" not in server.log()


def test_a_reload_beside_a_stop_changes_nothing(serve):
    """SIGHUP beside SIGTERM, when much is gone already; in the very last moments it ends the process as any signal would."""
    for _ in range(10):
        server = serve(ONE)
        for signum in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP, signal.SIGHUP):
            server.process.send_signal(signum)
        assert server.process.wait(DEADLINE_S) in (0, -signal.SIGHUP), server.log()


def test_without_a_file_nothing_changes(start):
    server, client = start()
    client.create("p1", 64)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "configuration reloaded" in server.log(), "it says so")
    assert [p.id for p in client.list()] == ["p1"]
