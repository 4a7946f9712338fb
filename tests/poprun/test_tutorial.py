"""A public tutorial as written, on a host with a V-IPU controller. What it shows stands in tests/lib/tutorial.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import DEADLINE_S, program
from tutorial import HELLO_OF_RANK, HELLO_WORDS, HELLO_WORLD, NOT_INVOKED, by_rank

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environment(packages, monkeypatch):
    """What the user has set, in the folder of the examples."""
    monkeypatch.chdir(ROOT / "deploy" / "examples")
    return {"PYTHONPATH": str(packages), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def tutorial(site, environment):
    """What poprun prints with a partition of 16 IPUs."""
    site.vipu("create", "partition", "tutorial", "--size", "16", "--reconfigurable")
    return lambda *words: site(*words, environment=environment)[0]


def test_a_minimal_example(tutorial):
    assert tutorial("echo", HELLO_WORLD) == "[1,0]<stdout>:Hello World\n"


def test_a_command_over_multiple_instances(tutorial):
    printed = tutorial("--num-replicas", "8", "--num-instances", "4", "echo", HELLO_WORLD)
    assert sorted(printed.splitlines()) == [f"[1,{rank}]<stdout>:Hello World" for rank in range(4)]


def test_popdist_without_poprun(poprun, environment):
    ran = subprocess.run(["python", "hello_poprun.py"], env=poprun.environment(**environment), capture_output=True, text=True,
                         timeout=DEADLINE_S)
    assert (ran.stdout, ran.stderr) == (NOT_INVOKED, "")


def test_popdist_with_poprun(tutorial):
    assert by_rank(tutorial(*HELLO_WORDS, "python", "hello_poprun.py")) == HELLO_OF_RANK


def test_the_chips_of_the_devices_it_names(tutorial, site):
    """Device 24 + n has the n-th four IPUs."""
    job = {"IPUOF_VIPU_API_HOST": "127.0.0.1", "IPUOF_VIPU_API_PORT": str(site.server.port)}

    def chips(device):
        ran = subprocess.run([program("gc-info", "vipu"), "-d", str(device), "--chip-id"], env=site.poprun.environment(**job),
                             capture_output=True, text=True, timeout=DEADLINE_S)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()

    assert [chip for device in range(24, 28) for chip in chips(device)] == chips(30)
