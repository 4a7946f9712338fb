"""The Python package, installed from its wheel."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import runs

MAIN = Path(__file__).parent / "programs"


def python(site, code, expect=0, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code], env=runs.clean_environment(PYTHONPATH=str(site), **variables),
        capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
    )  # fmt: skip
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr if expect else done.stdout


def test_one_wheel_serves_all_pythons(wheel):
    assert re.fullmatch(r"popdist-[\d.]+-cp38-abi3-linux_\w+\.whl", wheel.name)


def test_type_hints_are_complete_and_true(site, tmp_path):
    (tmp_path / "user.py").write_text(
        "from typing import Optional\n"
        "import numpy, popdist, popdist.collectives\n"
        "saved: Optional[int] = popdist.execute_on_instances({0}, lambda path: len(path), 'model')\n"
        "popdist.collectives.allReduceSum(numpy.zeros(3), id='sum')\n"
        "instances: int = popdist.getNumInstances()\n"
    )  # fmt: skip
    for words in (["mypy", "--strict", "-p", "popdist"], ["mypy", "--strict", "user.py"], ["mypy.stubtest", "popdist._popdist"]):
        done = subprocess.run(
            [sys.executable, "-m", *words], env=runs.clean_environment(PYTHONPATH=str(site), MYPYPATH=str(site)), cwd=tmp_path,
            capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


QUERIES = (
    "import popdist\n"
    "print(popdist.isPopdistEnvSet(), popdist.getNumTotalReplicas(), popdist.getNumLocalReplicas(),"
    " popdist.getNumIpusPerReplica(), popdist.getReplicaIndexOffset(), popdist.getNumInstances(),"
    " popdist.getInstanceIndex(), popdist.getLocalInstanceIndex(), popdist.getDeviceId(),"
    " popdist.checkNumIpusPerReplica(3))"
)


@pytest.mark.parametrize("variables,printed", [
    ({}, "False 1 1 1 0 1 0 0 0 True\n"),
    ({"POPDIST_NUM_TOTAL_REPLICAS": "8", "POPDIST_NUM_LOCAL_REPLICAS": "2", "POPDIST_NUM_IPUS_PER_REPLICA": "2",
      "POPDIST_REPLICA_INDEX_OFFSET": "6", "POPDIST_LOCAL_INSTANCE_INDEX": "3", "POPDIST_NODE_DEVICE_ID": "30"},
     "True 8 2 2 6 4 3 3 27 False\n"),
])  # fmt: skip
def test_queries_need_no_init(site, variables, printed):
    """On record: without poprun the queries answer 1, 1, 1, and getDeviceId gives an id; the get functions answer for a
    program alone: 1 replica, 1 IPU, 1 instance, all indices 0."""
    assert python(site, QUERIES, **variables) == printed


def test_an_environment_that_makes_no_sense_raises(site):
    output = python(site, "import popdist; popdist.getNumInstances()", expect=1, POPDIST_NUM_TOTAL_REPLICAS="many")
    assert 'popdist.PopdistError: POPDIST_NUM_TOTAL_REPLICAS must be a number from 1 to 1048576, got "many"' in output


def test_a_program_alone_needs_no_mpi(site):
    code = (MAIN / "collectives.py").read_text() + "\nassert 'libmpi' not in open('/proc/self/maps').read()\n"
    assert python(site, code) == "good\n"


@pytest.mark.parametrize("instances", [2, 3, 8])
def test_collectives_under_mpirun(site, instances):
    """On record: half, float, whole numbers of 8 to 64 bits, and bool for broadcast; execute_on_instances({0},
    function, args) calls it there only, and collectives inside are among those; init() is called once, and ends with
    the interpreter; programs call isPopdistEnvSet, getInstanceIndex, getNumInstances, getNumTotalReplicas,
    getNumLocalReplicas, init, getNumIpusPerReplica and execute_on_instances most."""
    printed = runs.mpirun(instances, [sys.executable, MAIN / "collectives.py"], PYTHONPATH=site)
    assert printed == "good\n" * instances


def test_a_stopped_instance_is_named(site):
    printed = runs.mpirun(3, [sys.executable, MAIN / "absent.py"], PYTHONPATH=site, POPDIST_COLLECTIVE_TIMEOUT=5)
    lines = sorted(printed.splitlines())
    assert lines[-1] == "back"
    assert 'all-reduce "step": instance 2 did not join within 5 s' in lines[:2]
    for line in lines[:2]:
        assert re.fullmatch(
            r'all-reduce "step": (instance 2 did not join within 5 s|instance [01] timed out)', line
        )


@pytest.mark.parametrize("transport", ["self,vader", "self,tcp"])
def test_a_late_instance_fails_with_all_others(site, tmp_path, transport):
    """Whatever the size, and the same id can be used again."""
    sizes = ["8", "2048", "2049", "1000000"]
    printed = runs.mpirun(3, [sys.executable, MAIN / "too_late.py", tmp_path, *sizes], transport=transport, PYTHONPATH=site,
                          POPDIST_COLLECTIVE_TIMEOUT=1)  # fmt: skip
    lines = printed.splitlines()
    assert lines.count("together 3") == 3, printed
    late = r'all-reduce "step": (instance 2 did not join within 1 s|instance [01] timed out)'
    for size in sizes:
        found = [line for line in lines if re.fullmatch(f"{size} {late}", line)]
        assert len(found) == 3, printed


@pytest.mark.parametrize("transport", ["self,vader", "self,tcp"])
def test_data_goes_through_shared_memory_and_tcp(site, transport):
    printed = runs.mpirun(2, [sys.executable, MAIN / "collectives.py"], PYTHONPATH=site, transport=transport)
    assert printed == "good\n" * 2


@pytest.mark.parametrize("how,seconds,says", [
    ("exception", 3600, "ZeroDivisionError"),
    ("SIGKILL", 3600, "signal 9"),
    ("SIGSTOP", 5, 'all-reduce "step": instance 1 '),
])  # fmt: skip
def test_an_instance_that_ends_in_the_middle_ends_the_run(site, how, seconds, says):
    done = subprocess.run(
        runs.mpirun_words(2, [sys.executable, MAIN / "dies.py", how], PYTHONPATH=site, POPDIST_COLLECTIVE_TIMEOUT=seconds),
        env=runs.clean_environment(), capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
    )  # fmt: skip
    assert done.returncode != 0
    assert says in done.stderr


@pytest.mark.parametrize("threads", [(), ("daemon",), ("joined",)])
@pytest.mark.parametrize("code,status,says", [
    ("sys.exit('no data found')", 1, "no data found"),
    ("exit(3)", 3, ""),
    ("1 / 0", 1, "ZeroDivisionError"),
])  # fmt: skip
def test_an_instance_that_fails_ends_the_run_with_its_status(site, code, status, says, threads):
    """The others wait for it without limit, and so do threads of its own."""
    assert says in ended(site, status, code, *threads)


@pytest.mark.parametrize("code,status", [("raise SystemExit(3)", 3), ("sys.exit(0)", 1)])
def test_an_instance_that_ends_while_another_waits_for_it_ends_the_run(site, code, status):
    says = 'cannot finalize: instance 0 waits for this instance in barrier "popdist.synchronize"'
    assert says in ended(site, status, code)


def ended(site, status, *words):
    """What the run wrote to standard error before it ended with this status."""
    done = subprocess.run(
        runs.mpirun_words(2, [sys.executable, MAIN / "ends.py", *words], PYTHONPATH=site, POPDIST_COLLECTIVE_TIMEOUT=3600),
        env=runs.clean_environment(), capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    return done.stderr


# The library's locks may be held in the child forever, by threads that it does not have.
IN_A_CHILD = """
import popdist._ending as ending
class Library:
    isBackendInitialized = staticmethod(lambda: True)
    stop_collectives = staticmethod(lambda reason: os.write(1, b"stopped in the child"))
