"""What a partition goes through: states, errors, automatic resets, relocation, removal; also across kill -9."""

import os
import sqlite3
import time

import grpc
import pytest

from faults import HEAD, QUICK, set_faults
from generic import Client, pb
from programs import run_program, until
from test_calls import places, rejected, wait_active, wait_gone

PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


@pytest.fixture
def server(serve):
    return serve(QUICK)


@pytest.fixture
def client(server, dial):
    return dial(server.target)


def state(client, id):
    status = client.status(id)
    return status.ready_state, status.operation_state


def wait_state(client, id, ready, operation):
    until(lambda: state(client, id) == (ready, operation),
          f"{id} is {pb.PartitionReadyState.Name(ready)}/{pb.PartitionOperationState.Name(operation)}")


def machines(client, id):
    return sorted({device.ip for gcd in client.ipuof(id).gcd_configs for device in gcd.devices})


def vipu(server, *words):
    return run_program("vipu", "-H", "127.0.0.1", "-P", str(server.port), *words,
                       env={"PATH": os.environ["PATH"], "HOME": str(server.folder)})


def test_an_automatic_reset_mends_what_was_short(start):
    """On record: the status has errors, auto-reset retries, their limit and the time of the last."""
    server, client = start(QUICK.replace("auto-reset-ms: 0", "auto-reset-ms: 500") + "auto-reset-retries: 1000\n")
    client.create("p1", 4)
    wait_active(client, "p1")
    begun = time.time()
    set_faults(server, "hardware: [{agent: ag1}]")
    wait_state(client, "p1", pb.PS_ERROR, pb.POS_IDLE)
    rejected(PRECONDITION, client.ipuof, "p1")
    until(lambda: client.status("p1").auto_reset_retry_count, "the first reset comes too early")
    set_faults(server, "hardware: [{agent: ag1, for-ms: 1000}]")
    wait_active(client, "p1")
    status = client.status("p1")
    assert list(status.errors) == [] and status.max_auto_reset_retries == 1000
    assert 1 < status.auto_reset_retry_count < 1000
    assert begun - 2 <= status.last_auto_reset_time.seconds <= time.time() + 2
    assert "\nLast auto-reset      | 20" in vipu(server, "get", "partition", "p1").stdout
    client.reset("p1")  # one that is asked for starts the count anew
    wait_active(client, "p1")
    assert client.status("p1").auto_reset_retry_count == 0


def test_auto_reset_can_be_disabled(server, client):
    """On record: auto-reset can be disabled at creation."""
    client.create("never", 4, disable_auto_reset=True)
    client.create("often", 4)
    wait_active(client, "often")
    set_faults(server, "partitions: [{on: now}]")
    wait_active(client, "often")
    assert client.status("often").auto_reset_retry_count == 1
    status = client.status("never")
    assert (status.ready_state, status.operation_state) == (pb.PS_ERROR, pb.POS_FAILED)
    assert (status.max_auto_reset_retries, status.auto_reset_retry_count) == (0, 0)
    assert not status.HasField("last_auto_reset_time")


def test_relocation(server, client):
    """On record: a relocatable partition may be moved to other IPUs on errors, and a reset's flag overrides."""
    client.create("moves", 4, relocatable=True)
    client.create("stays", 4)
    wait_active(client, "stays")
    assert machines(client, "moves") == ["10.1.5.10"] and machines(client, "stays") == ["10.1.5.11"]
    set_faults(server, "hardware: [{agent: ag1}, {agent: ag2}]")
    wait_active(client, "moves")  # by its automatic reset
    assert machines(client, "moves") == ["10.1.5.12"]
    wait_state(client, "stays", pb.PS_ERROR, pb.POS_FAILED)
    client.reset("stays")
    wait_state(client, "stays", pb.PS_ERROR, pb.POS_FAILED)
    client.reset("stays", relocatable=True)
    wait_active(client, "stays")
    assert machines(client, "stays") == ["10.1.5.13"]
    # The ids under the same name are new, and so says the list.
    assert [places(p) for p in client.list()] == [[(0, i) for i in range(8, 12)], [(0, i) for i in range(12, 16)]]
    # The flag of a reset was for that one: false keeps what was said at the creation.
    set_faults(server, "hardware: [{agent: ag4}]")
    wait_state(client, "stays", pb.PS_ERROR, pb.POS_FAILED)
    client.reset("stays")
    wait_state(client, "stays", pb.PS_ERROR, pb.POS_FAILED)


