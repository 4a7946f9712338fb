"""What gRPC's own documents ask of a server, beyond the calls of the user API. Each test names its source, in the
repository grpc/grpc."""

import subprocess
import sys
import threading

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import rawh2
from generic import pb, reflection
from programs import DEADLINE_S, ROOT
from rawh2 import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, frame, message
from test_abuse import CALL, Raw
from test_walls import ALICE, REFLECT, SECURE

VERSION = "/virmgrpc.VersionService/GetVersion"


def post(server, path=VERSION, body=message(b""), **headers):
    """The HTTP status and the headers of the response to a call by curl. What its headers alone decide is asked without a
    body: curl 7 at times drops a response that is followed by RST_STREAM, which RFC 9113, 8.1 forbids it."""
    given = {"content-type": "application/grpc", "te": "trailers",
             **{name.replace("_", "-"): value for name, value in headers.items()}}
    words = [word for name, value in given.items() for word in ("--header", f"{name}: {value}")]
    done = subprocess.run(["curl", "--silent", "--include", "--http2-prior-knowledge", "--data-binary", "@-", *words,
                           f"http://{server.target}{path}"], input=body, capture_output=True, check=True,
                          timeout=DEADLINE_S)
    first, *lines = done.stdout.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines)


def test_a_compressed_message(server, quick):
    """doc/compression.md: UNIMPLEMENTED, with the encodings that are accepted."""
    status, headers = post(server, body=b"\x01" + message(b"abc")[1:], grpc_encoding="gzip")
    assert (status, headers["grpc-status"], headers["grpc-accept-encoding"]) == (200, "12", "identity")
    assert "identity" in headers["grpc-message"]
    with pytest.raises(grpc.RpcError) as caught:
        quick.versions.GetVersion(pb.VersionRequest(), compression=grpc.Compression.Gzip, timeout=DEADLINE_S)
        call = quick.channel.unary_unary(VERSION)
        call(b"\xf8\x7c\x01" * 1000, compression=grpc.Compression.Gzip, timeout=DEADLINE_S)
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("headers", [{}, {"grpc_encoding": "identity"}], ids=["none", "identity"])
def test_a_compressed_message_without_an_encoding(server, headers):
    """doc/compression.md, test case 6: INTERNAL."""
    status, answered = post(server, body=b"\x01" + message(b"abc")[1:], **headers)
    assert (status, answered["grpc-status"]) == (200, "13") and "compressed" in answered["grpc-message"]


@pytest.mark.parametrize("status, number, part, options", [
    (415, "3", "content-type", {"content_type": "text/html", "body": b""}),
    (200, "3", "prefix", {"body": b"\0\0"}),
    (200, "3", "incomplete message", {"body": b"\0\0\0\0\x09abc"}),
    (200, "3", "cannot decode", {"body": message(b"\xff")}),
    (200, "3", "grpc-timeout", {"grpc_timeout": "soon", "body": b""}),
    (200, "8", "metadata is too large", {"x": "y" * 20000, "body": b""}),
    (200, "12", 'unknown method "/virmgrpc.UserService/Nothing"', {"path": "/virmgrpc.UserService/Nothing"}),
    (200, "16", "vipu-user-id", {"vipu_user_id": "a" * 200, "body": b""}),
])
def test_every_error_has_a_message(server, status, number, part, options):
    """doc/PROTOCOL-HTTP2.md: Trailers-Only with Status and Status-Message; HTTP status 415 for what is no gRPC."""
    answered, headers = post(server, **options)
    assert (answered, headers["grpc-status"]) == (status, number)
    assert part in headers["grpc-message"]


def test_large_metadata_fails_its_own_call(server):
    """doc/PROTOCOL-HTTP2.md: servers may limit the size of request headers. The connection and its calls go on."""
    peer = Raw(server.port)
    head = rawh2.headers(3, CALL)[9:]
    rest = b"".join(b"\x00" + rawh2._text(f"x-{i}") + rawh2._text("y" * 100) for i in range(400))
    block = head + rest
    pieces = [block[at:at + 16000] for at in range(0, len(block), 16000)]
    peer.send(rawh2.headers(1, CALL), frame(HEADERS, pieces[0], 0, 3),
              *(frame(CONTINUATION, piece, 0, 3) for piece in pieces[1:-1]), frame(CONTINUATION, pieces[-1], END_HEADERS, 3))
    assert b"\x018" in peer.answer(3)
    peer.send(frame(DATA, message(b""), END_STREAM, 1))
    assert b"\x010" in peer.answer(1)


