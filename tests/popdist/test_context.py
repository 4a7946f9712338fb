"""What the C++ headers tell a program of its place, and how it runs its engine."""

import subprocess

import pytest

import runs


@pytest.fixture(scope="module")
def context(compiled):
    return compiled("context.cpp", "g++", "-std=c++11")


def output(context, what, **variables):
    return subprocess.run([context, what], env=runs.clean_environment(**variables), capture_output=True, text=True,
                          check=True, timeout=runs.DEADLINE_S).stdout  # fmt: skip


def test_a_program_alone_has_the_defaults(context):
    """On record: programs call popdist::getDeviceId(ipus_per_replica); defaultCommunicatorId names the communicator of
    all instances; the headers are popdist/backend.hpp, popdist/collectives.hpp and popdist/context.hpp; getNumInstances
    and getDeviceId are as in Python; allReduceSum(data, n, type, id) sums in place, and the id may be left out."""
    assert output(context, "queries") == "0 1 1 1 0 1 0 0 0 1 popdist.default\n"


def test_engine_options_get_the_report_directory(context, tmp_path):
    """On record: popdist::setEngineOptions writes autoReport.directory into poplar::OptionFlags."""
    assert output(context, "options") == "nothing\n"
    folder = tmp_path / "reports"
    assert output(context, "options", POPDIST_AUTOREPORT_DIRECTORY=str(folder)) == f"{folder}/0 true\n"
    assert [path.name for path in folder.iterdir()] == ["0"]


def test_run_waits_for_the_other_processes_by_default(context):
    """The second instance never comes to run: its next step is a barrier, which the first has not reached yet.
    On record: POPDIST_RUN_DISABLE_SYNC=1 makes run wait for nobody; run(engine, program, name) waits for all instances,
    then runs; the name may be left out; a host sync timeout ends programs whose instances come to run at different
    times."""
    printed = runs.mpirun(2, [context, "run"], POPDIST_RUN_DISABLE_SYNC=1)
    assert printed == "ran 7 \n"
    done = subprocess.run(runs.mpirun_words(2, [context, "run"], POPDIST_COLLECTIVE_TIMEOUT=2), env=runs.clean_environment(),
                          capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S)  # fmt: skip
    assert done.returncode != 0 and "ran" not in done.stdout
    assert "did not join within 2 s" in done.stderr