def test_no_free_ipus_to_relocate_to(server, client):
    client.create("p1", 64, relocatable=True)
    wait_active(client, "p1")
    set_faults(server, "hardware: [{agent: ag7, ipu: 2}]")
    wait_state(client, "p1", pb.PS_ERROR, pb.POS_FAILED)
    assert places(client.list()[0]) == [(0, i) for i in range(64)]
    set_faults(server, "")
    client.reset("p1", relocatable=True)
    wait_active(client, "p1")


def test_relocation_stays_within_the_allocation(start):
    server, client = start(HEAD + "clusters: [{id: cl1, allocations: [{id: two, agents: [ag1, ag2]}]}]\n")
    for id in ("p1", "p2"):
        client.create(id, 4, allocation_id="two", relocatable=True)
        wait_active(client, id)
    set_faults(server, "hardware: [{agent: ag1}]")
    wait_state(client, "p1", pb.PS_ERROR, pb.POS_FAILED)
    client.remove("p2")
    wait_gone(client, "p2")
    client.reset("p1")
    wait_active(client, "p1")
    assert machines(client, "p1") == ["10.1.5.11"]


def test_reset_cures_an_agent_in_error(serve):
    """On record: an empty device list points at an agent in error, and reset partition is the cure (seed 003, 2.10)."""
    server = serve(QUICK)
    assert vipu(server, "create", "partition", "p1", "--size", "8", "--disable-auto-reset").returncode == 0
    set_faults(server, "hardware: [{agent: ag2}]")
    output = vipu(server, "get", "partition", "p1")
    assert "agent ag2" in output.stdout + output.stderr
    listed = vipu(server, "get", "partition", "p1", "--ipuof-configs")
    assert listed.returncode == 1 and "agent ag2" in listed.stderr and "vipu reset partition p1" in listed.stderr
    failed = vipu(server, "reset", "partition", "p1")
    assert failed.returncode == 1 and "agent ag2" in failed.stderr
    set_faults(server, "")
    assert vipu(server, "reset", "partition", "p1").returncode == 0
    assert vipu(server, "get", "partition", "p1", "--ipuof-configs").returncode == 0


@pytest.mark.parametrize("failing", ["operation", "hardware"])
def test_removal_from_any_state(start, failing):
    """On record: a forced remove ignores errors."""
    server, client = start(QUICK.replace("create-ms: 0", "create-ms: 600000").replace("reset-ms: 0", "reset-ms: 600000"))
    faults = {"operation": "partitions: [{on: remove}]", "hardware": "hardware: [{agent: '*'}]"}[failing]
    client.create("creating", 4)
    client.create("removing", 4)
    set_faults(server, faults)
    client.remove("creating")
    wait_state(client, "creating", pb.PS_ERROR, pb.POS_FAILED)
    client.reset("creating")
    assert state(client, "creating") == (pb.PS_PENDING, pb.POS_RESETTING)
    client.remove("creating", force=True)
    wait_gone(client, "creating")
    client.remove("removing", force=True)
    wait_gone(client, "removing")
    assert client.list() == []


def test_update_is_remove_and_create(client):
    """On record: there is no call that changes a partition."""
    client.create("p1", 4)
    client.remove("p1")
    wait_gone(client, "p1")
    client.create("p1", 16, reconfigurable=True)
    wait_active(client, "p1")
    assert len(client.list()[0].spec.ipus) == 16