@pytest.mark.parametrize("bytes_", [b"\x0a\x05p1\x00xy", b"\x0a\x03p1\x00", b"\x0a\x03p1\xff"], ids=["nul", "end", "utf8"])
@pytest.mark.parametrize("method", ["RemovePartition", "ResetPartition", "GetPartitionStatus", "GetPartitionIpuofConfig"])
def test_an_id_that_would_be_read_as_another(quick, method, bytes_):
    """protocolbuffers/protobuf, docs of proto3: a string is valid UTF-8. What follows a NUL would be ignored."""
    quick.create("p1", 4)
    with pytest.raises(grpc.RpcError) as caught:
        quick.channel.unary_unary(f"/virmgrpc.UserService/{method}")(bytes_, timeout=DEADLINE_S)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "partition_id must be valid UTF-8 without NUL" in caught.value.details()
    assert [p.id for p in quick.list()] == ["p1"]


def check(client, service):
    call = client.channel.unary_unary("/grpc.health.v1.Health/Check")
    return call(b"\x0a" + bytes([len(service)]) + service.encode() if service else b"", timeout=DEADLINE_S)


@pytest.mark.parametrize("secure", [False, True])
def test_health(serve, dial, secure):
    """src/proto/grpc/health/v1/health.proto and doc/health-checking.md: SERVING for the server and its services,
    NOT_FOUND for others. A probe has no user."""
    client = dial(serve("clusters: [{id: cl1}]\n" + (SECURE if secure else "")).target)
    for service in ("", "virmgrpc.UserService", "virmgrpc.VersionService", "grpc.health.v1.Health",
                    "ipuoperator.vipu.v1.ExtensionService"):
        assert check(client, service) == b"\x08\x01"
    for service in ("virmgrpc", "virmgrpc.UserService/ListPartitions", "nothing"):
        with pytest.raises(grpc.RpcError) as caught:
            check(client, service)
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        assert caught.value.details() == f'service "{service}" not found'


@pytest.mark.parametrize("secure", [False, True])
def test_watched_health(serve, dial, secure):
    """health.proto: the status at once, SERVICE_UNKNOWN for what is no service, and the call stays open. It ends with the
    server, at its deadline, or when its caller leaves."""
    server = serve("clusters: [{id: cl1}]\n" + (SECURE if secure else ""))
    client = dial(server.target)
    watches = {service: client.watch(service) for service in ("", "virmgrpc.UserService", "nothing")}
    assert {service: next(watch) for service, watch in watches.items()} == {
        "": b"\x08\x01", "virmgrpc.UserService": b"\x08\x01", "nothing": b"\x08\x03"}
    overdue = client.watch("", timeout=1)
    assert next(overdue) == b"\x08\x01"
    with pytest.raises(grpc.RpcError) as caught:
        next(overdue)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert watches["nothing"].cancel()
    assert watches[""].is_active()
    assert server.stop() == 0
    with pytest.raises(grpc.RpcError) as caught:
        next(watches[""])
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def asked(**fields):
    return reflection.ServerReflectionRequest(**fields)


