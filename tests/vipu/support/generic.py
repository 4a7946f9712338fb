"""A generic gRPC side for the tests: grpcio with messages made from the .proto files of tests/vipu/support, without any code of this project."""

import subprocess
import sys
import tempfile
from pathlib import Path

import grpc

HERE = Path(__file__).resolve().parent


def _generate():
    out = tempfile.TemporaryDirectory(prefix="virmgrpc-")
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{HERE}", f"--python_out={out.name}",
                    f"--grpc_python_out={out.name}", "virmgrpc.proto", "reflection.proto"], check=True)
    sys.path.insert(0, out.name)
    return out


_generated = _generate()
import reflection_pb2 as reflection  # noqa: E402
import virmgrpc_pb2 as pb  # noqa: E402
import virmgrpc_pb2_grpc as services  # noqa: E402


class Caller(grpc.UnaryUnaryClientInterceptor):
    """Sends who calls with every call; these names are the ones of vipu/wire/grpc/credentials.h."""

    def __init__(self, user_id, access_key):
        self.metadata = [("vipu-user-id", user_id), ("vipu-access-key", access_key)]

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(details._replace(metadata=[*(details.metadata or ()), *self.metadata]), request)


class Client:
    """Every method of the user API, by its own name. `authority` (PEM bytes) asks for TLS; `identity` is a client's key and
    certificate (PEM bytes)."""

    DEADLINE_S = 100  # less than a test waits, so that the call itself tells what it got

    def __init__(self, target, authority=None, user_id=None, access_key="", identity=(None, None)):
        options = [
            ("grpc.max_receive_message_length", 64 << 20), ("grpc.enable_retries", 0),
            ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 100)]
        if authority:
            self.channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(authority, *identity), options)
        else:
            self.channel = grpc.insecure_channel(target, options)
        if user_id is not None:
            self.channel = grpc.intercept_channel(self.channel, Caller(user_id, access_key))
        self.user = services.UserServiceStub(self.channel)
        self.versions = services.VersionServiceStub(self.channel)

    def close(self):
        self.channel.close()

    def reflect(self, requests, version="v1", **options):
        """The responses to an iterator of requests, as they arrive."""
        call = self.channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                                          request_serializer=reflection.ServerReflectionRequest.SerializeToString,
                                          response_deserializer=reflection.ServerReflectionResponse.FromString)
        return call(requests, **{"timeout": self.DEADLINE_S, **options})

    def watch(self, service, **options):
        """The responses to Watch of the health service, as bytes."""
        call = self.channel.unary_stream("/grpc.health.v1.Health/Watch")
        return call(b"\x0a" + bytes([len(service)]) + service.encode() if service else b"", **options)

    def version(self):
        return self.versions.GetVersion(pb.VersionRequest(), timeout=self.DEADLINE_S).version

    def list(self, allocation=""):
        request = pb.ListPartitionsRequest(allocation_id=allocation)
        return list(self.user.ListPartitions(request, timeout=self.DEADLINE_S).partitions)

    def attributes(self, *agents):
        request = pb.ListIPUAttributesRequest(agents=agents)
        return {entry.agent: {ipu: dict(value.attributes) for ipu, value in entry.ipu_attributes.items()}
                for entry in self.user.ListIPUAttributes(request, timeout=self.DEADLINE_S).entries}

    def create(self, id, size, disable_auto_reset=False, relocatable=False, access_key="", **requirements):
        request = pb.CreatePartitionRequest(
            requirements=pb.PartitionRequirements(id=id, size=size, **requirements),
            disable_auto_reset=disable_auto_reset, relocatable=relocatable, access_key=access_key)
        return self.user.CreatePartition(request, timeout=self.DEADLINE_S).partition_id

    def remove(self, id, force=False):
        self.user.RemovePartition(pb.RemovePartitionRequest(partition_id=id, force=force), timeout=self.DEADLINE_S)

    def reset(self, id, relocatable=False, access_key=""):
        request = pb.ResetPartitionRequest(partition_id=id, relocatable=relocatable, access_key=access_key)
        self.user.ResetPartition(request, timeout=self.DEADLINE_S)

    def status(self, id):
        request = pb.GetPartitionStatusRequest(partition_id=id)
        return self.user.GetPartitionStatus(request, timeout=self.DEADLINE_S).status

    def ipuof(self, id, gcd=None):
        request = pb.GetPartitionIpuofConfigRequest(partition_id=id)
        if gcd is not None:
            request.gcd_id.id = gcd
        return self.user.GetPartitionIpuofConfig(request, timeout=self.DEADLINE_S).ipuof_config


def version_of(target):
    """What a client that has just come is told; None when it is rejected."""
    client = Client(target)
    try:
        return version_by(client)
    finally:
        client.close()


def version_by(client):
    """What it is told; None when it is rejected."""
    try:
        return client.version()
    except grpc.RpcError:
        return None
