"""What tests/run chooses, and what it reports."""

import re
import shlex
import subprocess
import sys

import pytest

from conftest import ROOT
from pages import blocks_at, pages_of

sys.path.append(str(ROOT / "tests"))

from suites import command  # noqa: E402
from suites.results import Failure, Results, read_junit  # noqa: E402
from suites.runner import RETRIED_MAX, Runner  # noqa: E402
from suites.selection import Chosen, Unknown, choose  # noqa: E402
from suites.table import SUITES  # noqa: E402


@pytest.fixture
def chosen(monkeypatch):
    """The names of the suites that a command line would run."""
    ran = []
    monkeypatch.setattr(command, "_install", lambda: None)
    monkeypatch.setattr(command.Runner, "run", lambda _, chosen: ran.extend(one.suite.name for one in chosen) or {"": Results(passed=1)})

    def of(*words):
        ran.clear()
        assert command.main(list(words)) == 0
        return ran

    return of


def test_without_a_name_all_lanes_run_that_need_none(chosen):
    assert chosen() == [suite.name for suite in SUITES if not suite.on_demand]
    assert set(chosen()) < {suite.name for suite in SUITES}


def test_a_named_suite_runs(chosen):
    for suite in SUITES:
        assert chosen(suite.name) == [suite.name]
    assert chosen("unit", "interop", "arch") == ["arch", "unit", "interop"], "in the order of the table"


def test_the_list_shows_which_run_on_demand():
    done = subprocess.run([ROOT / "tests" / "run", "--list"], check=True, capture_output=True, text=True, timeout=300)
    output = done.stdout.splitlines()
    assert [line.split()[0] for line in output] == [suite.name for suite in SUITES]
    assert {line.split()[0] for line in output if line.endswith("(on demand)")} == {suite.name for suite in SUITES if suite.on_demand}


TRIED = """
import pytest


def test_steady():
    pass


@pytest.mark.parametrize("of", ["one word", "two::words"])
def test_named(of):
    pass


def test_broken():
    raise AssertionError("always")


class TestGrouped:
    @pytest.mark.xdist_group("together")
    def test_inner(self):
        pass
"""


@pytest.mark.parametrize("processes", [(), ("-n", "2", "--dist", "loadgroup")], ids=["one process", "two processes"])
def test_tests_are_named_as_the_command_line_takes_them(tmp_path, processes):
    (tmp_path / "test_tried.py").write_text(TRIED)
    subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml=found.xml", "-o", "junit_family=xunit1",
                    *processes, "test_tried.py"], cwd=tmp_path, check=False, capture_output=True, timeout=300)
    found = read_junit(tmp_path / "found.xml")
    assert [str(failure) for failure in found.failed] == ["test_tried.py::test_broken: AssertionError: always"]
    assert found.failed[0].command == "tests/run test_tried.py::test_broken"
    assert str(found) == "4 passed, 1 failed"
    assert set(found.seconds) == {f"test_tried.py::{name}" for name in (
        "test_steady", "test_named[one word]", "test_named[two::words]", "test_broken", "TestGrouped::test_inner")}


def test_what_belongs_together_runs_in_one_process(tmp_path):
    """pytest-xdist 3.8 knows no groups with pytest 9.2."""
    (tmp_path / "test_together.py").write_text("""
import os, pathlib, pytest


@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(8))
def test_one_of_many(number):
    pathlib.Path(f"process-{os.getpid()}").touch()
""")
    subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadgroup", "test_together.py"],
                   cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert len(list(tmp_path.glob("process-*"))) == 1


SLOW, BROKEN = "tests/vipu/test_x.py::test_slow", "tests/component/test_x.py::test_broken"


@pytest.fixture
def runner(monkeypatch):
    """A runner whose suites find what is planned for them: a list of results each, one for each time that it runs."""
    planned, ran = {}, []

    def suite(_, chosen, log=""):
        ran.append((chosen.suite.name + log, sorted(name for names in chosen.names.values() for name in names)))
        return planned[chosen.suite.name].pop(0) if chosen.suite.name in planned else Results(passed=1)

    monkeypatch.setattr(Runner, "_suite", suite)
    monkeypatch.setattr("suites.runner.choose", lambda words: [Chosen(suite, {suite.parts[0]: words}) for suite in SUITES])
    runner = Runner(None)
    runner.planned, runner.ran = planned, ran
    return runner


