"""A process that the kernel kills because memory ran out: the log says so, and names the worker."""

import re
import subprocess

import pytest

import memory_cgroup
from waiting import DEADLINE_S

HOG = memory_cgroup.HOG
OWN = "ipu-launch: this container ran out of memory: the kernel killed 1 process\n"


@pytest.fixture
def small():
    """Of a container with little memory."""
    try:
        group = memory_cgroup.MemoryCgroup()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield group
    group.destroy()


@pytest.fixture
def cluster(small, job):
    """Two workers, of which the second has little memory."""
    made = job(workers=2)
    made.start_agent(0)
    made.start_agent(1, within=small.within)
    made.ready(0)
    made.ready(1)
    return made


def reported(done):
    """The workers that the launcher's log reports."""
    return re.findall(r"^ipu-launch: worker (\S+) ran out of memory: the kernel killed 1 process$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize(("script", "status"), [(HOG, 137), (f"({HOG}); exit 3", 3)], ids=["command", "child"])
def test_a_command_whose_memory_ran_out_is_reported(small, launcher, script, status):
    done = subprocess.run([*small.within, launcher, "run", "--", "sh", "-c", script],
                          capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert (done.returncode, done.stderr.endswith(OWN)) == (status, True), done.stderr


@pytest.mark.parametrize(("script", "status"), [("kill -9 $$", 137), (f"({HOG}); exit 0", 0)], ids=["killed", "survived"])
def test_other_ends_say_nothing_of_memory(small, launcher, script, status):
    done = subprocess.run([*small.within, launcher, "run", "--", "sh", "-c", script],
                          capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == status and "out of memory" not in done.stderr


def test_a_rank_of_mpirun_whose_memory_ran_out_names_its_worker(cluster):
    done = cluster.run("mpirun", "sh", "-c", f'test "$OMPI_COMM_WORLD_RANK" = 0 && exec sleep 600; {HOG}')
    assert done.returncode == 137
    assert reported(done) == ["job-worker-1"], done.stderr


def test_an_instance_of_poprun_whose_memory_ran_out_names_its_worker(cluster):
    done = cluster.run(str(cluster.launcher.parent / "poprun"), "--offline-mode", "yes", "--num-instances", "2",
                       "--num-replicas", "2", "sh", "-c", f'test "$POPDIST_INSTANCE_INDEX" = 0 && exec sleep 600; {HOG}')  # fmt: skip
    assert done.returncode == 137
    assert reported(done) == ["job-worker-1"], done.stderr


def test_a_rank_that_is_killed_otherwise_names_no_worker(cluster):
    done = cluster.run("mpirun", "sh", "-c", 'test "$OMPI_COMM_WORLD_RANK" = 0 && exec sleep 600; kill -9 $$')
    assert done.returncode == 137 and reported(done) == []