own, ending._popdist = ending._popdist, Library
if os.fork() == 0:
    sys.exit(3)
os.wait()
ending._popdist = own
"""


@pytest.mark.parametrize("code", [
    "try: sys.exit(3)\nexcept SystemExit: pass",
    "try: 1 / 0\nexcept ZeroDivisionError: sys.excepthook(*sys.exc_info())",
    "thread = threading.Thread(target=sys.exit, args=(3,)); thread.start(); thread.join()",
    IN_A_CHILD,
])  # fmt: skip
def test_what_somebody_catches_ends_nothing(site, code):
    assert runs.mpirun(2, [sys.executable, MAIN / "ends.py", code], PYTHONPATH=site) == "good\n" * 2


def test_a_package_without_its_mpi_backend_says_so(site, tmp_path):
    """On record: registerDefaultBackend finds the backend that came with PopDist, or throws."""
    shutil.copytree(site / "popdist", tmp_path / "popdist", ignore=shutil.ignore_patterns("libpopdist_mpi.so"))
    output = python(tmp_path, "import popdist; popdist.init()", expect=1, POPDIST_NUM_TOTAL_REPLICAS="2")
    assert "libpopdist_mpi.so is missing: this PopDist was built without Open MPI; install Open MPI" in output


@pytest.mark.parametrize("options,made,written", [
    (None, True, {"autoReport.all": "true"}),
    ({"allowOutOfMemory": "true"}, True, {"allowOutOfMemory": "true", "autoReport.all": "true"}),
    ({"autoReport.all": "false"}, False, {"autoReport.all": "false"}),
])  # fmt: skip
def test_reports_go_to_a_folder_per_instance(site, tmp_path, options, made, written):
    folder = tmp_path / "reports"
    chosen = {"POPLAR_ENGINE_OPTIONS": json.dumps(options)} if options else {}
    for index in range(2):
        printed = python(
            site, "import os, popdist; print(os.environ['POPLAR_ENGINE_OPTIONS'])", POPDIST_NUM_TOTAL_REPLICAS="2",
            POPDIST_REPLICA_INDEX_OFFSET=str(index), POPDIST_AUTOREPORT_DIRECTORY=str(folder), **chosen,
        )  # fmt: skip
        assert json.loads(printed) == written | {"autoReport.directory": f"{folder}/{index}"}
    assert sorted(os.listdir(folder)) == ["0", "1"] if made else not folder.exists()


@pytest.mark.parametrize("code,says", [
    ("popdist.init(); popdist.finalizeBackend(); popdist.synchronize()", "collective operations require popdist_init() first"),
    ("popdist.registerCommunicator({0}, 'mine')", "choosing instances requires popdist_init() first"),
    ("popdist.finalizeBackend()", "nothing to finalize: no backend is registered"),
    ("popdist.initializeBackend()", "no backend is registered"),
    ("popdist.init(); popdist.initializeBackend()", "the backend is already initialized"),
    ("popdist.init(); popdist.finalizeBackend(); popdist.init()", "cannot be started again in the same process"),
    ("popdist.registerBackend('/nowhere.so')", "/nowhere.so: cannot open shared object file"),
    ("popdist.registerBackend(popdist._popdist.__file__)", "is not a PopDist backend of version 1"),
    ("popdist.init(); popdist.collectives.allReduceSum(b'1234', 'k')", "not writable"),
    ("popdist.init(); popdist.collectives.allReduceSum(7, 'k')", "the data must be a NumPy array"),
    ("popdist.init(); popdist.collectives.allReduceSum(numpy.zeros((4, 4))[:, 1], 'k')", "not C-contiguous"),
    ("popdist.init(); popdist.collectives.allReduceSum(numpy.zeros(4, 'c8'), 'k')", "elements of format 'Zf'"),
    ("popdist.init(); popdist.collectives.broadcast(numpy.zeros(4), 1)", "the root of broadcast"),
    ("popdist.init(); popdist.collectives.broadcast(numpy.zeros(4), 2**32)", "4294967296 is not a number from 0 to"),
    ("popdist.getDeviceId(-1)", "-1 is not a number from 0 to"),
    ("popdist.init(); popdist.registerCommunicator({-1}, 'k')", "-1 is not a number from 0 to"),
    ("popdist.init(); popdist.collectives.allGather(numpy.zeros(4), numpy.zeros(3))", "the input is double[4]"),
    ("popdist.setTimeout(0)", "a positive number of seconds"),
    ("popdist.execute_on_instances({1}, print)", "instances must be from 0 to 0, got [1]"),
])  # fmt: skip
def test_mistakes_are_reported_plainly(site, code, says):
    """On record: a backend is registered, initialised and finalised, each once and in this order. Only init() and
    finalizeBackend() may come again."""
    assert says in python(site, f"import numpy, popdist\n{code}", expect=1)


def test_starting_and_ending_again_does_nothing(site):
    """graphcore/tensorflow tensorflow/python/ipu/distributed/popdist_strategy_test.py: hvd.init(), popdist.init(), and
    PopDistStrategy calls popdist.init() once more. graphcore/popart python/popart/python_files/_popdist_backend_manager.py
    calls it unless isBackendInitialized()."""
    python(site, (
        "import popdist\n"
        "popdist.init(); popdist.init()\n"
        "assert popdist.isBackendInitialized()\n"
        "popdist.finalizeBackend(); popdist.finalizeBackend()\n"
        "assert not popdist.isBackendInitialized()\n"
    ))  # fmt: skip
    # A backend that is registered by hand is the one that init() starts.
    python(site, "import popdist; popdist.registerDefaultBackend(); popdist.init(); popdist.synchronize()")


def test_the_core_module_has_the_same_names(site):
    """balewski/neuron_inverter_benchmark poptorch/toolbox/Trainer.py: popdist.popdist_core.getDeviceId(), imported with
    popdist."""
    code = (
        "import popdist\n"
        "print(popdist.popdist_core.getDeviceId())\n"
        "from popdist.popdist_core import *\n"
        "assert all(globals()[name] is getattr(popdist, name) for name in popdist.__all__)\n"
    )
    assert python(site, code) == "0\n"


@pytest.mark.parametrize("array,says", [
    ("numpy.zeros(4)", "done"),
    ("numpy.frombuffer(bytes(8), 'i4')", "the tensor is not writable"),
    ("numpy.zeros((4, 4))[:, 1]", "the tensor is not contiguous"),
    ("numpy.zeros(4, 'c8')", "elements of DLPack type 5 with 64 bits cannot be exchanged"),
])  # fmt: skip
def test_tensors_are_written_only_where_they_may_be(site, array, says):
    code = (
        "import numpy, popdist\n"
        "class Tensor:\n"
        f"    array = {array}\n"
        "    def __dlpack__(self, *, max_version=None):\n"
        "        return self.array.__dlpack__(max_version=max_version)\n"
        "try:\n"
        "    popdist.collectives.allReduceSum(Tensor(), 'k')\n"
        "    print('done')\n"
        "except (TypeError, ValueError) as problem:\n"
        "    print(problem)\n"
    )
    assert says in python(site, code)


def test_the_default_time_limit_is_30_s(site):
    code = "import popdist; before = popdist.getTimeout(); popdist.setTimeout(2.5); print(before, popdist.getTimeout())"
    assert python(site, code) == "30.0 2.5\n"
    assert python(site, code, POPDIST_COLLECTIVE_TIMEOUT="7") == "7.0 2.5\n"


def test_alone_collectives_need_no_init(site):
    python(site, (
        "import numpy, popdist\n"
        "data, all = numpy.ones(3), numpy.zeros(3)\n"
        "popdist.collectives.allReduceSum(data, 'sum')\n"
        "popdist.collectives.broadcast(data)\n"
        "popdist.collectives.allGather(data, all)\n"
        "popdist.synchronize()\n"
        "assert data.tolist() == all.tolist() == [1, 1, 1]\n"
    ))  # fmt: skip


def test_with_others_collectives_need_init(site):
    """On record: programs of several instances must call init()."""
    output = python(site, "import popdist; popdist.synchronize()", expect=1, POPDIST_NUM_TOTAL_REPLICAS="2")
    assert "collective operations require popdist_init() first: no backend is registered" in output


def test_a_barrier_may_have_a_longer_time_than_the_rest(site):
    """On record: synchronize() waits for all instances."""
    printed = runs.mpirun(2, [sys.executable, MAIN / "late.py"], PYTHONPATH=site, POPDIST_COLLECTIVE_TIMEOUT=1)
    assert printed == "together\n" * 2
