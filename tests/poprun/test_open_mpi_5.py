"""poprun with Open MPI 5 on one host; test_lan.py has it on several. What differs from 4.1 stands in docs/poprun.md."""

import os
import re
import signal
import sys

import pytest

from calls import DEADLINE_S, untag
from test_run import LONG, SHOW_LONG, in_tight_space

TWO = ["--num-replicas=2", "--num-instances=2"]


@pytest.fixture
def poprun5(poprun, open_mpi_5):
    poprun.open_mpi = open_mpi_5
    yield poprun
    poprun.assert_clean()
    assert not list(poprun.temporary.iterdir())


def test_it_is_open_mpi_5(poprun5):
    out, err = poprun5.offline("-v", "sh", "-c", 'echo "$OMPI_VERSION"')
    assert f"Running command: {poprun5.open_mpi}/bin/mpirun '--bind-to' 'none'" in err
    assert out.startswith("[1,0]<stdout>: 5.")


def test_an_instance_finds_its_part(poprun5):
    show = ["sh", "-c", 'env | grep -E "^(POPDIST|IPUOF_LOG|IPUOF_CONFIG|POPLAR|POPRUN)_" | grep -v TEST_MARK']
    out, _ = poprun5.offline(
        "--num-replicas=4", "--num-instances=2", "--ipus-per-replica=2", "--executable-cache-path=", *show,
        environment={"POPDIST_LOCAL_INSTANCE_INDEX": "7", "POPDIST_STALE": "1", "IPUOF_CONFIG_PATH": "/x",
                     "POPLAR_TARGET_OPTIONS": '{"a":"b","c":"d"}'},
    )  # fmt: skip
    assert untag("".join(line for line in out.splitlines(True) if line.startswith("[1,1]"))) == [
        "IPUOF_LOG_LEVEL=WARN",
        "POPDIST_LOCAL_INSTANCE_INDEX=1",
        "POPDIST_NUM_IPUS_PER_REPLICA=2",
        "POPDIST_NUM_LOCAL_REPLICAS=2",
        "POPDIST_NUM_TOTAL_REPLICAS=4",
        "POPDIST_REPLICA_INDEX_OFFSET=2",
        "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1",
        'POPLAR_TARGET_OPTIONS={"a":"b","c":"d"}',
    ]


@pytest.mark.parametrize("placement", ["spreadnuma", "scattersocket", "scatternuma", "close", "disabled"])
def test_every_placement_starts_more_instances_than_cpus(poprun5, placement):
    count = 2 * os.cpu_count() + 1
    words = [f"--num-replicas={count}", f"--num-instances={count}", f"--process-placement={placement}"]
    out, _ = poprun5.offline(*words, "sh", "-c", "echo $OMPI_COMM_WORLD_LOCAL_SIZE")
    assert untag(out) == [str(count)] * count


def test_words_for_mpirun_reach_it(poprun5):
    out, _ = poprun5.offline(
        *TWO, "--mpi-global-args=\n --tag-output\n --bind-to none", '--mpi-local-args=-x A="b c" -x PATH',
        "--instance-mpi-local-args=1:-x B={\"d\":\"e\"}", "sh", "-c", 'echo "$A $B"',
    )  # fmt: skip
    assert untag(out) == ["b c ", 'b c {"d":"e"}']


@pytest.mark.parametrize("status", [1, 7])
def test_the_status_is_that_of_mpirun(poprun5, status):
    poprun5.offline(*TWO, "sh", "-c", f"exit {status}", expect=status)


@pytest.mark.parametrize("program,status", [("/no/such/program", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_start_ends_as_in_a_shell(poprun5, program, status):
    poprun5.offline(program, expect=status)


def test_a_lone_colon_is_an_argument_of_the_program(poprun5):
    assert untag(poprun5.offline("echo", "a", ":", "b")[0]) == ["a : b"]


def test_a_command_that_is_too_long_for_the_system_starts_all_the_same(poprun5):
    """openpmix/prrte, src/tools/prte/prte.c: a line of the file has at most 1,023 bytes."""
    poprun5.prefix = in_tight_space()
    words = ["--num-replicas=12", "--num-instances=12", "--mpi-local-args=-x A='1  2#'", "--instance-mpi-local-args=3:-x B=3"]
    out, _ = poprun5.offline(*words, *SHOW_LONG, environment=LONG)
    assert untag(out) == sorted(f"12 {i} 46000 1  2# {3 if i == 3 else ''} b  c " for i in range(12))


def test_a_file_of_many_instances_is_taken_by_mpirun(poprun5):
    """It takes 4,096 too, but longer: its time grows with the square. It maps them and does not start them."""
    poprun5.prefix = in_tight_space()
    out, _ = poprun5.offline("--num-replicas=400", "--num-instances=400", "--mpi-global-args=--do-not-launch", "true")
    assert len(re.findall(r"Data for proc: ", out)) == 400


def test_only_one_instance_is_heard(poprun5):
    out, err = poprun5.offline(*TWO, "--only-output-from-instance=1", "sh", "-c", "echo out; echo bad >&2")
    assert (out, err) == ("[1,1]<stdout>: out\n", "[1,1]<stderr>: bad\n")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_nothing_is_left_when_poprun_is_ended(poprun5, name):
    process = poprun5.start("--offline-mode=on", *TWO, "sh", "-c", "echo ready; exec sleep 1000")
    assert all(process.stdout.readline().endswith("ready\n") for _ in range(2))
    process.send_signal(signal.Signals[name])
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode != 0


COLLECTIVE = """
import numpy, popdist, popdist.collectives
popdist.init()
data = numpy.ones(4, "float32")
popdist.collectives.allReduceSum(data, "x")
mpi = {line.split()[-1] for line in open("/proc/self/maps") if "/libmpi.so" in line}
print(data.sum(), *mpi)
"""


def test_popdist_needs_no_rebuild(poprun5, packages):
    """Its library has the name of 4.1's, and mpirun puts it in front."""
    out, _ = poprun5.offline(*TWO, sys.executable, "-c", COLLECTIVE, environment={"PYTHONPATH": str(packages)})
    (output,) = set(untag(out))
    total, used = output.split(" ")
    assert total == "8.0" and used.startswith(poprun5.open_mpi)


def test_the_variables_of_the_first_instance_reach_those_that_have_no_others(poprun5):
    words = ["--instance-mpi-local-args=0:-x A=first", "--instance-mpi-local-args=1:-x B=second"]
    out, _ = poprun5.offline(*TWO, *words, "sh", "-c", "echo $POPDIST_LOCAL_INSTANCE_INDEX $A $B")
    assert untag(out) == ["0 first", "1 first second"]
