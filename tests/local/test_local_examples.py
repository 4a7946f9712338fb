"""Every file of deploy/examples runs, or is rejected with the reason."""

import os
import re
import shutil
import signal
import sys

import pytest
from conftest import BUILD, ROOT
from packages import install, wheel_of

sys.path.append(str(ROOT / "deploy" / "local"))

from quickstart import local_run  # noqa: E402

EXAMPLES = ROOT / "deploy" / "examples"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the examples' image has at /examples, and PopDist for the Python that runs the tests."""
    local_run.prepare(BUILD)
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(local_run.FILES, folder, dirs_exist_ok=True)
    return folder, install(wheel_of(ROOT / "popdist", tmp_path_factory.mktemp("wheel")), tmp_path_factory.mktemp("site"))


@pytest.fixture
def example(run, files):
    folder, site = files

    def start(name, *options):
        environment = os.environ | {"PYTHONPATH": str(site), "PYTHONUNBUFFERED": "1",
                                    "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        return run.start((EXAMPLES / f"{name}.yaml").read_text(), options=["--bind", f"{folder}:/examples", *options], env=environment)

    return start


@pytest.mark.parametrize("name, lines, ending", [
    ("digits", [r"\[0\.0\] epoch 12/12 .*", r"\[0\.0\] done: accuracy 9\d\.\d% on the test images"], "All instances done"),
    ("digits-distributed", [r"\[0\.0\] .*4 instances.*", r"\[0\.0\] .*done: accuracy 9\d\.\d% .*"], "All instances done"),
    ("digits-pods", [r"\[0\.launcher\] .*4 instances.*", r"\[0\.launcher\] .*done: accuracy 9\d\.\d% .*"], "All instances done"),
    ("mpi", [r"\[0\.launcher\] .*4.*"], "All instances done"),
    ("poprun", [r"\[0\.launcher\] .*"], "All instances done"),
    ("restart", [r"\[0\.0\] start 0", r"\[0\.0\] start 1", r"\[0\.0\] done"], "All instances done"),
])
def test_an_example_completes(run, example, name, lines, ending):
    done = run.finish(example(name))
    assert done.code == 0, done.out + done.err
    for line in lines:
        assert re.search(f"^{line}$", done.out, re.MULTILINE), (line, done.out)
    assert done.out.rstrip().endswith(ending)


def test_a_suspended_example_runs_when_it_is_resumed(run, example):
    done = run.finish(example("suspended", "--set", "spec.suspend=false"))
    assert done.code == 0 and "[0.0] on p-later-default-0" in done.lines
    waiting = run.finish(example("suspended"))
    assert waiting.code == 2 and "--set spec.suspend=false" in waiting.err


def test_an_interactive_example_waits_for_its_user(run, example, prints):
    process = example("interactive")
    prints(process, "Running")
    process.send_signal(signal.SIGINT)
    assert run.finish(process).code == 130


def test_the_inference_example_runs_one_instance(run, example, prints):
    rejected = run.finish(example("inference"))
    assert rejected.code == 2
    assert "several pods would use the same port of this machine; run one pod, with --set spec.jobInstances=1" in rejected.err
    process = example("inference", "--set", "spec.jobInstances=1")
    prints(process, "Running")
    assert "Service inference" in process.errors.read_text()
    process.send_signal(signal.SIGINT)
    assert run.finish(process).code == 130


def test_all_of_them_are_here():
    tested = {"digits", "digits-distributed", "digits-pods", "mpi", "poprun", "restart", "suspended", "interactive", "inference"}
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == tested
