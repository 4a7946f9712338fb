"""Runs that are on record, from start to end: log and table come out as in tests/golden, with numbers and addresses of here."""

import os
import re
from pathlib import Path

import pytest

from calls import untag

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "poprun"

# All instances live until each of them has begun.
PROGRAM = """#!/bin/sh
echo "$OMPI_COMM_WORLD_RANK $*"
touch "$BEGUN/$OMPI_COMM_WORLD_RANK"
until test "$(ls "$BEGUN" | wc -l)" = "$OMPI_COMM_WORLD_SIZE"; do sleep 0.1; done
"""


@pytest.fixture
def meshed(serve):
    return serve("clusters: [{id: cl1, topology: mesh}]\n")


@pytest.fixture
def run(meshed, tmp_path):
    """Calls poprun; the program is there by the name that the record has. Returns table, the instances' lines and log."""
    folder, begun = tmp_path / "bin", tmp_path / "begun"
    folder.mkdir()
    begun.mkdir()
    (folder / "python").write_text(PROGRAM)
    (folder / "python").chmod(0o755)

    def call(*words, **environment):
        path = {"PATH": f"{folder}:{os.environ['PATH']}"}
        out, err = meshed(f"--mpi-local-args=-x BEGUN={begun}", *words, environment=path | environment)
        table, lines = [], []
        for line in out.splitlines(True):
            (lines if line.startswith("[1,") else table).append(line)
        return "".join(table), untag("".join(lines)), as_recorded(err, meshed.server.port, begun)

    return call


def as_recorded(err, port, begun):
    changes = [
        (r"^[\d:.]+ \d+ POPRUN ", "10:10:50.154 1 POPRUN "),
        (r"\(PID \d+\)", "(PID 42)"),
        (r"\S+/mpirun '", "/opt/poplar/bin/mpirun '"),
        (r"=\S+/poprun-cache-\w+'", "=/tmp/poprun-cache'"),
        (rf"127\.0\.0\.1(:|' '-x' 'IPUOF_VIPU_API_PORT=){port}\b", r"10.1.3.101\g<1>8090"),
        (rf" '-x' 'BEGUN={begun}'", ""),
    ]
    for pattern, replacement in changes:
        err = re.sub(pattern, replacement, err, flags=re.MULTILINE)
    return err


def golden(name):
    return (GOLDEN / f"{name}.txt").read_text()


def head(partition, found):
    output = ["[I] V-IPU server address picked up from 'vipu': 10.1.3.101:8090"]
    output += [f"[I] Using V-IPU partition {partition} as it is the only one available"] if found else []
    output += ["[D] Connecting to 10.1.3.101:8090", f"[D] Status for partition {partition}: OK (error 0)",
             f"[I] Partition {partition} already exists and is in state: PS_ACTIVE"]  # fmt: skip
    return "".join(f"10:10:50.154 1 POPRUN {line}\n" for line in output)


TAIL = "10:10:50.154 1 POPRUN [I] mpirun (PID 42) terminated with exit code 0\n"


@pytest.mark.parametrize("instances,name", [(1, "one"), (2, "two"), (16, "sixteen")])
def test_an_instance_for_each_replica(meshed, run, instances, name):
    meshed.vipu("create", "partition", "p64", "--size", "64", "--reconfigurable")
    table, lines, log = run("-vv", f"--num-replicas={instances}", f"--num-instances={instances}", "python", "bin/exec.py")
    assert table == golden(f"table-{instances}x{instances}")
    assert lines == sorted(f"{rank} bin/exec.py" for rank in range(instances))
    assert log == head("p64", True) + golden(f"recorded-{name}") + TAIL


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give this process another host name")
def test_a_job_of_slurm_on_one_host(meshed, run):
    meshed.vipu("create", "partition", "slurm_7", "--size", "4", "--reconfigurable")
    meshed.poprun.prefix = ["unshare", "--uts", "sh", "-c", 'hostname gc-poplar-02 && exec "$@"', "sh"]
    job = {"SLURM_JOB_ID": "7", "SLURM_JOBID": "7", "SLURM_NNODES": "1", "SLURM_TASKS_PER_NODE": "1",
           "SLURM_NODELIST": "gc-poplar-02", "SLURM_JOB_NODELIST": "gc-poplar-02"}  # fmt: skip
    table, lines, log = run("-vv", "--vipu-partition=slurm_7", "--num-instances=1", "--num-replicas=4",
                            "--executable-cache-path=/c", "--ipus-per-replica=1", "python", "a.py", **job)  # fmt: skip
    assert table == golden("table-1x4")
    assert lines == ["0 a.py"]
    assert log == head("slurm_7", False) + golden("recorded-slurm") + TAIL
