"""Which lanes tests/run chooses."""

import re
import shlex
import subprocess
import sys

import pytest

from conftest import ROOT
from pages import blocks_at, pages_of

sys.path.append(str(ROOT / "tests"))

from lanes import command  # noqa: E402
from lanes.results import read_junit  # noqa: E402
from lanes.runner import AGAIN, Results  # noqa: E402
from lanes.table import LANES  # noqa: E402


@pytest.fixture
def chosen(monkeypatch):
    """The names of the lanes that a command line would run."""
    ran = []
    monkeypatch.setattr(command, "_install", lambda: None)
    monkeypatch.setattr(command.Runner, "lanes", lambda _, lanes: ran.extend(lane.name for lane in lanes) or {"": Results(passed=1)})

    def of(*words):
        ran.clear()
        assert command.main(list(words)) == 0
        return ran

    return of


def test_without_a_name_all_lanes_run_that_need_none(chosen):
    assert chosen() == [lane.name for lane in LANES if not lane.on_demand]
    assert set(chosen()) < {lane.name for lane in LANES}


def test_a_lane_that_is_named_runs(chosen):
    for lane in LANES:
        assert chosen(lane.name) == [lane.name]
    assert chosen("unit", "others", "arch") == ["arch", "unit", "others"], "in the order of the table"


def test_the_list_tells_which_run_only_when_named():
    done = subprocess.run([ROOT / "tests" / "run", "--list"], check=True, capture_output=True, text=True, timeout=300)
    told = done.stdout.splitlines()
    assert [line.split()[0] for line in told] == [lane.name for lane in LANES]
    assert {line.split()[0] for line in told if line.endswith("(only when named)")} == {lane.name for lane in LANES if lane.on_demand}


TRIED = """
import pathlib

import pytest

seen = pathlib.Path(__file__).with_suffix(".seen")


def test_steady():
    pass


@pytest.mark.parametrize("of", ["one word", "two::words"])
def test_unsteady(of):
    was_there = seen.exists()
    seen.touch()
    assert was_there


def test_broken():
    raise AssertionError("always")
"""


def test_what_passes_only_when_it_is_run_again_is_told(tmp_path):
    (tmp_path / "test_tried.py").write_text(TRIED)
    subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml=found.xml", *AGAIN, "test_tried.py"],
                   cwd=tmp_path, check=False, capture_output=True, timeout=300)
    found = read_junit(tmp_path / "found.xml")
    assert found.unsteady == ["test_tried::test_unsteady[one word]"]
    assert [str(failure) for failure in found.failed] == ["test_tried::test_broken: AssertionError: always"]
    assert str(found) == "3 passed, 1 of them only when run again, 1 failed"


# What a program is asked by whom its words are judged, while nothing is done. What is not here does little, and is done.
ASKED = {"tests/run": "--list", "tests/bench": "--help", "cmake": "--list-presets"}


def commands():
    """Of the pages that tell how to build, test and measure."""
    return [shlex.split(line, comments=True) for page in pages_of("lanes") for block in blocks_at(page, "lanes") if block.place
            for line in block.script.splitlines()]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_that_builds_and_tests_knows_its_words(words):
    asked = [ASKED[words[0]]] if words[0] in ASKED else []
    done = subprocess.run([*words, *asked], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # cmake lists presets whatever it is told.
    assert words[0] != "cmake" or re.search(rf'^ *"{words[-1]}"', done.stdout, re.MULTILINE), done.stdout
