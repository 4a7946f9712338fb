"""Allocations, clusters and the room in them: our extension service, and controllers without it."""

import json
import subprocess
import sys
import tempfile
from concurrent import futures

import grpc
import pytest

import generic
from generic import pb
from programs import DEADLINE_S, ROOT, run_program

_generated = tempfile.TemporaryDirectory(prefix="extension-")
subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'vipu' / 'wire' / 'messages'}",
                f"--python_out={_generated.name}", f"--grpc_python_out={_generated.name}", "extension.proto"], check=True)
sys.path.insert(0, _generated.name)
import extension_pb2 as ext  # noqa: E402
import extension_pb2_grpc as ext_services  # noqa: E402

QUICK = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\n"
CLUSTERS = QUICK + """clusters:
  - id: cl1
    topology: torus
    cluster-topology: looped
    ipulink-domains: 2
    agents: [ag.13.01, ag.13.02, ag.14.01, ag.14.02]
    allocations: [{id: left, agents: [ag.13.01, ag.13.02]}]
  - id: cl2
    agents: 4
    topology: mesh
"""


@pytest.fixture
def vipu(tmp_path):
    def run(port, *words, env=None):
        return run_program("vipu", "-H", "127.0.0.1", "-P", str(port), *words, env={"HOME": str(tmp_path), **(env or {})})

    return run


def good(result):
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


def rows(table):
    return [[cell.strip() for cell in line.split(" | ")] for line in table.splitlines() if " | " in line]


def test_allocations(serve, vipu):
    """`vipu list allocations`: `Allocation ID | Agents` (agents space-separated). [D]
    On record: vipu list allocations; the allocation table has Allocation ID and Agents, separated by blanks."""
    port = serve(CLUSTERS).port
    for words in (["list", "allocations"], ["list", "allocation"]):
        assert rows(good(vipu(port, *words))) == [
            ["Allocation ID", "Agents"], ["cl1", "ag.13.01 ag.13.02 ag.14.01 ag.14.02"],
            ["left", "ag.13.01 ag.13.02"], ["cl2", "ag1 ag2 ag3 ag4"]]
    listed = json.loads(good(vipu(port, "list", "allocations", "--showjson")))
    assert listed[1] == {"id": "left", "spec": {"cluster_id": "cl1", "agent_ids": ["ag.13.01", "ag.13.02"]}}


def test_clusters(serve, vipu):
    """`list cluster` -> array; `[i].spec.ipu_link_domains[j].ipus` is an array (its length = IPUs). [S]
    On record: list cluster gives an array with spec.ipu_link_domains and their ipus; the old vipu-cli list cluster."""
    port = serve(CLUSTERS).port
    listed = json.loads(good(vipu(port, "list", "cluster", "--showjson")))
    assert [len(domain["ipus"]) for cluster in listed for domain in cluster["spec"]["ipu_link_domains"]] == [8, 8, 16]
    assert [ipu["agent_id"] for ipu in listed[0]["spec"]["ipu_link_domains"][1]["ipus"]] == (
        ["ag.14.01"] * 4 + ["ag.14.02"] * 4)
    assert rows(good(vipu(port, "list", "clusters"))) == [
        ["Cluster", "ILDs", "Topology", "Cluster Topology", "IPUs", "Agents"],
        ["cl1", "2", "torus", "looped", "16", "ag.13.01 ag.13.02 ag.14.01 ag.14.02"],
        ["cl2", "1", "mesh", "unlooped", "16", "ag1 ag2 ag3 ag4"]]


