"""What the tests of gc-info and gc-monitor share: the tools as users start them, programs that hold devices, and a
controller that is nothing of ours."""

import json
import os
import subprocess
from concurrent import futures

import grpc
import pytest

from generic import pb, services
from programs import DEADLINE_S, program, run_program, until


class Desk:
    """A user's place: a home, a folder of device locks, and what the environment says."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.locks = folder / "locks"
        self.home.mkdir()
        self.variables = {}
        self.attached = []

    def point_at(self, target, partition=None, gcd=None):
        """The IPUoF variables as poprun and the operator set them."""
        host, _, port = target.rpartition(":")
        self.variables = {"IPUOF_VIPU_API_HOST": host, "IPUOF_VIPU_API_PORT": port}
        if partition is not None:
            self.variables["IPUOF_VIPU_API_PARTITION_ID"] = partition
        if gcd is not None:
            self.variables["IPUOF_VIPU_API_GCD_ID"] = str(gcd)

    def environment(self, more=None):
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "IPUOF_RUN_DIR": str(self.locks),
                **self.variables, **(more or {})}

    def run(self, name, *words, env=None, **options):
        return run_program(name, *words, env=self.environment(env), **options)

    def info(self, *words, **options):
        return self.run("gc-info", *words, **options)

    def monitor(self, *words, **options):
        return self.run("gc-monitor", *words, **options)

    def vipu(self, target, *words):
        host, _, port = target.rpartition(":")
        return good(self.run("vipu", *words, env={"VIPU_CLI_API_HOST": host, "VIPU_CLI_API_PORT": port}))

    def start(self, *words, gcd=0, env=None):
        """tests/vipu/support/attacher.c: PARTITION FIRST COUNT."""
        partition, first, count = words
        return subprocess.Popen(
            [program("../tests/unit/vipu/tools/vipu-attacher"), str(self.locks), partition, str(gcd), str(first), str(count)],
            env=self.environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def attach(self, *words, **options):
        process = self.start(*words, **options)
        self.attached.append(process)
        assert process.stdout.readline() == "attached\n", process.stderr.read()
        return process

    def detach(self, process):
        self.attached.remove(process)
        return process.communicate(timeout=DEADLINE_S)

    def leave(self):
        for process in list(self.attached):
            self.detach(process)


@pytest.fixture
def desk(tmp_path):
    place = Desk(tmp_path)
    yield place
    place.leave()


def good(result):
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


def bad(result, *parts, status=1):
    """One sentence, which has these parts."""
    assert result.returncode == status, (result.stdout, result.stderr)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    for part in parts:
        assert part in result.stderr, result.stderr
    return result.stdout


def wait_active(client, *ids):
    until(lambda: {p.id for p in client.list() if p.ready_state == pb.PS_ACTIVE} >= set(ids), f"{ids} are active")


def conf(partition, ipus, gcd=0, **attributes):
    """An IPUoF file's text: machines of four IPUs from 10.1.5.10 on."""
    return json.dumps({
        "attributes": {"GCD Id": str(gcd), "Partition Id": partition, "Fabric Reconfigurable": "true", **attributes},
        "devices": [{"ip": f"10.1.5.{10 + i // 4}", "server_port": 50052, "rdma_port": 50053, "device_id": 3 - i % 4,
                     "routing_id": i, "ipu_arch_id": 2, "ipu_id": 3 - i % 4, "chip_id": f"chip{i}"} for i in range(ipus)]})


class Controller(services.UserServiceServicer):
    """A generic gRPC server with one reconfigurable partition p1 of four IPUs; `status` is what it says of it,
    `rejection` how it rejects the configuration."""

    def __init__(self):
        self.status = pb.PartitionStatus(partition_id="p1", ready_state=pb.PS_ACTIVE, operation_state=pb.POS_IDLE)
        self.rejection = None

    def ListPartitions(self, request, context):
        spec = pb.PartitionSpec(cluster_id="c", num_gcds=1, num_replicas=3, reconfigurable=True,
                                ipulink_routing_type=pb.IRT_DNC, ipus=[pb.PartitionIpu(routing_id=i) for i in range(4)])
        return pb.ListPartitionsReply(partitions=[pb.Partition(id="p1", spec=spec, ready_state=self.status.ready_state)])

    def GetPartitionStatus(self, request, context):
        return pb.GetPartitionStatusReply(status=self.status)

    def GetPartitionIpuofConfig(self, request, context):
        if self.rejection:
            context.abort(*self.rejection)
        devices = [pb.IpuofDevice(ip="10.1.5.10", routing_id=i, ipu_id=3 - i, ipu_arch_id=2, chip_id=f"c{i}")
                   for i in range(4)]
        return pb.GetPartitionIpuofConfigReply(ipuof_config=pb.PartitionConfig(
            reconfigurable=True, gcd_configs=[{"devices": devices, "attributes": {"Something": "else"}}]))

    def ListIPUAttributes(self, request, context):
        # As a controller that says nothing of the machines' addresses.
        entry = pb.ListIPUAttributesReply.Entry(agent="ag1")
        for ipu in range(4):
            entry.ipu_attributes[ipu].attributes.update({"board ipu index": str(ipu ^ 1), "clock": "1850MHz",
                                                         "board type": "Bow-2000", "chip id": f"c{3 - (ipu ^ 1)}"})
        return pb.ListIPUAttributesReply(entries=[entry])


@pytest.fixture
def controller():
    """A Controller and where it listens."""
    answers = Controller()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    services.add_UserServiceServicer_to_server(answers, server)
    answers.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield answers
    server.stop(None).wait()
