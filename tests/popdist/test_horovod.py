"""horovod.popart, installed from its wheel, with a stand-in for PopART."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import runs
from conftest import ROOT
from packages import pip, wheel_of
from test_python import MAIN, python

STANDINS = Path(__file__).parent / "standins"


@pytest.fixture(scope="module")
def hvd_wheel(tmp_path_factory):
    return wheel_of(ROOT / "popdist" / "horovod", tmp_path_factory.mktemp("hvd"))


@pytest.fixture(scope="module")
def hvd(hvd_wheel, wheel, tmp_path_factory):
    """A folder with the wheels of Horovod and PopDist, and the stand-in for PopART."""
    folder = tmp_path_factory.mktemp("hvd-site")
    pip("install", "--no-deps", "--no-index", "--target", folder, wheel, hvd_wheel)
    shutil.copy(STANDINS / "popart.py", folder)
    return folder


def horovodrun(hvd, *words, before=()):
    """Runs it as a user does: `horovodrun WORDS`, with `python` in PATH."""
    path = os.pathsep.join(map(str, [*before, hvd / "bin", Path(sys.executable).parent, os.environ["PATH"]]))
    return subprocess.run(
        ["horovodrun", *words], env=runs.clean_environment(PYTHONPATH=str(hvd), PATH=path), cwd=MAIN,
        capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
    )  # fmt: skip


@pytest.mark.parametrize("words", ["-np 2 -H localhost:2 python train.py", "--gloo -np 2 -H localhost:2 python train.py",
                                   "-np 3 python train.py"])  # fmt: skip
def test_training_gives_all_ranks_the_same_weights(hvd, words):
    """On record: hvd.init starts it; size and rank stride the data; DistributedOptimizer(optimizer, session, options)
    averages gradients on the hosts; insert_host_allreduce connects the streams; broadcast_weights(session, root_rank=0)
    comes after prepareDevice and before weightsFromHost; Broadcast and AllReduce are its only operations; streams are
    named prefix and tensor; session, prepareDevice, hvd.init, optimizer, insert, broadcast, weightsFromHost, run: in
    this order; horovodrun -np 2 -H localhost:2 python train.py, and with --gloo."""
    done = horovodrun(hvd, *words.split())
    assert done.returncode == 0, done.stdout + done.stderr
    size = int(words.split("-np ")[1].split()[0])
    # mpirun tags what it reads at once, and may read the end of a line later than the line.
    output = re.sub(r"\[\d+,\d+\]<stdout>:|\n", "", done.stdout)
    found = re.findall(r"rank (\d+) of (\d+) weights (\w+) found (\[.*?\] \[.*?\] (?:True|False))", output)
    assert sorted(int(rank) for rank, *_ in found) == list(range(size))
    assert {count for _, count, *_ in found} == {str(size)}
    assert len({weights for *_, weights, _ in found}) == 1, done.stdout
    assert {model for *_, model in found} == {"[2.0, -1.0, 0.5] [3.0] True"}


@pytest.mark.parametrize("since_2_3", [(), ("since-2.3",)])
@pytest.mark.parametrize("maker", ["popart", "horovod"])
def test_all_ranks_get_the_roots_weights(hvd, maker, since_2_3):
    """Without hostAllReduce, as graphcore/examples call it: nlp/bert/popart/bert.py and
    speech/transformer_transducer/popart/training/conf_utils.py (with DistributedTrainingSession, under poprun). Releases
    since 2.3 of graphcore/popart have no host reduction: python/popart/popart_core/popart.cpp."""
    printed = runs.mpirun(2, [sys.executable, MAIN / "weights.py", maker, "1", *since_2_3], PYTHONPATH=hvd)
    assert sorted(printed.splitlines()) == [f"rank {rank} has [2.0, 2.0, 2.0] [11.0]" for rank in range(2)]


def test_one_process_trains_alone(hvd):
    code = (MAIN / "train.py").read_text()
    assert "rank 0 of 1" in python(hvd, code)


@pytest.mark.parametrize("words,says", [
    ("", "give the number of processes: -np 2; give a program: horovodrun -np 2 python train.py"),
    ("python train.py", "give the number of processes: -np 2"),
    ("-np 0 python train.py", "give the number of processes: -np 2"),
    ("-np 2", "give a program"),
    ("-np 2 -p 70000 python train.py", "there is no port 70000"),
    ("-np 2 -H a:1 --hostfile none python train.py", "-H and --hostfile exclude each other; the host file none cannot be found"),
    ("-np 2 --fusion-threshold-mb 3 python train.py", "--fusion-threshold-mb is not for PopART programs: it tunes Horovod's own"),
    ("--min-np=2 python train.py", "--min-np is not for PopART programs: runs that grow and shrink need the official horovodrun"),
    ("-np 2 --host a:2 python train.py", "--host is not known; did you mean --hosts?"),
    ("-np 2 --frobnicate python train.py", "--frobnicate is not known; `horovodrun --help` lists what is"),
])  # fmt: skip
def test_horovodrun_reports_mistakes(hvd, words, says):
    done = horovodrun(hvd, *words.split())
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize("words,run", [
    ("-np 2 python train.py --lr 1", "-np 2 -H localhost:2 ENV python train.py --lr 1"),
    ("-np 4 -H a:2,b:2 -p 2222 -i key python train.py", "-np 4 -H a:2,b:2 --mca plm_rsh_args '-p 2222 -i key' ENV python train.py"),
    ("--num-proc=4 --hostfile train.py --mpi python train.py", "-np 4 --hostfile train.py ENV python train.py"),
    ("-np 1 --network-interfaces eth0 --output-filename out --mpi-args=--quiet ls -np",
     "-np 1 -H localhost:1 --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --output-filename out ENV --quiet ls -np"),
])  # fmt: skip
def test_horovodrun_writes_mpirun(hvd, tmp_path, words, run):
    """A stand-in for mpirun does nothing; --verbose says how it was called."""
    (tmp_path / "mpirun").write_text("#!/bin/sh\n")
    (tmp_path / "mpirun").chmod(0o755)
    done = horovodrun(hvd, "--verbose", *words.split(), before=[tmp_path])
    assert done.returncode == 0, done.stderr
    start = "mpirun --allow-run-as-root --tag-output --bind-to none --map-by slot "
    assert re.sub(r"(-x \w+ ?)+", "ENV ", done.stderr) == start + run + "\n"


def test_horovodrun_itself_needs_no_popart(hvd, tmp_path):
    site = shutil.copytree(hvd, tmp_path / "site", ignore=shutil.ignore_patterns("popart.py"))
    done = horovodrun(site, "-np", "2", "echo", "here")
    assert (done.returncode, done.stdout.count("here")) == (0, 2), done.stderr


def test_horovodrun_helps(hvd):
    helped, version = horovodrun(hvd, "--help"), horovodrun(hvd, "--version")
    assert helped.returncode == version.returncode == 0
    assert "-np N" in helped.stdout and "--hostfile FILE" in helped.stdout
    assert re.fullmatch(r"horovod-popart [\d.]+\n", version.stdout)


def test_processes_that_do_not_find_each_other_report_it(hvd):
    messages = python(hvd, "import horovod.popart as hvd; hvd.init()", expect=1, HOROVOD_SIZE="2")
    assert "the launcher started 2 processes, but only 1 can communicate; start them with mpirun" in messages


def test_horovod_and_popdist_are_started_in_any_order(hvd):
    """As in test_starting_and_ending_again_does_nothing."""
    code = "import popdist, horovod.popart as hvd\nhvd.init(); popdist.init(); hvd.init(); print(hvd.size())\n"
    end = "hvd.shutdown(); popdist.finalizeBackend(); hvd.shutdown()"
    assert python(hvd, code + end) == "1\n"


@pytest.mark.parametrize("code,says", [
    ("hvd.size()", "Horovod has not been initialized; use hvd.init()."),
    ("hvd.DistributedOptimizer(None, None, popart.SessionOptions())", "set SessionOptions.hostAllReduce"),
    ("o = popart.SessionOptions(); o.hostAllReduce = o.hostWeightUpdate = True; hvd.DistributedOptimizer(None, None, o)",
     "SessionOptions.hostWeightUpdate is not supported"),
])  # fmt: skip
def test_mistakes_are_reported_plainly(hvd, code, says):
    """On record: hostAllReduce is set before the session is made; hostWeightUpdate and hostAllReduceRemoteBuffer are
    other ways."""
    assert says in python(hvd, f"import popart, horovod.popart as hvd\n{code}", expect=1)


def test_the_variable_for_time_is_read(hvd):
    """On record: HOROVOD_POPART_BROADCAST_TIMEOUT is in seconds."""
    code = "import popdist, horovod.popart as hvd; hvd.init(); print(popdist.getTimeout())"
    assert float(python(hvd, code, HOROVOD_POPART_BROADCAST_TIMEOUT="120")) == 120
    assert "is not a positive number of seconds" in python(hvd, code, expect=1, HOROVOD_POPART_BROADCAST_TIMEOUT="soon")


def test_a_missing_popart_is_named(site, hvd_wheel, tmp_path):
    pip("install", "--no-deps", "--no-index", "--target", tmp_path, hvd_wheel)
    messages = python(f"{site}:{tmp_path}", "import horovod.popart", expect=1)
    assert "ImportError: horovod.popart needs PopART, which cannot be imported" in messages


def test_a_session_under_poprun_has_this_instances_replicas(hvd):
    """On record: DistributedTrainingSession takes what TrainingSession takes, and enableEngineCaching."""
    code = (
        "import popart, horovod.popart as hvd\n"
        "o = popart.SessionOptions()\n"
        "hvd.DistributedTrainingSession(fnModel={'w': 1}, userOptions=o, enableEngineCaching=True)\n"
        "print(o.replicatedGraphCount, o.globalReplicaOffset, o.enableEngineCaching)\n"
    )
    printed = python(hvd, code, POPDIST_NUM_TOTAL_REPLICAS="8", POPDIST_NUM_LOCAL_REPLICAS="2", POPDIST_REPLICA_INDEX_OFFSET="6")
    assert printed == "2 6 True\n"


@pytest.fixture(scope="module")
def official(tmp_path_factory):
    """A wheel that is laid out as the official horovod: a package with an __init__.py of its own."""
    folder = tmp_path_factory.mktemp("official")
    (folder / "horovod" / "runner").mkdir(parents=True)
    (folder / "horovod" / "__init__.py").write_text("import horovod.runner\n__version__ = '0.28.1'\n")
    (folder / "horovod" / "runner" / "__init__.py").write_text("def run(): pass\n")
    (folder / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='horovod', version='0.28.1', packages=['horovod', 'horovod.runner'])\n"
    )
    return wheel_of(folder, tmp_path_factory.mktemp("official-wheel"))


@pytest.mark.parametrize("first", ["ours", "official"])
@pytest.mark.parametrize("removed", ["ours", "official"])
def test_it_can_be_installed_beside_the_official_horovod(hvd_wheel, wheel, official, tmp_path, first, removed):
    """On record: it is a wheel of its own; PyTorch uses the official horovod, which PopDist does not need."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True, timeout=runs.DEADLINE_S)
    environment = ("--python", tmp_path / "env" / "bin" / "python")
    both = [hvd_wheel, official] if first == "ours" else [official, hvd_wheel]
    for each in (wheel, *both):
        pip(*environment, "install", "--no-deps", "--no-index", each)
    check = {"ours": "import horovod.popart", "official": "import horovod.runner; assert horovod.__version__"}

    def works(name):
        done = subprocess.run(
            [tmp_path / "env" / "bin" / "python", "-c", check[name]], capture_output=True, text=True, check=False,
            env=runs.clean_environment(PYTHONPATH=f"{STANDINS}:{packages()}"), timeout=runs.DEADLINE_S,
        )  # fmt: skip
        return done.returncode == 0

    assert works("ours") and works("official")
    pip(*environment, "uninstall", "--yes", "horovod-popart" if removed == "ours" else "horovod")
    kept = "official" if removed == "ours" else "ours"
    assert works(kept) and not works(removed)


def packages():
    """Where this environment's NumPy is."""
    return subprocess.run([sys.executable, "-c", "import numpy; print(numpy.__path__[0].rsplit('/', 1)[0])"],
                          check=True, capture_output=True, text=True, timeout=runs.DEADLINE_S).stdout.strip()  # fmt: skip
