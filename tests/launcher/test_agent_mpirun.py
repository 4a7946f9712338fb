"""A launcher's plain `mpirun prog` and `poprun prog` with real Open MPI: no flags, workers that are agents."""

import os
import re
import signal
import subprocess
from pathlib import Path

import secret_leaks
import pytest

from agents import descendants, kill, marked, sleeper
from processes import children
from waiting import DEADLINE_S, until

WORKERS = 3


@pytest.fixture
def cluster(job):
    """A launcher and three workers of two slots each."""
    return job(workers=WORKERS, slots=2).start_all()


def ranks(text):
    """{rank: [line, ...]} of what mpirun has tagged."""
    found = {}
    for rank, line in re.findall(r"^\[1,(\d+)\]<std(?:out|err)>: ?(.*)$", text, re.MULTILINE):
        found.setdefault(int(rank), []).append(line)
    return found


def everything_below(cluster):
    return [pid for i in range(WORKERS) for pid in descendants(cluster.agent_pid(i))]


def test_every_slot_of_every_worker_in_order(cluster):
    done = cluster.run("mpirun", "sh", "-c", "echo worker $IPU_JOB_WORKER_INDEX; echo err >&2")
    assert done.returncode == 0, done.stderr
    assert ranks(done.stdout + done.stderr).keys() == set(range(2 * WORKERS))
    assert ranks(done.stdout) == {rank: [f"worker {rank // 2}"] for rank in range(2 * WORKERS)}
    assert {line for lines in ranks(done.stderr).values() for line in lines} == {"err"}
    until(lambda: not everything_below(cluster), "the end of Open MPI's daemons")


def test_ranks_talk_to_each_other(cluster, tmp_path):
    program = tmp_path / "sum.c"
    program.write_text(
        "#include <mpi.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv) { int rank, sum; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); printf(\"sum %d\\n\", sum); return MPI_Finalize(); }\n")  # fmt: skip
    subprocess.run(["mpicc", "-o", tmp_path / "sum", program], check=True, timeout=DEADLINE_S)
    # Pods have a /dev/shm each, which these workers share: no shared memory.
    done = cluster.run("mpirun", "--tag-output", str(tmp_path / "sum"), OMPI_MCA_btl="self,tcp", IPU_JOB_NETWORK="127.0.0.0/8")
    assert done.returncode == 0, done.stderr
    assert ranks(done.stdout) == {rank: ["sum 15"] for rank in range(2 * WORKERS)}


def test_poprun_takes_the_workers_as_its_hosts(cluster):
    done = cluster.run(str(cluster.launcher.parent / "poprun"), "--offline-mode", "yes", "--num-instances", "3",
                       "--num-replicas", "6", "sh", "-c", "echo $POPDIST_REPLICA_INDEX_OFFSET of $POPDIST_NUM_TOTAL_REPLICAS "
                       "on $IPU_JOB_WORKER_INDEX")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ranks(done.stdout) == {rank: [f"{2 * rank} of 6 on {rank}"] for rank in range(WORKERS)}


def test_a_ranks_exit_status_is_the_launchers(cluster):
    done = cluster.run("mpirun", "sh", "-c", 'test "$OMPI_COMM_WORLD_RANK" != 3 || exit 9; exec sleep 600')
    assert done.returncode == 9
    until(lambda: not everything_below(cluster), "the end of the other ranks")


@pytest.fixture
def running(cluster, tmp_path):
    """(launcher process, mark of its six ranks, which all run)"""
    mark = f"{tmp_path.name}-{os.getpid()}"
    launch = cluster.start_run("mpirun", "--tag-output", "sh", "-c", sleeper(mark))
    until(lambda: len(marked(mark)) >= 2 * WORKERS and len(everything_below(cluster)) >= 3 * WORKERS, "six ranks")
    return launch, mark


def test_a_rank_that_is_killed_ends_the_job(cluster, running):
    launch, mark = running
    own = set(everything_below(cluster)) & set(marked(mark))
    kill(next(iter(own)))
    assert launch.wait(DEADLINE_S) == 128 + signal.SIGKILL
    until(lambda: not marked(mark) and not everything_below(cluster), "the end of the other ranks")


def test_a_worker_that_is_killed_ends_the_job(cluster, running):
    launch, mark = running
    kill(cluster.agent_pid(1))
    assert launch.wait(DEADLINE_S) not in (0, None)
    assert b"job-worker-1" in launch.stdout.read()
    until(lambda: not marked(mark), "the end of all ranks")


def test_a_daemon_of_mpirun_that_dies_at_its_start_ends_the_job(job):
    one = job(workers=WORKERS)
    for i in range(WORKERS):
        # Where it can make no directory it ends, before it has told anybody.
        one.start_agent(i, **({"TMPDIR": "/dev/null/none"} if i == 1 else {}))
    done = one.run("mpirun", "true")
    assert done.returncode not in (0, None)
    assert "/dev/null/none" in done.stderr


