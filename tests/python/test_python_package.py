"""The package as it is installed: types, versions of Python, what it imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from packages import install, wheel_of


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder for PYTHONPATH in which the wheel is installed."""
    wheel = wheel_of(ROOT / "python", tmp_path_factory.mktemp("wheel"))
    assert wheel.name == "ipu_jobs-0.1.0-py3-none-any.whl"
    return install(wheel, tmp_path_factory.mktemp("site"))


def run(site, *words, cwd=None):
    done = subprocess.run([sys.executable, *words], env={**os.environ, "PYTHONPATH": str(site), "MYPYPATH": str(site)}, cwd=cwd,
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_type_hints_are_complete(site, tmp_path):
    (tmp_path / "user.py").write_text(
        "import pathlib\n"
        "import ipu_jobs\n"
        "def train(lr: float) -> None: ...\n"
        "job: ipu_jobs.Job = ipu_jobs.submit(train, lr=0.1, image='i', ipus=4)\n"
        "ipu_jobs.submit(pathlib.Path('train.py'), '--lr', '1', image='i', spec={'suspend': True})\n"
        "with ipu_jobs.Cluster(context='c'):\n"
        "    lines: list[str] = list(ipu_jobs.apply('job.yaml').logs(follow=True))\n"
        "name: str = ipu_jobs.jobs()[0].wait('Running').name\n"
    )  # fmt: skip
    run(site, "-m", "mypy", "--strict", "-p", "ipu_jobs", cwd=tmp_path)
    run(site, "-m", "mypy", "--strict", "user.py", cwd=tmp_path)


def test_it_needs_no_newer_python_than_3_8():
    done = subprocess.run([Path(sys.executable).with_name("vermin"), "--eval-annotations", "--violations", "-t=3.8-", ROOT / "python"],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kubernetes_is_imported_at_the_first_request(site, tmp_path):
    assert run(site, "-c", "import sys, ipu_jobs; ipu_jobs.Cluster(); print('kubernetes' in sys.modules, 'yaml' in sys.modules)",
               cwd=tmp_path) == "False False\n"  # fmt: skip
