"""Which lanes tests/run chooses."""

import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "tests"))

from lanes import command  # noqa: E402
from lanes.runner import Results  # noqa: E402
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
    told = subprocess.run([ROOT / "tests" / "run", "--list"], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert [line.split()[0] for line in told] == [lane.name for lane in LANES]
    assert {line.split()[0] for line in told if line.endswith("(only when named)")} == {lane.name for lane in LANES if lane.on_demand}
