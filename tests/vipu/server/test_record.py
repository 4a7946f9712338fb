"""What is on record of V-IPU and no other test looks at: by grpcio and by the programs that users have."""

import json
import os
import re
import subprocess

import grpc
import pytest

from devices import desk  # noqa: F401
from generic import pb
from programs import DEADLINE_S, run_program, until
from test_calls import rejected, wait_active

RACKS = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters:\n- {id: pod, ipulink-domains: %d}\n"
CALLS = {
    "virmgrpc.VersionService": ["GetVersion"],
    "virmgrpc.UserService": ["ListPartitions", "ListIPUAttributes", "CreatePartition", "RemovePartition",
                             "ResetPartition", "GetPartitionIpuofConfig", "GetPartitionStatus"],
}


def vipu(*words, **env):
    done = run_program("vipu", *words, env={"PATH": os.environ["PATH"], **env})
    return done.returncode, done.stdout, done.stderr


def test_the_calls_of_the_user_end_point(quick):
    """On record: the controller is the program vipu-server; users and programs talk gRPC to the user end-point; the paths
    are /virmgrpc.UserService/Method and /virmgrpc.VersionService/GetVersion; the calls are GetVersion, ListPartitions,
    ListIPUAttributes, CreatePartition, RemovePartition, ResetPartition, GetPartitionIpuofConfig and
    GetPartitionStatus."""
    for service, methods in CALLS.items():
        assert [method.name for method in pb.DESCRIPTOR.services_by_name[service.partition(".")[2]].methods] == methods
        for method in methods:
            call = quick.channel.unary_unary(f"/{service}/{method}")
            try:
                call(b"", timeout=DEADLINE_S)
            except grpc.RpcError as error:
                assert error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND), method


def test_a_partition_cannot_be_changed(quick):
    """On record: there is no call that changes a partition."""
    quick.create("p1", 4)
    wait_active(quick, "p1")
    before = quick.list()
    for method in ("UpdatePartition", "ModifyPartition", "ApplyPartition"):
        call = quick.channel.unary_unary(f"/virmgrpc.UserService/{method}")
        rejected(grpc.StatusCode.UNIMPLEMENTED, call, b"", timeout=DEADLINE_S)
    rejected(grpc.StatusCode.ALREADY_EXISTS, quick.create, "p1", 8)
    assert quick.list() == before


@pytest.mark.parametrize("ipus, domains, gcds", [(16, 1, 1), (64, 1, 1), (128, 2, 2), (256, 4, 4), (128, 2, 128)])
def test_the_sizes_of_pods(serve, dial, ipus, domains, gcds):
    """On record: pods have 16, 64, 128 or 256 IPUs, the larger ones in 2 and 4 racks; the largest partition seen has 256
    IPUs in 4 domains; a pod of 128 IPUs with 128 GCDs; a cluster is a set of IPUs joined by IPU-Links and GW-Links, of
    non-overlapping hardware."""
    config = RACKS % domains if ipus >= 64 else f"create-ms: 0\nclusters: [{{id: pod, agents: {ipus // 4}}}]"
    client = dial(serve(config).target)
    client.create("whole", ipus, num_gcds=gcds, num_ipulink_segments=domains)
    wait_active(client, "whole")
    spec = client.list()[0].spec
    assert (len(spec.ipus), spec.num_ipulink_segments, spec.num_gcds) == (ipus, domains, gcds)
    assert len({(ipu.ipulink_domain_topology_id, ipu.topology_id) for ipu in spec.ipus}) == ipus
    configs = client.ipuof("whole").gcd_configs
    assert len(configs) == gcds
    devices = [(device.ip, device.device_id) for gcd in configs for device in gcd.devices]
    assert len(set(devices)) == len(devices) == ipus


