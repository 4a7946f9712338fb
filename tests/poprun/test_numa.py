"""poprun_numa_wrapper with the real mpirun on a machine that has two NUMA nodes, or seems to."""

import os

import pytest

from calls import in_place, untag

CPUS = sorted(os.sched_getaffinity(0))
SHOW = ["sh", "-c", "echo $POPDIST_LOCAL_INSTANCE_INDEX $(grep Cpus_allowed_list /proc/self/status | cut -f2)"]

pytestmark = pytest.mark.skipif(os.getuid() != 0 or len(CPUS) < 2, reason="only root can show another machine, of two CPUs or more")


@pytest.fixture
def machine(tmp_path):
    """A folder in place of the kernel's, each node with one of this machine's CPUs; only what is run here sees it."""
    folder = tmp_path / "node"
    folder.mkdir()
    (folder / "online").write_text("0-1\n")
    for number, cpu in enumerate(CPUS[:2]):
        (folder / f"node{number}").mkdir()
        (folder / f"node{number}" / "cpulist").write_text(f"{cpu}\n")

    def run(poprun, *words, show=SHOW):
        poprun.prefix = in_place(folder, "/sys/devices/system/node")
        return untag(poprun.offline(*words, *show)[0])

    return run


def test_instances_share_the_nodes(poprun, machine):
    """On record: CPUs are bound and memory is preferred."""
    words = ["--num-replicas=4", "--num-instances=4"]
    assert machine(poprun, *words) == [f"0 {CPUS[0]}", f"1 {CPUS[1]}", f"2 {CPUS[0]}", f"3 {CPUS[1]}"]


def test_memory_of_other_nodes_may_be_used(poprun, machine):
    """On record: one instance that compiles may need memory of the other's NUMA node."""
    words = ["--num-replicas=2", "--num-instances=2"]
    policies = machine(poprun, *words, show=["sh", "-c", "echo $POPDIST_LOCAL_INSTANCE_INDEX $(head -n 1 /proc/self/numa_maps)"])
    assert policies[0].split()[2:4] == ["prefer", "(many):0"]


@pytest.mark.parametrize("words", [
    ["--num-replicas=2", "--num-instances=2", "--process-placement=disabled", "--mpi-global-args=--bind-to none"],
    ["--num-replicas=2", "--num-instances=1"],
])  # fmt: skip
def test_without_a_wrapper_all_cpus_stay(poprun, machine, words):
    for line in machine(poprun, *words):
        first, last = line.split()[1].replace("-", ",").split(",")[0], line.split()[1].replace("-", ",").split(",")[-1]
        assert (int(first), int(last)) == (CPUS[0], CPUS[-1])
