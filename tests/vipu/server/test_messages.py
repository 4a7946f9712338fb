"""Every call and every field of the user API, and what the rules of protobuf and gRPC allow beyond them: fields from the
future, fields that come twice, messages as large as they may be. Both directions, the other side being grpcio."""

import grpc
import pytest

from generic import pb
from peers import listen_bytes, probe
from programs import DEADLINE_S, until

LARGEST = 4 << 20

# Undefined fields of every wire type: 1999 a number, 2000 eight bytes, 2001 a text, 2002 four bytes.
UNKNOWN = b"\xf8\x7c\x96\x01" + b"\x81\x7d12345678" + b"\x8a\x7d\x03\xff\x00\xfe" + b"\x95\x7d1234"

PLACES = [dict(ipulink_domain_topology_id=1, ipulink_domain_routing_id=0, topology_id=8 + i, routing_id=i)
          for i in range(2)]
PARTITION = dict(
    id="p1", ready_state=pb.PS_ERROR, ipuof_server_version="1.11.0", spec=pb.PartitionSpec(
        cluster_id="cl7", allocation_id="al7", num_gcds=2, num_replicas=4, num_ipulink_segments=3, reconfigurable=True,
        sync_type=pb.ST_POD_NATIVE_DEFAULT, ipulink_routing_type=pb.IRT_BTNC, gw_routing_type=pb.GRT_SWRING,
        ipus=[pb.PartitionIpu(**place) for place in PLACES]))
PARTITION_TEXT = ("p1 cluster=cl7 allocation=al7 version=1.11.0 gcds=2 replicas=4 ilds=3 reconfigurable=1 ready=4 sync=3 "
                  "routing=3 gateway=3 ipus=1/0/8/0,1/0/9/1")
DEVICE = pb.IpuofDevice(ip="10.1.5.10", server_port=1, rdma_port=2, device_id=3, ipulink_segment_id=4, routing_id=5,
                        ipu_arch_id=6, ipu_id=7, chip_id="0x8", gwsw_version="9", ipum_sw_version="10")
DEVICE_TEXT = "10.1.5.10:1:2:3:4:5:6:7:0x8:9:10"


def padded(message, size):
    """The message and one unknown field, together of exactly this size."""
    rest = size - len(message) - 2  # the field's key
    length = next(n for n in range(1, 6) if rest - n < 1 << (7 * n))
    value = rest - length
    prefix = bytes((value >> (7 * i)) & 0x7f | (0x80 if i + 1 < length else 0) for i in range(length))
    return message + b"\x8a\x7d" + prefix + b"\xff" * value


# ---- our client asks ----

def test_every_field_of_a_request(generic):
    """On record: all messages have the published field numbers; requirements say size, cluster, allocation,
    routing, segments, GCDs, replicas, sync type, reconfigurable and IPUs; GcdID is a message, so that GCD 0 differs
    from all GCDs."""
    lines = probe(generic.port, "request:p1", "remove:p2", "force:p3", "reset:p4", "relocate:p5", "ipuof:p6", "ipuof:p7:0",
                  "ipuof:p8:3", "status:p9", "list:al1", "attrs", "version")
    assert {line.kind for line in lines} == {"ok"}
    assert generic.metadata["user-agent"].startswith("ipu-operator/")
    assert sorted(generic.seen, key=str) == sorted([
        ("CreatePartition", pb.CreatePartitionRequest(
            disable_auto_reset=True, relocatable=True, requirements=pb.PartitionRequirements(
                id="p1", size=2, cluster_id="cl7", allocation_id="al7", ipulink_routing_type=pb.IRT_BTNC,
                gw_routing_type=pb.GRT_SWRING, sync_type=pb.ST_POD_NATIVE_DEFAULT, num_ipulink_segments=5, num_gcds=6,
                num_replicas=7, reconfigurable=True, ipus=[pb.PartitionIpu(**place) for place in PLACES]))),
        ("RemovePartition", pb.RemovePartitionRequest(partition_id="p2")),
        ("RemovePartition", pb.RemovePartitionRequest(partition_id="p3", force=True)),
        ("ResetPartition", pb.ResetPartitionRequest(partition_id="p4")),
        ("ResetPartition", pb.ResetPartitionRequest(partition_id="p5", relocatable=True)),
        ("GetPartitionIpuofConfig", pb.GetPartitionIpuofConfigRequest(partition_id="p6")),
        ("GetPartitionIpuofConfig", pb.GetPartitionIpuofConfigRequest(partition_id="p7", gcd_id=pb.GcdID())),
        ("GetPartitionIpuofConfig", pb.GetPartitionIpuofConfigRequest(partition_id="p8", gcd_id=pb.GcdID(id=3))),
        ("GetPartitionStatus", pb.GetPartitionStatusRequest(partition_id="p9")),
        ("ListPartitions", pb.ListPartitionsRequest(allocation_id="al1")),
        ("ListIPUAttributes", pb.ListIPUAttributesRequest()),
        ("GetVersion", pb.VersionRequest()),
    ], key=str)