def failing(*names, passed=0):
    return Results(passed=passed, failed=[Failure(name, "too late") for name in names])


def test_what_fails_on_a_busy_machine_is_retried_at_the_end(runner):
    runner.planned |= {"vipu": [failing(SLOW, passed=3), Results(passed=1)], "component": [failing(BROKEN), failing(BROKEN)]}
    found = runner.run(choose([]))
    assert {name: names for name, names in runner.ran[-2:]} == {"vipu-retry": [SLOW], "component-retry": [BROKEN]}
    assert (str(found["vipu"]), found["vipu"].flaky) == ("4 passed, 1 of them only on retry, 0 failed", [SLOW])
    assert str(found["component"]) == "0 passed, 1 failed"


@pytest.mark.parametrize("suite, found", [
    ("component", [f"{BROKEN}[{i}]" for i in range(RETRIED_MAX + 1)]), ("unit", ["unit:unit.base.core.test_str"]), ("component", ["component"]),
], ids=["many", "a test without a clock", "a suite that did not end"])
def test_what_has_nothing_to_do_with_time_is_not_retried(runner, suite, found):
    runner.planned[suite] = [failing(*found)]
    assert len(runner.run(choose([]))[suite].failed) == len(found)
    assert len(runner.ran) == len(choose([]))


def test_a_retry_that_runs_nothing_or_fails_elsewhere_proves_nothing(runner):
    runner.planned |= {"vipu": [failing(SLOW), Results()], "component": [failing(BROKEN), failing("component", passed=1)]}
    found = runner.run(choose([]))
    assert [len(found[name].failed) for name in ("vipu", "component")] == [1, 1]


def test_a_compiled_test_is_named_with_its_suite(tmp_path):
    (tmp_path / "found.xml").write_text('<testsuite><testcase name="unit.base.test_str" classname="unit.base.test_str" time="2.5" '
                                        'status="fail"><failure message="Failed"/></testcase></testsuite>')
    found = read_junit(tmp_path / "found.xml", "asan")
    assert [failure.command for failure in found.failed] == ["tests/run asan:unit.base.test_str"]
    assert found.seconds == {"asan:unit.base.test_str": 2.5}


def named(*words):
    """What these words choose: suite -> paths or names of tests, all of the suite if there are none."""
    return {one.suite.name: sorted(name for names in one.names.values() for name in names) for one in choose(list(words))}


@pytest.mark.parametrize("words, chosen", [
    (["tests/vipu/server/test_config.py"], {"vipu": ["tests/vipu/server/test_config.py"]}),
    (["tests/component/kube/test_lease.py::test_a"], {"component": ["tests/component/kube/test_lease.py::test_a"]}),
    (["tests/component/kube/"], {"component": ["tests/component/kube"]}),
    (["tests/vipu/test_static.py"], {"vipu": ["tests/vipu/test_static.py"] * 2}),
    (["unit.base.core.test_str"], {"unit": ["unit.base.core.test_str"]}),
    (["asan:fuzz.fuzz_lines", "sim.quota"], {"asan": ["fuzz.fuzz_lines"], "sim": ["sim.quota"]}),
    (["tests/vipu/server/test_config.py", "tests/vipu/server/test_lifecycle.py"], {"vipu": ["tests/vipu/server/test_config.py", "tests/vipu/server/test_lifecycle.py"]}),
    (["tests/vipu/server/test_config.py", "vipu"], {"vipu": []}),
    (["vipu", "tests/vipu/server/test_config.py"], {"vipu": []}),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_file_a_test_or_a_compiled_test_can_be_named(words, chosen):
    assert named(*words) == chosen


@pytest.mark.parametrize("word", ["uint", "tests/vipu/test_missing.py", "docs/jobs.md", "vipu:x", "none.such"])
def test_an_unknown_name_is_rejected_with_what_there_is(word, capsys):
    with pytest.raises(Unknown, match=f"'{word}', expected"):
        choose([word])
    assert command.main([word]) == 2
    assert capsys.readouterr().err.startswith("tests/run: unknown suite or test" if "/" not in word else "tests/run: no tests at")


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
