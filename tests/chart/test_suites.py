"""Which suites tests/run chooses."""

import re
import shlex
import subprocess
import sys

import pytest

from conftest import ROOT
from pages import blocks_at, pages_of

sys.path.append(str(ROOT / "tests"))

from suites import command  # noqa: E402
from suites.results import read_junit  # noqa: E402
from suites.runner import AGAIN, Results  # noqa: E402
from suites.table import SUITES  # noqa: E402


@pytest.fixture
def chosen(monkeypatch):
    """The names of the suites that a command line would run."""
    ran = []
    monkeypatch.setattr(command, "_install", lambda: None)
    monkeypatch.setattr(command.Runner, "suites", lambda _, suites: ran.extend(suite.name for suite in suites) or {"": Results(passed=1)})

    def of(*words):
        ran.clear()
        assert command.main(list(words)) == 0
        return ran

    return of


def test_without_a_name_all_lanes_run_that_need_none(chosen):
    assert chosen() == [suite.name for suite in SUITES if not suite.on_demand]
    assert set(chosen()) < {suite.name for suite in SUITES}


def test_a_lane_that_is_named_runs(chosen):
    for suite in SUITES:
        assert chosen(suite.name) == [suite.name]
    assert chosen("unit", "interop", "arch") == ["arch", "unit", "interop"], "in the order of the table"


def test_the_list_tells_which_run_only_when_named():
    done = subprocess.run([ROOT / "tests" / "run", "--list"], check=True, capture_output=True, text=True, timeout=300)
    told = done.stdout.splitlines()
    assert [line.split()[0] for line in told] == [suite.name for suite in SUITES]
    assert {line.split()[0] for line in told if line.endswith("(only when named)")} == {suite.name for suite in SUITES if suite.on_demand}


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
    return [shlex.split(line, comments=True) for page in pages_of("suites") for block in blocks_at(page, "suites") if block.place
            for line in block.script.splitlines()]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_that_builds_and_tests_knows_its_words(words):
    asked = [ASKED[words[0]]] if words[0] in ASKED else []
    done = subprocess.run([*words, *asked], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # cmake lists presets whatever it is told.
    assert words[0] != "cmake" or re.search(rf'^ *"{words[-1]}"', done.stdout, re.MULTILINE), done.stdout