def replies():
    """What each call is answered, and what our client makes of it."""
    status = pb.PartitionStatus(partition_id="p1", ready_state=pb.PS_ERROR, operation_state=pb.POS_FAILED,
                                errors=["one", "two"], max_auto_reset_retries=3, auto_reset_retry_count=2)
    status.last_auto_reset_time.seconds = 1234567890
    gcd = pb.PartitionConfig.Gcd(devices=[DEVICE], attributes={"GCD Id": "0"})
    entry = pb.ListIPUAttributesReply.Entry(agent="ag1", ipu_attributes={
        i: pb.ListIPUAttributesReply.Attributes(attributes={"a": "b"}) for i in range(4)})
    return {
        "GetVersion": ("version", pb.VersionReply(version="1.18.0"), "1.18.0"),
        "ListPartitions": ("whole", pb.ListPartitionsReply(partitions=[pb.Partition(**PARTITION)]), PARTITION_TEXT),
        "ListIPUAttributes": ("attrs", pb.ListIPUAttributesReply(entries=[entry]), "1 agents 4 IPUs"),
        "GetPartitionStatus": ("status:p1", pb.GetPartitionStatusReply(status=status),
                               "ERROR/FAILED 2 errors 1234567890"),
        "CreatePartition": ("create:p1:4", pb.CreatePartitionReply(partition_id="p1"), "p1"),
        "RemovePartition": ("remove:p1", pb.RemovePartitionReply(), "done"),
        "ResetPartition": ("reset:p1", pb.ResetPartitionReply(), "done"),
        "GetPartitionIpuofConfig": ("ipuof:p1", pb.GetPartitionIpuofConfigReply(
            ipuof_config=pb.PartitionConfig(gcd_configs=[gcd])), f"1 GCDs GCD Id=0 {DEVICE_TEXT}"),
    }


@pytest.mark.parametrize("before, after", [(b"", b""), (UNKNOWN, b""), (b"", UNKNOWN), (UNKNOWN * 100, UNKNOWN * 100)])
def test_every_field_of_a_reply(before, after):
    """Unknown fields, before and after the known ones, change nothing."""
    table = replies()
    server, port = listen_bytes(**{name: before + reply.SerializeToString() + after
                                   for name, (_, reply, _) in table.items()})
    lines = probe(port, *(step for step, _, _ in table.values()))
    server.stop(0)
    assert [(line.kind, line.text) for line in lines] == [("ok", text) for _, _, text in table.values()]


def test_unknown_fields_deep_in_a_reply():
    """In a partition, in its spec, in an IPU of it."""
    ipu = pb.PartitionIpu(topology_id=8, routing_id=1).SerializeToString() + UNKNOWN
    spec = UNKNOWN + b"\x12" + bytes([len(ipu)]) + ipu + pb.PartitionSpec(cluster_id="cl1").SerializeToString() + UNKNOWN
    partition = pb.Partition(id="p1").SerializeToString() + b"\x12" + bytes([len(spec)]) + spec + UNKNOWN
    server, port = listen_bytes(ListPartitions=b"\x0a" + bytes([len(partition)]) + partition)
    (line,) = probe(port, "whole")
    server.stop(0)
    assert line.kind == "ok" and line.text.startswith("p1 cluster=cl1 ") and line.text.endswith("ipus=0/0/8/1")