SERVICES = {"virmgrpc.UserService", "virmgrpc.VersionService", "ipuoperator.vipu.v1.ExtensionService", "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection(quick, version):
    """doc/server-reflection.md: a generic client needs nothing but the server. It asks for one thing after the other, and
    calls what it learns about."""
    answers = quick.reflect(iter([asked(list_services="", host="h")]), version)
    first, *rest = answers
    assert (first.valid_host, first.original_request.list_services, rest) == ("h", "", [])
    assert {service.name for service in first.list_services_response.service} == SERVICES
    assert answers.code() == grpc.StatusCode.OK
    pool = descriptor_pool.DescriptorPool()
    for answer in quick.reflect((asked(file_containing_symbol=name) for name in sorted(SERVICES)), version):
        (file,) = answer.file_descriptor_response.file_descriptor_proto
        pool.AddSerializedFile(file)
    methods = [method for service in SERVICES for method in pool.FindServiceByName(service).methods]
    assert len(methods) == 15
    for method in methods:
        responses = quick.channel.stream_stream(f"/{method.containing_service.full_name}/{method.name}")(iter([b""]))
        try:
            next(responses)
        except grpc.RpcError as error:
            assert error.code() != grpc.StatusCode.UNIMPLEMENTED
        responses.cancel()
    user = pool.FindServiceByName("virmgrpc.VersionService").methods_by_name["GetVersion"]
    answer = message_factory.GetMessageClass(user.output_type)
    call = quick.channel.unary_unary(f"/{user.containing_service.full_name}/{user.name}", response_deserializer=answer.FromString)
    assert call(b"", timeout=DEADLINE_S).version == "1.18.0"


@pytest.mark.parametrize("name", ["virmgrpc.UserService.CreatePartition", "virmgrpc.Partition", "virmgrpc.Partition.id",
                                  "virmgrpc.PartitionReadyState", "virmgrpc.PS_ACTIVE"])
def test_reflection_of_every_kind_of_name(quick, name):
    (by_symbol, by_name) = quick.reflect(iter([asked(file_containing_symbol=name), asked(file_by_filename="vipu.proto")]))
    assert by_symbol.file_descriptor_response == by_name.file_descriptor_response
    (file,) = by_name.file_descriptor_response.file_descriptor_proto
    assert descriptor_pb2.FileDescriptorProto.FromString(file).name == "vipu.proto"


@pytest.mark.parametrize("request_, code, part", [
    (asked(file_by_filename="other.proto"), grpc.StatusCode.NOT_FOUND, 'file "other.proto" not found'),
    (asked(file_containing_symbol="virmgrpc"), grpc.StatusCode.NOT_FOUND, 'symbol "virmgrpc" not found'),
    (asked(file_containing_symbol="virmgrpc.Partitio"), grpc.StatusCode.NOT_FOUND, "not found"),
    (asked(file_containing_symbol="virmgrpc.PartitionReadyState.PS_ACTIVE"), grpc.StatusCode.NOT_FOUND, "not found"),
    (asked(file_containing_extension=dict(containing_type="a.B", extension_number=1)), grpc.StatusCode.NOT_FOUND, '"a.B"'),
    (asked(all_extension_numbers_of_type="a.B"), grpc.StatusCode.NOT_FOUND, 'type "a.B" not found'),
    (asked(), grpc.StatusCode.INVALID_ARGUMENT, "asks for nothing"),
])
def test_reflection_of_what_is_not_there(quick, request_, code, part):
    """reflection.proto: an error_response with a status; the call goes on."""
    wrong, right = quick.reflect(iter([request_, asked(all_extension_numbers_of_type="virmgrpc.Partition")]))
    assert wrong.error_response.error_code == code.value[0] and part in wrong.error_response.error_message
    assert wrong.original_request == request_
    assert right.all_extension_numbers_response.base_type_name == "virmgrpc.Partition"
    assert list(right.all_extension_numbers_response.extension_number) == []


def test_reflection_in_secure_mode(serve, dial):
    """As every call but a probe, it needs a user."""
    target = serve("clusters: [{id: cl1}]\n" + SECURE).target
    with pytest.raises(grpc.RpcError) as caught:
        next(dial(target).reflect(iter([asked(list_services="")])))
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    who = [("vipu-user-id", ALICE["user_id"]), ("vipu-access-key", ALICE["access_key"])]
    (answer,) = dial(target).reflect(iter([asked(list_services="")]), metadata=who)
    assert len(answer.list_services_response.service) == len(SERVICES)


@pytest.mark.parametrize("bytes_, status", [
    (message(b"\x3a\x00")[:-1], b"\x013"),
    (message(b"\x3a\x00") + b"\x01\x00\x00\x00\x00", b"\x0213"),
    (message(b"\xff"), b"\x013"),
    (b"\x00\x00\x10\x00\x00" + bytes(16 << 10), b"\x018"),
    (b"", b"\x010"),
], ids=["cut", "compressed", "garbage", "large", "empty"])
def test_an_exchange_that_goes_wrong(server, bytes_, status):
    peer = Raw(server.port)
    peer.send(rawh2.headers(1, REFLECT), frame(DATA, bytes_[:16000], 0, 1), frame(DATA, bytes_[16000:], END_STREAM, 1))
    assert status in peer.answer(1)


def test_an_exchange_that_says_nothing_more(serve, dial):
    """It holds what every unfinished request holds, and no longer."""
    client = dial(serve("limits: {stall-ms: 300}\nclusters: [{id: cl1}]").target)
    hold = threading.Event()

    def requests():
        yield asked(list_services="")
        hold.wait(DEADLINE_S)

    answers = client.reflect(requests())
    assert next(answers).HasField("list_services_response")
    with pytest.raises(grpc.RpcError) as caught:
        next(answers)
    hold.set()
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


STUBS = """
import sys, grpc
import vipu_pb2 as pb, vipu_pb2_grpc as services
with grpc.insecure_channel(sys.argv[1]) as channel:
    user = services.UserServiceStub(channel)
    who = [("vipu-user-id", sys.argv[2]), ("vipu-access-key", sys.argv[3])]
    user.CreatePartition(pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id="p1", size=4)), metadata=who)
    print([p.id for p in user.ListPartitions(pb.ListPartitionsRequest(), metadata=who).partitions],
          services.VersionServiceStub(channel).GetVersion(pb.VersionRequest(), metadata=who).version)
"""


def test_stubs_from_the_proto_file(serve, tmp_path):
    """The file that this project publishes is enough for a client."""
    folder = ROOT / "vipu/wire/messages"
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={tmp_path}",
                    f"--grpc_python_out={tmp_path}", "vipu.proto"], check=True)
    server = serve("clusters: [{id: cl1}]\n" + SECURE)
    done = subprocess.run([sys.executable, "-c", STUBS, server.target, ALICE["user_id"], ALICE["access_key"]],
                          cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.stdout, done.returncode) == ("['p1'] 1.18.0\n", 0), done.stderr
