"""Limits of memory: as in a cluster, where this user can make control groups."""

import sys
from pathlib import Path

import memory_cgroup
import pytest
from conftest import job

LIMIT = {"resources": {"limits": {"memory": "128Mi"}}}


@pytest.fixture(autouse=True)
def allowed():
    try:
        memory_cgroup.MemoryCgroup().destroy()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")


def reasons(done):
    """Of the containers that have ended, as the message of the status names them."""
    return done.final["status"]["reason"], done.final["status"]["lastMessage"]


def left_behind():
    above, _ = memory_cgroup.parent()
    return list(Path(above).glob("ipu-run-*")) + list(Path(above).parent.glob("ipu-run-*"))


@pytest.mark.parametrize("command", [memory_cgroup.HOG, f"({memory_cgroup.HOG}); exit 3"], ids=["command", "child"])
def test_a_container_beyond_its_limit_is_oom_killed(run, command):
    before = left_behind()
    done = run(job(command, container=LIMIT), options=["-o", "json"])
    assert done.code == 1
    reason, message = reasons(done)
    assert reason == "OOMKilled" and message.startswith("Container main of pod hello-worker-0 was OOM-killed"), message
    assert left_behind() == before


def test_a_second_container_beyond_its_limit(run):
    """In which no ipu-launch says so."""
    second = {"name": "second", "image": "x", "command": ["sh", "-c", memory_cgroup.HOG], **LIMIT}
    done = run(job("true", template={"containers": [second]}), options=["-o", "json"])
    assert reasons(done)[0] == "OOMKilled" and "Container second of pod hello-worker-0 was OOM-killed" in reasons(done)[1]


def test_a_rank_beyond_the_limit_of_its_worker(run):
    done = run(job("", workersPerJobInstance="2", ipus=8, container={"command": None, **LIMIT},
                   launcher={"command": ["mpirun", "sh", "-c", f'test "$OMPI_COMM_WORLD_RANK" = 0 && exec sleep 600; {memory_cgroup.HOG}']}),
               options=["-o", "json"])  # fmt: skip
    assert reasons(done)[0] == "OOMKilled" and "hello-worker-1" in reasons(done)[1], done.out + done.err


def test_a_container_within_its_limit_and_others_are_unaffected(run):
    hog = f"exec {sys.executable} -IS -c \"b'x' * (1 << 28); print('done')\""
    assert run(job(hog)).lines == ["[0.0] done"]
    assert run(job(hog, container={"resources": {"limits": {"memory": "1Gi"}}})).lines == ["[0.0] done"]