def test_two_domains(serve):
    """On record: a partition of 32 IPUs over 2 domains gets DNC; the row of 32 IPUs in two domains reads part3 | 2 |
    DEFAULT | DNC | 32 | 2 | ACTIVE."""
    server = serve(RACKS.replace("pod", "example") % 2)
    at = {"VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": str(server.port)}
    assert vipu("create", "partition", "part3", "--size", "32", "--num-ilds", "2", "--num-gcds", "2", **at)[0] == 0
    cells = [[cell.strip() for cell in line.split("|")] for line in vipu("list", "partition", **at)[1].splitlines()]
    assert ["example", "example", "part3", "2", "DEFAULT", "DNC", "32", "2", "ACTIVE"] in cells


def test_where_the_controller_is_looked_for(serve, tmp_path):
    """On record: -H or --api-host is the controller's host, by default this one; VIPU_CLI_API_HOST names the controller's
    host; the port is 8090 unless told otherwise; scripts grep api-host in the configuration file."""
    port = str(serve("clusters: [{id: cl1}]").port)
    for words, env in ((["-P", port], {}), (["-P", port, "-H", "127.0.0.1"], {}),
                       (["-P", port, "--api-host", "127.0.0.1"], {}), (["-P", port], {"VIPU_CLI_API_HOST": "127.0.0.1"})):
        status, out, problems = vipu("--server-version", *words, **env)
        assert status == 0 and re.search(r"host: (\S+):", out)[1] in ("127.0.0.1", "localhost"), problems
    status, _, problems = vipu("--server-version", "--api-timeout", "1", VIPU_CLI_API_HOST="127.0.0.2")
    assert status == 1 and "127.0.0.2:8090" in problems
    config = tmp_path / "vipu-cli.hcl"
    config.write_text(f'api-host="127.0.0.1"\napi-port="{port}"\n')
    cut = subprocess.run(f"grep api-host {config} | cut -d'\"' -f 2", shell=True, capture_output=True, text=True, check=True)
    assert cut.stdout == "127.0.0.1\n"
    assert vipu("--config", str(config), "--server-version")[1] == f"version: 1.18.0\nhost: 127.0.0.1:{port}\n"


def test_the_order_of_the_attributes(serve):
    """On record: the attributes are listed in the order of board, clock, driver, firmware, hexopt."""
    out = vipu("list", "ipu-attrs", VIPU_CLI_API_HOST="127.0.0.1",
               VIPU_CLI_API_PORT=str(serve("clusters: [{id: cl1}]").port))[1]
    rows = [[cell.strip() for cell in line.split("|")] for line in out.splitlines() if "|" in line][1:]
    first = [row[2] for row in rows[:next(i for i, row in enumerate(rows) if i and row[1])]]
    recorded = ["board ipu index", "board serial number", "board type", "clock", "driver version",
                "firmware major version", "firmware minor version", "firmware patch version", "firmware version",
                "hexopt active size (bytes)", "hexopt total size (bytes)"]
    assert [name for name in first if name in recorded] == recorded


def test_tools_read_a_file_or_ask_the_controller(start, desk):  # noqa: F811
    """On record: host tools read an IPUoF configuration, from a file or from the controller, and enumerate devices."""
    server, client = start("create-ms: 0\nclusters: [{id: cl1}]")
    client.create("p1", 4, reconfigurable=True)
    wait_active(client, "p1")
    desk.point_at(server.target, "p1")
    asked = desk.info("-l")
    desk.point_at(server.target)
    desk.vipu(server.target, "create", "partition", "p2", "--size", "4", "--reconfigurable")
    path = desk.home / ".ipuof.conf.d" / "p2_ipuof.conf"
    until(path.is_file, "vipu has written the file")
    assert len(json.loads(path.read_text())["devices"]) == 4
    read = desk.info("-l", env={"IPUOF_VIPU_API_HOST": "", "IPUOF_CONFIG_PATH": str(path)})
    for listed in (asked, read):
        assert listed.returncode == 0, listed.stderr
        assert [int(id) for id in re.findall(r"^-\+- Id: \[(\d+)\]", listed.stdout, re.MULTILINE)] == list(range(7))