def test_fields_of_a_reply_that_come_twice():
    """The last value counts, and lists grow. Of a message in parts the texts and lists are merged; its numbers are those
    of the last part, which is protobuf-c's way and not the specification's, and no encoder writes such a thing."""
    parts = {
        "GetVersion": [pb.VersionReply(version="1.0.0"), pb.VersionReply(version="1.18.0")],
        "CreatePartition": [pb.CreatePartitionReply(partition_id="p8"), pb.CreatePartitionReply(partition_id="p9")],
        "GetPartitionStatus": [
            pb.GetPartitionStatusReply(status=pb.PartitionStatus(ready_state=pb.PS_PENDING, errors=["one"])),
            pb.GetPartitionStatusReply(status=pb.PartitionStatus(errors=["two"])),
            pb.GetPartitionStatusReply(status=pb.PartitionStatus(ready_state=pb.PS_ERROR,
                                                                 operation_state=pb.POS_FAILED))],
        "ListPartitions": [pb.ListPartitionsReply(partitions=[pb.Partition(id=f"p{i}")]) for i in range(3)],
    }
    server, port = listen_bytes(**{name: b"".join(part.SerializeToString() for part in list_)
                                   for name, list_ in parts.items()})
    lines = probe(port, "version", "create:p9:1", "status:p1", "list")
    server.stop(0)
    assert [line.text for line in lines] == ["1.18.0", "p9", "ERROR/FAILED 2 errors 0",
                                             "3 partitions p0:0:UNDEFINED p1:0:UNDEFINED p2:0:UNDEFINED"]


def test_enumerations_from_the_future(generic):
    generic.answers["ListPartitions"] = lambda *_: pb.ListPartitionsReply(partitions=[
        pb.Partition(id="p1", ready_state=77, spec=pb.PartitionSpec(sync_type=78, ipulink_routing_type=79,
                                                                   gw_routing_type=1))])
    lines = probe(generic.port, "list", "whole")
    assert lines[0].text == "1 partitions p1:0:UNDEFINED"
    assert "ready=77 sync=78 routing=79 gateway=1" in lines[1].text


@pytest.mark.parametrize("reply", [
    b"\x0a\x05ab", b"\x08", b"\x0a", b"\xff", b"\x00\x00", b"\x0b\x0c", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x0a\x02\x0a\x05", b"\x0a\x04\x12\x02\x12\x7f", b"\x80" * 20,
])
def test_replies_with_hostile_lengths(reply):
    """A list is decoded by other code than the rest: both reject."""
    server, port = listen_bytes(ListPartitions=reply, GetPartitionStatus=reply, ListIPUAttributes=reply,
                                GetPartitionIpuofConfig=reply)
    lines = probe(port, "list", "status:p1", "attrs", "ipuof:p1")
    server.stop(0)
    assert [(line.kind, line.code) for line in lines if line.what != "status:p1"] == [("io", 13)] * 3
    assert lines[1].kind == "io"


def test_the_largest_messages_of_our_client(generic):
    """A list may be larger, every other reply may have four MiB. What we ask has no limit of ours."""
    generic.answers["CreatePartition"] = lambda request, _: pb.CreatePartitionReply(partition_id=request.requirements.id)
    (line,) = probe(generic.port, f"huge:{LARGEST - 100}")
    assert (line.kind, line.text) == ("ok", str(LARGEST - 100))
    for size, kind, code in ((LARGEST, "ok", 0), (LARGEST + 1, "io", 8)):
        server, port = listen_bytes(GetVersion=padded(b"\x0a\x01v", size),
                                    GetPartitionStatus=padded(pb.GetPartitionStatusReply(
                                        status=pb.PartitionStatus()).SerializeToString(), size))
        lines = probe(port, "version", "status:p1")
        server.stop(0)
        assert [(line.kind, line.code) for line in lines] == [(kind, code)] * 2


# ---- our server answers ----

def bytes_call(client, method, service="UserService"):
    call = client.channel.unary_unary(f"/virmgrpc.{service}/{method}")
    return lambda request: call(request, timeout=DEADLINE_S)


@pytest.fixture
def p1(quick):
    quick.create("p1", 4)
    until(lambda: quick.status("p1").ready_state == pb.PS_ACTIVE, "p1 is active")
    return quick