def test_free_ipus(serve, vipu):
    """What is told to fit does fit, one after the other, and then no more does.
    On record: a call tells how many more partitions of a size there could be."""
    port = serve(CLUSTERS).port
    good(vipu(port, "create", "partition", "one", "--size", "1", "--allocation", "left"))
    got = dict(rows(good(vipu(port, "get", "allocation", "left"))))
    assert got == {"Attribute": "Value", "Allocation ID": "left", "Cluster": "cl1", "Agents": "ag.13.01 ag.13.02",
                   "IPUs": "8", "Free IPUs": "7", "Available (size 1)": "7", "Available (size 2)": "3",
                   "Available (size 4)": "1", "Available (size 8)": "0"}
    whole = json.loads(good(vipu(port, "get", "cluster", "cl1", "--showjson")))
    assert whole["cluster"]["id"] == "cl1"
    assert (whole["capacity"]["total_ipus"], whole["capacity"]["free_ipus"]) == (16, 15)
    fits = {fit["size"]: fit["count"] for fit in whole["capacity"]["fits"]}
    # Both domains have 8 IPUs: the default for 16 is one domain, which never fits.
    assert fits == {1: 15, 2: 7, 4: 3, 8: 1, 16: 0}
    for i in range(fits[4]):
        good(vipu(port, "create", "partition", f"four{i}", "--size", "4", "--allocation", "cl1"))
    assert vipu(port, "create", "partition", "more", "--size", "4", "--allocation", "cl1").returncode == 1
    for kind in ("allocation", "cluster"):
        lost = vipu(port, "get", kind, "nowhere")
        assert (lost.returncode, lost.stderr) == (
            1, f'get {kind} (nowhere): failed: {kind} "nowhere" not found\n')


def test_users_see_what_is_theirs(serve, vipu):
    server = serve(CLUSTERS + "secure: true\nusers:\n  - {id: alice, access-key: alice-key-685X_K4uC, allocations: [left]}\n")
    assert "secure mode" in vipu(server.port, "list", "allocations").stderr
    alice = {"VIPU_CLI_API_USER_ID": "alice", "VIPU_CLI_API_ACCESS_KEY": "alice-key-685X_K4uC"}
    assert rows(good(vipu(server.port, "list", "allocations", env=alice)))[1:] == [["left", "ag.13.01 ag.13.02"]]
    assert rows(good(vipu(server.port, "list", "clusters", env=alice)))[1:] == [
        ["cl1", "2", "torus", "looped", "8", "ag.13.01 ag.13.02"]]
    assert "Available (size 8)" in good(vipu(server.port, "get", "allocation", "left", env=alice))
    for words in (["get", "allocation", "cl2"], ["get", "cluster", "cl1"]):
        assert " not found" in vipu(server.port, *words, env=alice).stderr


def ipus_of(vipu, port, id, env=None):
    listed = json.loads(good(vipu(port, "list", "partitions", "--showjson", env=env)))
    (spec,) = [entry["partition"]["spec"] for entry in listed if entry["partition"]["id"] == id]
    return [(ipu["ipulink_domain_topology_id"], ipu["topology_id"]) for ipu in spec["ipus"]]


def test_an_index_counts_the_places_of_the_cluster(serve, vipu):
    """Through domains of 8 IPUs, whether the cluster is named or an allocation of it."""
    port = serve(CLUSTERS).port
    for id, index, where, first in (("p0", 0, ["--cluster", "cl1"], (0, 0)), ("p3", 3, ["--cluster", "cl1"], (1, 4)),
                                    ("p1", 1, ["--allocation", "left"], (0, 4))):
        good(vipu(port, "create", "partition", id, "--size", "4", "--index", str(index), *where))
        assert ipus_of(vipu, port, id) == [(first[0], first[1] + i) for i in range(4)]
    for index, where, reason in (("4", ["--cluster", "cl1"], 'out of range: cluster "cl1" has 4 blocks of 4 IPUs'),
                                 ("0", ["--cluster", "cl1"], "IPU 0 of IPU-Link domain 0"),
                                 ("2", ["--allocation", "left"], "IPU 0 of IPU-Link domain 1"),
                                 ("0", ["--cluster", "cl9"], 'cluster "cl9" not found')):
        rejected = vipu(port, "create", "partition", "more", "--size", "4", "--index", index, *where)
        assert rejected.returncode == 1 and reason in rejected.stderr, rejected.stderr
    nowhere = vipu(port, "create", "partition", "more", "--size", "4", "--index", "x")
    assert nowhere.returncode == 2 and nowhere.stderr.count("--index ") == 2


def test_an_index_of_a_user_counts_the_same(serve, vipu):
    """In secure mode a number means the same IPUs for everybody, also where the user's agents are not the first."""
    server = serve(CLUSTERS.replace("[{id: left, agents: [ag.13.01, ag.13.02]}]", "[{id: right, agents: [ag.13.02, ag.14.02]}]") +
                   "secure: true\nusers:\n  - {id: alice, access-key: alice-key-685X_K4uC, allocations: [right]}\n")
    alice = {"VIPU_CLI_API_USER_ID": "alice", "VIPU_CLI_API_ACCESS_KEY": "alice-key-685X_K4uC"}
    good(vipu(server.port, "create", "partition", "p3", "--size", "4", "--index", "3", "--allocation", "right", env=alice))
    assert ipus_of(vipu, server.port, "p3", alice) == [(1, 4 + i) for i in range(4)]