def test_removed_is_seen_for_a_while(start, dial):
    """On record: a partition is PENDING, ACTIVE, REMOVED or in ERROR; after a remove clients poll until NOT_FOUND."""
    server, client = start(QUICK + "removed-ms: 600000\n")
    client.create("p1", 64)
    client.remove("p1")
    wait_state(client, "p1", pb.PS_REMOVED, pb.POS_IDLE)
    rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, client.create, "p2", 1)  # the list says who has the IPUs
    server.restart(QUICK + "removed-ms: 1\n")
    client = dial(server.target)
    wait_gone(client, "p1")
    client.create("p2", 1)


@pytest.mark.parametrize("topology, routing, works", [
    ("looped", pb.GRT_RING, True), ("switched", pb.GRT_SWRING, True), ("looped", pb.GRT_SWRING, False),
    ("switched", pb.GRT_RING, False), ("unlooped", pb.GRT_RING, False), ("unlooped", pb.GRT_UNDEFINED, True)])
def test_gateway_routing(serve, dial, topology, routing, works):
    """On record: gateway routing RING is for clusters with loop links, SWRING for switched gateway links; gateway routing
    is for several segments only."""
    client = dial(serve(HEAD + f"clusters: [{{id: a, ipulink-domains: 2, cluster-topology: {topology}}}]\n").target)
    shape = dict(num_ipulink_segments=2, num_gcds=2, gw_routing_type=routing)
    if works:
        client.create("p1", 128, cluster_id="a", **shape)
        wait_active(client, "p1")
        assert client.list()[0].spec.gw_routing_type == client.ipuof("p1").gw_routing_type == routing
    else:
        rejected(grpc.StatusCode.INVALID_ARGUMENT, client.create, "p1", 128, cluster_id="a", **shape)
    if routing:
        assert "gateway" in rejected(grpc.StatusCode.INVALID_ARGUMENT, client.create, "p2", 4, gw_routing_type=routing)


def test_what_the_ipuof_client_receives(client):
    """On record: an attribute says that a partition is Fabric Reconfigurable; GcdID is a message, so that GCD 0 differs
    from all GCDs."""
    client.create("fixed", 8, num_gcds=2, num_replicas=4, sync_type=pb.ST_POD_NATIVE_DEFAULT)
    client.create("free", 16, reconfigurable=True)
    wait_active(client, "free")
    config = client.ipuof("fixed")
    assert (config.sync_type, config.reconfigurable, config.num_ipulink_segments) == (pb.ST_POD_NATIVE_DEFAULT, False, 1)
    assert config.ipulink_routing_type == pb.IRT_DNC and config.ipuof_server_version
    assert config.ipuof_server_version == client.list()[0].ipuof_server_version
    assert dict(config.gcd_configs[1].attributes) == {
        "GCD Id": "1", "Partition Id": "fixed", "Fabric Reconfigurable": "false", "Partition Sync Type": "pod-native-default",
        "Routing Type": "DNC", "Gateway Routing Type": "DEFAULT", "Number Of Replicas": "4", "Number Of GCDs": "2",
        "Number Of IPU-Link Domains": "1"}
    (free,) = client.ipuof("free").gcd_configs
    assert free.attributes["Fabric Reconfigurable"] == "true"
    assert free.attributes["Partition Sync Type"] == "c2-compatible"
    for device in free.devices:
        assert (device.server_port, device.rdma_port, device.ipu_arch_id) == (50052, 50053, 2)
        assert device.chip_id and device.gwsw_version and device.ipum_sw_version
        agent = f"ag{int(device.ip.split('.')[-1]) - 9}"
        (ipu,) = [ipu for ipu in client.attributes(agent)[agent].values() if ipu["board ipu index"] == str(device.ipu_id)]
        assert ipu["chip id"] == device.chip_id and ipu["ipuof host"] == device.ip
    assert [gcd.attributes["GCD Id"] for gcd in client.ipuof("fixed").gcd_configs] == ["0", "1"]
    assert [gcd.attributes["GCD Id"] for gcd in client.ipuof("fixed", gcd=0).gcd_configs] == ["0"]