def test_unknown_fields_in_every_request(p1):
    table = {
        "ListPartitions": (pb.ListPartitionsRequest(), pb.ListPartitionsReply),
        "ListIPUAttributes": (pb.ListIPUAttributesRequest(agents=["ag1"]), pb.ListIPUAttributesReply),
        "GetPartitionStatus": (pb.GetPartitionStatusRequest(partition_id="p1"), pb.GetPartitionStatusReply),
        "GetPartitionIpuofConfig": (pb.GetPartitionIpuofConfigRequest(partition_id="p1"), pb.GetPartitionIpuofConfigReply),
    }
    for method, (request, reply) in table.items():
        call, plain = bytes_call(p1, method), request.SerializeToString()
        wanted = reply.FromString(call(plain))
        assert wanted.ByteSize() > 0
        assert reply.FromString(call(UNKNOWN + plain + UNKNOWN)) == wanted
    assert pb.VersionReply.FromString(bytes_call(p1, "GetVersion", "VersionService")(UNKNOWN)).version == "1.18.0"
    requirements = pb.PartitionRequirements(id="p2", size=4).SerializeToString() + UNKNOWN
    request = b"\x12" + bytes([len(requirements)]) + requirements + UNKNOWN
    assert pb.CreatePartitionReply.FromString(bytes_call(p1, "CreatePartition")(request)).partition_id == "p2"
    p1.remove("p2")
    bytes_call(p1, "ResetPartition")(UNKNOWN + pb.ResetPartitionRequest(partition_id="p1").SerializeToString())
    until(lambda: p1.status("p1").ready_state == pb.PS_ACTIVE, "p1 is active again")
    bytes_call(p1, "RemovePartition")(pb.RemovePartitionRequest(partition_id="p1").SerializeToString() + UNKNOWN)
    until(lambda: p1.list() == [], "p1 is gone")


def test_fields_of_a_request_that_come_twice(quick):
    create = bytes_call(quick, "CreatePartition")
    first = pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id="p1", size=4, cluster_id="cl1"))
    second = pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id="p2", size=8, num_gcds=4))
    reply = pb.CreatePartitionReply.FromString(create(first.SerializeToString() + second.SerializeToString()))
    assert reply.partition_id == "p2"
    (partition,) = quick.list()
    spec = partition.spec
    assert (partition.id, spec.cluster_id, len(spec.ipus), spec.num_gcds) == ("p2", "cl1", 8, 4)
    status = bytes_call(quick, "GetPartitionStatus")
    names = [pb.GetPartitionStatusRequest(partition_id=name).SerializeToString() for name in ("p1", "p2")]
    assert pb.GetPartitionStatusReply.FromString(status(b"".join(names))).status.partition_id == "p2"
    attributes = bytes_call(quick, "ListIPUAttributes")
    agents = [pb.ListIPUAttributesRequest(agents=[name]).SerializeToString() for name in ("ag2", "ag5")]
    entries = pb.ListIPUAttributesReply.FromString(attributes(b"".join(agents))).entries
    assert [entry.agent for entry in entries] == ["ag2", "ag5"]


def test_the_largest_request_of_a_client(p1):
    status = bytes_call(p1, "GetPartitionStatus")
    request = pb.GetPartitionStatusRequest(partition_id="p1").SerializeToString()
    assert pb.GetPartitionStatusReply.FromString(status(padded(request, LARGEST))).status.partition_id == "p1"
    with pytest.raises(grpc.RpcError) as caught:
        status(padded(request, LARGEST + 1))
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert p1.version() == "1.18.0"


@pytest.mark.parametrize("method", ["CreatePartition", "RemovePartition", "ResetPartition", "GetPartitionStatus",
                                    "GetPartitionIpuofConfig", "ListPartitions", "ListIPUAttributes"])
@pytest.mark.parametrize("request_", [b"\x0a\x05ab", b"\x0a", b"\xff", b"\xff" * 4, b"\x00\x00", b"\x0b\x0c", b"\x80" * 20,
                                      b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"])
def test_requests_with_hostile_lengths(quick, method, request_):
    with pytest.raises(grpc.RpcError) as caught:
        bytes_call(quick, method)(request_)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert (quick.list(), quick.version()) == ([], "1.18.0")
