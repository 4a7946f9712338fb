"""What a rank of mpirun finds: its place, the others' names, an interface that they reach."""

import json
import os
import subprocess

import pytest

from agents import CLEAN, address
from waiting import DEADLINE_S
from test_agent_mpirun import POD

PORT = str(20_000 + os.getpid() % 10_000)
NAMES = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"]
SHOW = ["python3", "-ISc", f"import json, os; print(json.dumps({{name: os.environ.get(name) for name in {NAMES}}}))"]

# As env:// of torch.distributed does it: rank 0 serves a store at MASTER_PORT, which all others connect to at MASTER_ADDR
# (_env_rendezvous_handler in torch/distributed/rendezvous.py of pytorch/pytorch).
RENDEZVOUS = """
import os, socket
rank, size, at = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(("", at[1]), backlog=size)
    peers = [server.accept()[0] for _ in range(size - 1)]
    met = sorted(int(peer.recv(10)) for peer in peers)
    for peer in peers:
        peer.sendall(b"met")
    print("met", met)
else:
    while True:
        try:
            peer = socket.create_connection(at)
            break
        except ConnectionRefusedError:
            pass
    peer.sendall(str(rank).encode())
    assert peer.recv(10) == b"met"
"""


def shown(output):
    """What each rank has printed, by its tag; 4.1's has no space."""
    found = {}
    for line in output.splitlines():
        tag, text = line.split(":", 1)
        found[int(tag.removeprefix("[1,").split("]")[0])] = json.loads(text)
    return found


@pytest.fixture(params=["", "5"])
def cluster(job, request):
    """A launcher and two workers of two slots each, and the words that start mpirun of one generation."""
    folder = request.getfixturevalue("open_mpi_5") if request.param else ""
    path = {"PATH": f"{folder}/bin:{CLEAN['PATH']}"} if folder else {}
    made = job(workers=2, slots=2)
    for i in range(2):
        made.start_agent(i, **path)

    def run(*words, **env):
        done = made.run("mpirun", *words, IPU_JOB_MASTER_PORT=PORT, **path, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_each_rank_finds_its_place_and_rank_0(cluster):
    assert shown(cluster(*SHOW)) == {
        rank: {"RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_RANK": str(rank % 2), "MASTER_ADDR": address(0), "MASTER_PORT": PORT}
        for rank in range(4)}  # fmt: skip


def test_the_ranks_meet_as_those_of_torch_do(cluster):
    assert "met [1, 2, 3]" in cluster("python3", "-ISc", RENDEZVOUS)


def test_a_value_of_the_user_is_kept(cluster):
    found = shown(cluster("-x", "MASTER_ADDR=head", "-x", "RANK=", *SHOW))
    assert {(row["MASTER_ADDR"], row["RANK"], row["WORLD_SIZE"]) for row in found.values()} == {("head", "", "4")}


def test_poprun_tells_its_instances_the_same(job):
    made = job(workers=2).start_all()
    done = made.run(str(made.launcher.parent / "poprun"), "--offline-mode", "yes", "--num-instances", "2", "--num-replicas", "2",
                    *SHOW, IPU_JOB_MASTER_PORT=PORT)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert shown(done.stdout) == {
        rank: {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": address(0), "MASTER_PORT": PORT} for rank in range(2)}  # fmt: skip


def test_ranks_within_a_worker_meet_there(launcher):
    """The worker is a rank of its job, which is not the place of the ranks that it starts."""
    env = {**CLEAN, "IPU_JOB_WORKERS": "2", "IPU_JOB_WORKER_INDEX": "1", "IPU_JOB_IPUS_PER_INSTANCE": "2", "IPU_JOB_MASTER_ADDR": "job-worker-0",
           "IPU_JOB_MASTER_PORT": PORT, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1"}  # fmt: skip
    done = subprocess.run([launcher, "run", "--", "mpirun", "-np", "2", *SHOW], env=env, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    assert shown(done.stdout) == {
        rank: {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": PORT}
        for rank in range(2)}  # fmt: skip


@pytest.mark.skipif(os.getuid() != 0, reason="mounts need root")
def test_names_of_workers_resolve_without_dns_for_any_user(job):
    """In a pod the init container makes the file that is mounted as /etc/hosts; no DNS is there, and no right to write to /etc."""
    one = job(workers=2)
    keys = {"KEYS": str(one.folder / "keys"), "HOME": "/"}
    within = (*POD[:-1], POD[-1].replace("install /run/ipu-launch/bin\n", "install /run/ipu-launch/bin /run/ipu-launch/tmp/hosts\n")
              .replace("\nexec ", "\nmount --bind /run/ipu-launch/tmp/hosts /etc/hosts\nexec "))  # fmt: skip
    for i in range(2):
        one.start_agent(i, within=within, IPU_JOB_KEY_FILE=f"/run/ipu-launch/keys/{i}", **keys)
    for _ in range(2):  # the second run finds the names there already
        done = one.run("mpirun", "sh", "-c", "getent hosts job-worker-0; getent hosts job-worker-1; grep -c job-worker- /etc/hosts; grep -c localhost /etc/hosts",
                       within=POD, IPU_JOB_KEYS_DIR="/run/ipu-launch/keys", **keys)  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = [line.split(":", 1)[1].split() for line in done.stdout.splitlines() if line.startswith("[1,0]")]
        assert lines[:3] == [[address(0), "job-worker-0"], [address(1), "job-worker-1"], ["2"]]
        assert int(lines[3][0]) > 0


def test_gloo_gets_the_interface_of_the_pods_address(call, launcher):
    """Otherwise it takes the one that the host's name resolves to, often loopback (createDefaultDevice in
    torch/csrc/distributed/c10d/ProcessGroupGloo.cpp of pytorch/pytorch)."""
    route = json.loads(subprocess.run(["ip", "-j", "addr"], capture_output=True, text=True, check=True, timeout=DEADLINE_S).stdout)
    own = {info["local"]: link["ifname"] for link in route for info in link["addr_info"] if info["family"] == "inet"}
    assert own
    for ip, interface in own.items():
        for given, wanted in (({}, interface), ({"GLOO_SOCKET_IFNAME": "mine"}, "mine")):
            done = call("exec", "--", "sh", "-c", "echo $GLOO_SOCKET_IFNAME $TP_SOCKET_IFNAME", env={**CLEAN, "IPU_JOB_ADDRESS": ip, **given})
            assert done.stdout.split() == [wanted, interface]
    done = call("exec", "--", "sh", "-c", 'echo "<$GLOO_SOCKET_IFNAME>"', env={**CLEAN, "IPU_JOB_ADDRESS": "192.0.2.1"})
    assert done.stdout == "<>\n"