def test_trouble_survives_kill(start, dial):
    """Errors, counts and what is still to happen are there after kill -9."""
    config = QUICK.replace("auto-reset-ms: 0", "auto-reset-ms: 600000").replace("remove-ms: 0", "remove-ms: 600000")
    server, client = start(config + "removed-ms: 600000\n")
    client.create("failed", 4, disable_auto_reset=True)
    client.create("waits", 4)
    client.create("leaves", 4)
    wait_active(client, "leaves")
    set_faults(server, "partitions: [{on: now, partition: '?a*', error: it sparks}]")
    client.remove("leaves", force=True)
    assert state(client, "waits") == (pb.PS_ERROR, pb.POS_IDLE)
    before = {id: client.status(id) for id in ("failed", "waits", "leaves")}
    server.restart()
    client = dial(server.target)
    assert {id: client.status(id) for id in before} == before
    assert list(before["failed"].errors) == ["it sparks"]
    client.reset("failed")
    wait_active(client, "failed")
    server.restart(QUICK + "removed-ms: 600000\n")
    client = dial(server.target)
    wait_state(client, "leaves", pb.PS_REMOVED, pb.POS_IDLE)
    wait_active(client, "waits")  # its automatic reset was still to come
    status = client.status("waits")
    assert status.auto_reset_retry_count == 1 and status.HasField("last_auto_reset_time")
    server.restart(QUICK)
    client = dial(server.target)
    wait_gone(client, "leaves")
    assert client.status("waits") == status


def test_faults_of_the_configuration_meet_what_was_saved(start, dial):
    server, client = start(QUICK)
    client.create("p1", 4)
    client.create("p2", 4)
    wait_active(client, "p2")
    server.restart(QUICK + "auto-reset-retries: 0\nfaults: {hardware: [{agent: ag2, error: it went with the power}]}\n")
    client = dial(server.target)
    assert list(client.status("p2").errors) == ["agent ag2: it went with the power"]
    assert state(client, "p1") == (pb.PS_ACTIVE, pb.POS_IDLE)
    server.reload(QUICK)
    until(lambda: "configuration reloaded" in server.log(), "it is read")
    client.reset("p2")
    wait_active(client, "p2")


@pytest.mark.parametrize("format, more_columns, more_values", [(1, "", ""), (2, ", status BLOB", ", NULL")])
def test_a_storage_of_an_earlier_format(serve, format, more_columns, more_values):
    server = serve(QUICK)
    assert server.stop() == 0
    old = pb.ListPartitionsReply(partitions=[pb.Partition(
        id="p1", ready_state=pb.PS_ACTIVE, ipuof_server_version="1.11.0",
        spec=pb.PartitionSpec(cluster_id="cl1", allocation_id="cl1", num_gcds=1, num_replicas=1, num_ipulink_segments=1,
                              ipulink_routing_type=pb.IRT_DNC, sync_type=pb.ST_GS2_DEFAULT,
                              ipus=[pb.PartitionIpu(topology_id=i, routing_id=i) for i in range(4)]))])
    path = server.folder / "state.db"
    for file in server.folder.glob("state.db*"):
        file.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE partitions (id TEXT PRIMARY KEY, number INTEGER NOT NULL, operation INTEGER NOT NULL,"
                   f" flags INTEGER NOT NULL, partition BLOB NOT NULL{more_columns}) WITHOUT ROWID")
        db.execute(f"PRAGMA user_version = {format}")
        db.execute(f"INSERT INTO partitions VALUES ('p1', 1, 1, 0, ?{more_values})", [old.SerializeToString()])
    db.close()
    server.start()
    client = Client(server.target)
    assert state(client, "p1") == (pb.PS_ACTIVE, pb.POS_IDLE)
    client.reset("p1")
    wait_active(client, "p1")
    server.restart()
    assert state(Client(server.target), "p1") == (pb.PS_ACTIVE, pb.POS_IDLE)