def test_an_mpirun_that_is_killed_leaves_no_rank(cluster, running):
    launch, mark = running
    kill(next(iter(children(launch.pid))))
    assert launch.wait(DEADLINE_S) == 128 + signal.SIGKILL
    until(lambda: not marked(mark) and not everything_below(cluster), "the end of all ranks")


def test_a_launcher_pod_that_is_killed_leaves_no_rank(cluster, tmp_path):
    mark = f"{tmp_path.name}-{os.getpid()}"
    launch = cluster.start_run("mpirun", "sh", "-c", sleeper(mark), mode="init")
    until(lambda: len(everything_below(cluster)) >= 3 * WORKERS and marked(mark), "six ranks")
    kill(next(iter(children(launch.pid))))
    assert launch.wait(DEADLINE_S) != 0
    until(lambda: not marked(mark) and not everything_below(cluster), "the end of all ranks")


def test_sigterm_reaches_every_rank(cluster, running):
    launch, mark = running
    launch.send_signal(signal.SIGTERM)
    assert launch.wait(DEADLINE_S) != 0
    until(lambda: not marked(mark) and not everything_below(cluster), "the end of all ranks")


# Who starts processes tells each command line; more would fill the pipe before the test reads it.
TALKATIVE = {"OMPI_MCA_plm_base_verbose": "5"}


def shown_by_processes(pids):
    """What anybody on their node may read of them, and what their own user may."""
    found = {}
    for pid in pids:
        for name in ("cmdline", "environ"):
            try:
                found[f"{name} of {pid}"] = Path(f"/proc/{pid}/{name}").read_bytes()
            except OSError:
                pass  # it has ended
    return found


def test_no_key_is_logged(cluster, tmp_path):
    """However talkative Open MPI is, whatever is wrong with a key, and by no process to those who list processes."""
    mark = f"{tmp_path.name}-{os.getpid()}"
    keys = [file.read_bytes() for file in (cluster.folder / "keys").iterdir()]
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "0").write_bytes(wrong := os.urandom(32))
    rejected = cluster.call("true", env=cluster.launcher_env(IPU_JOB_KEYS_DIR=str(tmp_path / "wrong")))
    assert rejected[0] == 255

    launch = cluster.start_run("mpirun", "sh", "-c", sleeper(mark), **TALKATIVE)
    until(lambda: len(marked(mark)) >= 2 * WORKERS, "six ranks")
    agents = [cluster.agent_pid(i) for i in range(WORKERS)]
    output = shown_by_processes([launch.pid, *descendants(launch.pid), *agents, *everything_below(cluster)])
    assert len(output) >= 2 * (2 + 2 * WORKERS)
    launch.send_signal(signal.SIGTERM)
    output["the launcher's log"] = launch.communicate(timeout=DEADLINE_S)[0]
    assert b"plm:" in output["the launcher's log"], "Open MPI is at its most talkative"
    output["a rejected client"] = rejected[2]
    output |= {f"log of agent {i}": cluster.stop_agent(i)[1] for i in range(WORKERS)}
    assert "rejected connection" in output["log of agent 0"]
    assert secret_leaks.find(output, [*keys, wrong]) == []


# What a pod finds that runs under the restricted Pod Security Standard with a read-only root file system: a user without
# a name, no capabilities, nothing to write to but the volume, no DNS.
RESTRICTED = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/ipu-launch/tmp /run/ipu-launch/bin
chmod 1777 /run/ipu-launch/tmp
cp -r "$KEYS" /run/ipu-launch/keys
chmod -R a+rX /run/ipu-launch/keys
"$0" install /run/ipu-launch/bin
: > /run/none
mount --bind /run/none /etc/resolv.conf
for at in / /tmp; do
    mount --bind $at $at
    mount -o remount,bind,ro $at
done
cd /
unset TMPDIR
exec setpriv --reuid 54321 --regid 54321 --clear-groups --bounding-set=-all --no-new-privs /run/ipu-launch/bin/ipu-launch "$@"
"""
# Nothing in it outlives its process 1, and that not the test.
POD = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", RESTRICTED)


@pytest.mark.skipif(os.getuid() != 0, reason="mounts need root")
def test_in_restricted_pods_without_names(job):
    one = job(workers=2)
    keys = {"KEYS": str(one.folder / "keys"), "HOME": "/"}
    for i in range(2):
        one.start_agent(i, within=POD, IPU_JOB_KEY_FILE=f"/run/ipu-launch/keys/{i}", **keys)
    done = one.run("mpirun", "--tag-output", "sh", "-c",
                   "echo $(id -u) $IPU_JOB_WORKER_INDEX $TMPDIR; ! touch /x /tmp/x 2>/dev/null",
                   within=POD, IPU_JOB_KEYS_DIR="/run/ipu-launch/keys", **keys)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ranks(done.stdout) == {rank: [f"54321 {rank} /var/run/ipu-launch/tmp"] for rank in range(2)}