def test_a_generic_client(serve):
    with grpc.insecure_channel(serve(CLUSTERS).target) as channel:
        stub = ext_services.ExtensionServiceStub(channel)
        allocations = stub.ListAllocations(ext.ListAllocationsRequest(), timeout=DEADLINE_S).allocations
        assert [(a.id, a.cluster_id, len(a.agent_ids)) for a in allocations] == [
            ("cl1", "cl1", 4), ("left", "cl1", 2), ("cl2", "cl2", 4)]
        clusters = stub.ListClusters(ext.ListClustersRequest(), timeout=DEADLINE_S).clusters
        assert [(c.id, c.topology, [(d.num_ipus, d.size) for d in c.ipu_link_domains]) for c in clusters] == [
            ("cl1", "torus", [(8, 8), (8, 8)]), ("cl2", "mesh", [(16, 16)])]
        both = stub.GetCapacity(ext.GetCapacityRequest(cluster_id="cl1", allocation_id="left"), timeout=DEADLINE_S)
        assert (both.total_ipus, both.free_ipus, len(both.fits)) == (8, 8, 4)
        for request, status in ((ext.GetCapacityRequest(), grpc.StatusCode.INVALID_ARGUMENT),
                                (ext.GetCapacityRequest(cluster_id="cl2", allocation_id="left"),
                                 grpc.StatusCode.INVALID_ARGUMENT),
                                (ext.GetCapacityRequest(allocation_id="x"), grpc.StatusCode.NOT_FOUND)):
            with pytest.raises(grpc.RpcError) as rejected:
                stub.GetCapacity(request, timeout=DEADLINE_S)
            assert rejected.value.code() == status


class PublicOnly(generic.services.UserServiceServicer):
    """A controller as published: no extension."""

    def ListPartitions(self, request, context):
        def partition(id, cluster, allocation):
            spec = pb.PartitionSpec(cluster_id=cluster, allocation_id=allocation, num_gcds=1)
            return pb.Partition(id=id, spec=spec, ready_state=pb.PS_ACTIVE)

        return pb.ListPartitionsReply(partitions=[
            partition("p1", "pod64", "mine"), partition("p2", "pod64", "mine"), partition("p3", "pod16", "")])


@pytest.fixture
def public_only():
    server = grpc.server(futures.ThreadPoolExecutor(2))
    generic.services.add_UserServiceServicer_to_server(PublicOnly(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(0)


def test_a_controller_without_the_extension(public_only, vipu):
    """On record: there is no public call that lists allocations."""
    for kind, found in (("allocation", ["mine"]), ("cluster", ["pod64", "pod16"])):
        listed = vipu(public_only, "list", f"{kind}s")
        assert listed.returncode == 0 and [row[0] for row in rows(listed.stdout)][1:] == found
        assert listed.stderr == (f"this controller cannot list {kind}s (no call in the public V-IPU API); showing "
                                 "those named by its partitions\n")
        one = vipu(public_only, "get", kind, found[0])
        assert (one.returncode, one.stderr) == (
            1, f"get {kind} ({found[0]}): failed: not supported by this controller (no call in the public V-IPU API)\n")


class Hostile(ext_services.ExtensionServiceServicer):
    def ListClusters(self, request, context):
        domain = ext.IpuLinkDomain(num_ipus=4_000_000_000, agent_ids=["a"])
        return ext.ListClustersReply(clusters=[ext.Cluster(id="c\x1b[2J|", ipu_link_domains=[domain])])

    def ListAllocations(self, request, context):
        return ext.ListAllocationsReply(allocations=[ext.Allocation(id="a\x1b[2J|", agent_ids=["x\ny"])])


def test_a_hostile_controller(vipu):
    server = grpc.server(futures.ThreadPoolExecutor(2))
    ext_services.add_ExtensionServiceServicer_to_server(Hostile(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    listed = vipu(port, "list", "clusters")
    assert listed.returncode == 1 and "more than 64 IPUs" in listed.stderr
    assert rows(good(vipu(port, "list", "allocations")))[1:] == [["a?[2J?", "x?y"]]
    server.stop(0)
