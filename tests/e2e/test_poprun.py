"""PopRun and the V-IPU tools in a worker, without any option that says where IPUs are."""

import re

import kube
import pytest
from jobs import job
from tutorial import HELLO_OF_RANK, HELLO_WORDS, HELLO_WORLD, NOT_INVOKED, by_rank

# A public tutorial, command by command; then what its user would look at.
COMMANDS = {
    "alone": "python hello_poprun.py",
    "one": f'poprun echo "{HELLO_WORLD}"',
    "four": f'poprun --num-replicas 8 --num-instances 4 echo "{HELLO_WORLD}"',
    "hello": f"poprun {' '.join(HELLO_WORDS)} python hello_poprun.py",
    "chips": "gc-info -d 27 --chip-id",
    "devices": "gc-info --ipu-count",
    "monitor": "gc-monitor --no-card-info",
    "partitions": "vipu list partitions",
    "without": "PATH=/opt/ipu-launcher poprun true 2>&1 || true",
    "where": "type -p poprun poprun_numa_wrapper vipu gc-info gc-monitor",
}
MEMORY = {"resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}}}


@pytest.fixture
def printed(start):
    """What each command has printed, in a worker with 16 IPUs."""
    script = "set -e; cd /examples\n" + "".join(f"echo '== {name}'\n{command}\n" for name, command in COMMANDS.items())
    made = start(job("tutorial", script, ipus=16, container=MEMORY))
    ended = made.wait_for_state("Completed", "Failed", seconds=120)
    assert ended["launcherStatus"] == "Completed", made.log()
    sections = re.split(r"^== (\w+)\n", made.log(), flags=re.MULTILINE)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))


def test_the_tutorial_in_a_pod(printed, namespace):
    assert printed["alone"] == NOT_INVOKED
    assert printed["one"] == "[1,0]<stdout>:Hello World\n"
    assert sorted(printed["four"].splitlines()) == [f"[1,{rank}]<stdout>:Hello World" for rank in range(4)]
    assert by_rank(printed["hello"]) == HELLO_OF_RANK

    assert len(printed["chips"].splitlines()) == 4
    assert printed["devices"] == "16\n"
    assert f"p-tutorial-{namespace.namespace}-0" in printed["partitions"]
    assert printed["monitor"]
    assert printed["without"].startswith("POPRUN ERROR: mpirun not found in PATH; install Open MPI")
    assert printed["without"].count("\n") == 1
    assert [path.rsplit("/", 1)[0] for path in printed["where"].split()] == ["/opt/ipu-launcher"] * 5


def test_a_partition_of_one_gcd_is_rejected_for_two_instances_with_the_remedy(start):
    """modelReplicasPerWorker makes a partition that is not reconfigurable, with a GCD for each worker."""
    script = "poprun --num-instances 2 --num-replicas 2 true"
    failed = start(job("rejected", script, ipus=2, modelReplicasPerWorker="2", container=MEMORY))
    failed.wait_for_state("Failed")
    assert "spec.partition.reconfigurable: true or spec.partition.gcds" in failed.log()

    for name, cure in [("cured", {"gcds": 2}), ("reshaped", {"reconfigurable": True})]:
        cured = start(job(name, script, ipus=2, modelReplicasPerWorker="2", container=MEMORY, partition=cure))
        cured.wait_for_state("Completed")


def test_deleting_the_job_ends_its_instances(namespace, start):
    """SIGTERM reaches poprun, mpirun and the instances, which have time to do something about it."""
    traps = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
    patience = '--mpi-global-args "--mca odls_base_sigkill_timeout 5"'
    start(job("stopped", f'exec poprun {patience} --num-instances 2 --num-replicas 2 bash -c "{traps}"', ipus=2,
              container=MEMORY, pod={"terminationGracePeriodSeconds": 30}))
    kube.wait_for("both instances run", lambda: namespace.attempt("logs", "stopped-worker-0").stdout.count("ready") == 2)
    with namespace.start("logs", "--follow", "stopped-worker-0") as follower:
        lines = follower.stdout
        for _ in range(2):  # it reads, before there is nothing more to be read
            next(line for line in lines if "ready" in line)
        namespace("delete", "ipujob", "stopped", "--timeout=60s")
        assert lines.read().count("saved") == 2
