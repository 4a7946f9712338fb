"""Every call of the user API, by a generic gRPC client."""

import grpc
import pytest

from generic import pb
from programs import DEADLINE_S, until

TWO_RACKS = """
create-ms: 0
remove-ms: 0
clusters:
  - id: 2xPOD64
    ipulink-domains: 2
    allocations:
      - {id: small, agents: [ag1, ag2, ag3, ag4]}
"""


def rejected(code, call, *args, **kwargs):
    """The call is rejected with this status; returns the reason."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **kwargs)
    assert caught.value.code() == code, caught.value.details()
    return caught.value.details()


def wait_active(client, id):
    until(lambda: client.status(id).ready_state == pb.PS_ACTIVE, f"{id} is active")


def wait_gone(client, id):
    def is_gone():
        try:
            client.status(id)
        except grpc.RpcError as error:
            return error.code() == grpc.StatusCode.NOT_FOUND
        return False

    until(is_gone, f"{id} is gone")


def places(partition):
    return [(ipu.ipulink_domain_topology_id, ipu.topology_id) for ipu in partition.spec.ipus]


def test_version(quick):
    assert quick.version() == "1.18.0"


def test_a_partition_from_creation_to_removal(quick):
    """On record: after a remove clients poll until NOT_FOUND; a partition has one GCD unless told otherwise; one
    segment is the default; the topology id is the physical index of an IPU in its domain, the routing id its
    logical index in the partition."""
    assert quick.create("p1", 16, reconfigurable=True) == "p1"
    wait_active(quick, "p1")
    status = quick.status("p1")
    assert (status.partition_id, status.operation_state) == ("p1", pb.POS_IDLE)
    assert list(status.errors) == [] and status.max_auto_reset_retries == 3
    assert not status.HasField("last_auto_reset_time")
    (partition,) = quick.list()
    spec = partition.spec
    assert (partition.id, partition.ready_state) == ("p1", pb.PS_ACTIVE)
    assert (spec.cluster_id, spec.allocation_id) == ("cl1", "cl1")
    assert (spec.num_gcds, spec.num_replicas, spec.num_ipulink_segments) == (1, 1, 1)
    assert (spec.ipulink_routing_type, spec.sync_type) == (pb.IRT_DNC, pb.ST_GS2_DEFAULT)
    assert spec.reconfigurable and spec.gw_routing_type == pb.GRT_UNDEFINED
    assert places(partition) == [(0, i) for i in range(16)]
    assert [ipu.routing_id for ipu in spec.ipus] == list(range(16))
    quick.remove("p1")
    wait_gone(quick, "p1")
    assert quick.list() == []


def test_operations_are_asynchronous(serve, dial):
    """On record: create returns at once, and the partition goes from pending to active."""
    client = dial(serve("create-ms: 600000\nremove-ms: 600000\nclusters: [{id: cl1}]").target)
    client.create("p1", 4)
    status = client.status("p1")
    assert (status.ready_state, status.operation_state) == (pb.PS_PENDING, pb.POS_CREATING)
    client.remove("p1")
    assert client.status("p1").operation_state == pb.POS_REMOVING
    client.remove("p1")  # again: it is on its way
    rejected(grpc.StatusCode.ALREADY_EXISTS, client.create, "p1", 4)


def test_reset(serve, dial):
    client = dial(serve("create-ms: 0\nreset-ms: 600000\nclusters: [{id: cl1}]").target)
    client.create("p1", 4)
    wait_active(client, "p1")
    client.reset("p1")
    status = client.status("p1")
    assert (status.ready_state, status.operation_state) == (pb.PS_PENDING, pb.POS_RESETTING)
    rejected(grpc.StatusCode.FAILED_PRECONDITION, client.reset, "p1")
    rejected(grpc.StatusCode.FAILED_PRECONDITION, client.ipuof, "p1")
    rejected(grpc.StatusCode.NOT_FOUND, client.reset, "p2")


def test_unknown_partitions(quick):
    """On record: NOT_FOUND for an unknown partition in GetPartitionStatus and RemovePartition."""
    for call in (quick.status, quick.remove, quick.reset, quick.ipuof):
        assert "p9" in rejected(grpc.StatusCode.NOT_FOUND, call, "p9")


def test_free_ipus(quick):
    """On record: a partition is an isolated set of IPUs."""
    for number in range(4):
        quick.create(f"p{number}", 16)
    reason = rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, quick.create, "p4", 1)
    assert "0 of 64 free" in reason
    quick.remove("p2")
    wait_gone(quick, "p2")
    assert "16" in rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, quick.create, "p4", 32)
    quick.create("p4", 16)
    assert places(quick.list()[-1]) == [(0, i) for i in range(32, 48)]
    assert sorted(p for partition in quick.list() for p in places(partition)) == [(0, i) for i in range(64)]


def test_free_ipus_of_another_number_of_domains(serve, dial):
    client = dial(serve("create-ms: 0\nclusters: [{id: small, ipulink-domains: 2, agents: 4}]").target)
    reason = rejected(grpc.StatusCode.INVALID_ARGUMENT, client.create, "p1", 16)
    assert reason == ("16 IPUs over 1 IPU-Link domain can never fit: they fit over another number of domains, "
                      "16 IPUs in all")
    client.create("p1", 16, num_ipulink_segments=2, num_gcds=2)


def test_what_can_never_fit(quick):
    """It is not called a lack of free IPUs, for which a client would wait."""
    reason = rejected(grpc.StatusCode.INVALID_ARGUMENT, quick.create, "p1", 128, num_gcds=2, num_ipulink_segments=2)
    assert reason == "128 IPUs over 2 IPU-Link domains can never fit: 64 IPUs in all, largest block 64"


def test_every_reason_at_once(quick):
    reason = rejected(grpc.StatusCode.INVALID_ARGUMENT, quick.create, "no good|id", 3, num_gcds=5, num_replicas=7,
                     sync_type=9, cluster_id="nowhere", gw_routing_type=2, ipulink_routing_type=77,
                     allocation_id="neither")
    for part in ("ID may contain", "size 3", "GCDs 5", "replicas 7", "sync type 9", "gateway routing", "type 77",
                 'cluster "nowhere"', 'allocation "neither"'):
        assert part in reason
    assert quick.list() == []


@pytest.mark.parametrize("requirements", [
    dict(size=0), dict(size=63), dict(size=4, num_gcds=8), dict(size=4, num_gcds=2, num_replicas=1),
    dict(size=4, num_replicas=8), dict(size=4, reconfigurable=True, num_gcds=2),
    dict(size=4, reconfigurable=True, sync_type=3), dict(size=4, sync_type=2),
    dict(size=128, num_ipulink_segments=1, num_gcds=2), dict(size=128, num_gcds=2), dict(size=4, num_ipulink_segments=2, num_gcds=1),
    dict(size=1, ipus=[pb.PartitionIpu(topology_id=0)]),
    dict(size=2, cluster_id="cl1", ipus=[pb.PartitionIpu(), pb.PartitionIpu(routing_id=1)]),
    dict(size=1, cluster_id="cl1", ipus=[pb.PartitionIpu(topology_id=64)]),
    dict(size=1, cluster_id="cl1", ipus=[pb.PartitionIpu(ipulink_domain_topology_id=4000000000)]),
    dict(size=2, cluster_id="cl1", ipus=[pb.PartitionIpu(), pb.PartitionIpu(topology_id=1)]),
])
def test_shapes_that_are_rejected(quick, requirements):
    """On record: a partition's size must be a power of two; an IPU-Link domain has at most 64 IPUs; a request that
    lists IPUs must name the cluster."""
    assert rejected(grpc.StatusCode.INVALID_ARGUMENT, quick.create, "p1", **requirements)


def test_one_segment_is_the_default(quick):
    """graphcore/vipu-protos, vipuuser.proto: "If not specified single ipulink segment will be used"."""
    assert rejected(grpc.StatusCode.INVALID_ARGUMENT, quick.create, "p1", 128, num_gcds=2) == (
        "128 IPUs over 1 IPU-Link domain exceed the 64 IPUs of a domain; request at least 2 domains")


@pytest.mark.parametrize("size, requirements, gcds, replicas", [
    (2, dict(num_gcds=2), 2, 2),
    (4, dict(num_gcds=2, num_replicas=4), 2, 4),
    (16, dict(reconfigurable=True, allocation_id="2xPOD64"), 1, 1),
    (64, dict(reconfigurable=True, cluster_id="2xPOD64"), 1, 1),
    (128, dict(cluster_id="2xPOD64", num_gcds=32, num_replicas=32, ipulink_routing_type=pb.IRT_RINGSWNC,
               num_ipulink_segments=2), 32, 32),
    (32, dict(num_ipulink_segments=2, num_gcds=2), 2, 2),
])
def test_requests_seen_in_public(serve, dial, size, requirements, gcds, replicas):
    """On record: --cluster 2xPOD64 --size=64 --reconfigurable takes one domain; --cluster 2xPOD64 --size 128
    --num-gcds 32 --gcd-sync-replicas 32 --routing ringswnc takes two domains; 32 IPUs with 2 domains, 2 GCDs and 2
    replicas; num_replicas counts the replicas of all GCDs together, one per GCD unless told otherwise."""
    client = dial(serve(TWO_RACKS).target)
    client.create("p1", size, **requirements)
    spec = client.list()[0].spec
    segments = requirements.get("num_ipulink_segments", 1)
    assert (len(spec.ipus), spec.num_gcds, spec.num_replicas) == (size, gcds, replicas)
    assert spec.num_ipulink_segments == segments
    assert {ipu.ipulink_domain_topology_id for ipu in spec.ipus} == set(range(segments))
    assert [ipu.ipulink_domain_routing_id for ipu in spec.ipus] == [i * segments // size for i in range(size)]


def test_routing_is_chosen_by_size_and_topology(serve, dial):
    """On record: the server chooses a routing that is left undefined, from the size and the cluster's topology; a
    partition of 64 IPUs in one domain of a torus gets RINGSWNC."""
    torus = dial(serve("clusters: [{id: t}]").target)
    mesh = dial(serve("clusters: [{id: m, topology: mesh}]").target)
    wanted = {16: pb.IRT_DNC, 32: pb.IRT_SWNC}
    for client in (torus, mesh):
        for size, routing in wanted.items():
            client.create(f"p{size}", size)
        assert {len(p.spec.ipus): p.spec.ipulink_routing_type for p in client.list()} == wanted
    for client, routing in ((torus, pb.IRT_RINGSWNC), (mesh, pb.IRT_SWNC)):
        for size in wanted:
            client.remove(f"p{size}")
            wait_gone(client, f"p{size}")
        client.create("p64", 64)
        assert client.list()[0].spec.ipulink_routing_type == routing
    assert "torus" in rejected(grpc.StatusCode.INVALID_ARGUMENT, mesh.create, "p1", 1, cluster_id="m",
                             ipulink_routing_type=pb.IRT_RINGSWNC)


def test_explicit_placement(quick):
    """As a known third-party client asks: allocation without cluster, topology absolute, routing relative.
    On record: a client lists IPUs with topology id and routing id counted from its first, domain ids 0; making a
    cluster also makes an allocation of its name; an allocation instead of the cluster is enough for a request that
    lists IPUs."""
    ipus = [pb.PartitionIpu(topology_id=8 + i, routing_id=i) for i in range(4)]
    quick.create("p1", 4, allocation_id="cl1", ipus=ipus)
    assert places(quick.list()[0]) == [(0, 8), (0, 9), (0, 10), (0, 11)]
    assert "IPU 8" in rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, quick.create, "p2", 4, allocation_id="cl1", ipus=ipus)


def test_allocations(serve, dial):
    """On record: an empty allocation means any the user may see."""
    client = dial(serve(TWO_RACKS).target)
    client.create("p1", 16, allocation_id="small")
    assert "0 of 16 free" in rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, client.create, "p2", 1, allocation_id="small")
    client.create("p3", 16)
    assert [p.id for p in client.list("small")] == ["p1"]
    assert [p.id for p in client.list("2xPOD64")] == ["p3"]
    assert [p.id for p in client.list()] == ["p1", "p3"]
    rejected(grpc.StatusCode.NOT_FOUND, client.list, "nowhere")


def test_ipu_attributes(quick):
    """On record: attributes can be asked for some agents only; one agent per IPU-Machine of 4 IPUs; an IPU-Machine
    has 4 IPUs."""
    everything = quick.attributes()
    assert list(everything) == [f"ag{i}" for i in range(1, 17)]
    assert all(sorted(ipus) == [0, 1, 2, 3] for ipus in everything.values())
    first = everything["ag1"][0]
    assert first["board ipu index"] == "1" and first["ipu architecture"] == "ipu2"
    serials = {ipu["chip id"] for ipus in everything.values() for ipu in ipus.values()}
    assert len(serials) == 64
    assert list(quick.attributes("ag3", "ag16")) == ["ag3", "ag16"]
    assert quick.attributes("ag17") == {}


def test_a_long_filter(quick):
    names = [f"agent-{i}" for i in range(100000)]
    assert list(quick.attributes(*names, "ag3", "ag3")) == ["ag3"]


def test_ipuof_config(quick):
    quick.create("p1", 8, num_gcds=2)
    wait_active(quick, "p1")
    config = quick.ipuof("p1")
    assert [gcd.attributes["GCD Id"] for gcd in config.gcd_configs] == ["0", "1"]
    devices = [device for gcd in config.gcd_configs for device in gcd.devices]
    assert [device.routing_id for device in devices] == list(range(8))
    # Routing ids run against the board's numbering: 0 is IPU 3 of the first machine.
    assert [(device.ip, device.device_id) for device in devices] == [
        (ip, board) for ip in ("10.1.5.10", "10.1.5.11") for board in (3, 2, 1, 0)]
    assert {(device.server_port, device.ipu_arch_id) for device in devices} == {(50052, 2)}
    one = quick.ipuof("p1", gcd=1)
    assert one.gcd_configs == config.gcd_configs[1:]
    assert one.gcd_configs[0].attributes["Partition Id"] == "p1"
    assert "0 to 1" in rejected(grpc.StatusCode.INVALID_ARGUMENT, quick.ipuof, "p1", gcd=2)


def test_a_thousand_calls_in_flight(quick):
    calls = [quick.user.GetPartitionStatus.future(pb.GetPartitionStatusRequest(partition_id=f"p{i}"), timeout=DEADLINE_S)
             for i in range(1000)]
    codes = {call.exception().code() for call in calls}
    assert codes == {grpc.StatusCode.NOT_FOUND}


def test_large_requests(quick):
    huge = "x" * (3 << 20)
    rejected(grpc.StatusCode.INVALID_ARGUMENT, quick.create, huge, 4)
    rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, quick.create, huge + huge, 4)
    assert quick.list() == []


def test_an_unknown_method(quick):
    call = quick.channel.unary_unary("/virmgrpc.UserService/Nothing")
    reason = rejected(grpc.StatusCode.UNIMPLEMENTED, call, b"", timeout=DEADLINE_S)
    assert reason == 'unknown method "/virmgrpc.UserService/Nothing"'
    reason = rejected(grpc.StatusCode.UNIMPLEMENTED, quick.channel.unary_unary("/" + "x" * 300), b"", timeout=DEADLINE_S)
    assert reason == "unknown method: its name is longer than 256 bytes"
