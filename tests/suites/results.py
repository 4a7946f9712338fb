"""What a test program found, read from the JUnit file that it wrote."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

REASON_MAX = 300
FIGURE = "figure: "
GROUP = re.compile(r"@[\w.-]+$")  # pytest-xdist adds it to the names of tests that belong together


@dataclass(frozen=True)
class Failure:
    name: str  # as tests/run takes it
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}" if self.reason else self.name

    @property
    def command(self) -> str:
        """What runs it again, and nothing else."""
        return f"tests/run {shlex.quote(self.name)}"


@dataclass
class Results:
    passed: int = 0
    skipped: int = 0
    failed: list[Failure] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)  # of the passed: they failed first, and passed when they were retried
    seconds: dict[str, float] = field(default_factory=dict)  # by test
    duration_s: float = 0  # of the suite

    def add(self, other: "Results") -> None:
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed
        self.flaky += other.flaky
        self.seconds |= other.seconds

    def retried(self, tests: list[str], again: "Results") -> None:
        """These tests of the failed ones were run again: those that passed count as passed, and as flaky."""
        failed_again = {failure.name for failure in again.failed}
        if again.total and not failed_again - set(tests):
            self.flaky += [test for test in tests if test not in failed_again]
            self.passed += len(tests) - len(failed_again)
            self.failed = [failure for failure in self.failed if failure.name not in tests or failure.name in failed_again]

    @property
    def total(self) -> int:
        return self.passed + self.skipped + len(self.failed)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        flaky = f", {len(self.flaky)} of them only on retry" if self.flaky else ""
        return f"{self.passed} passed{flaky}, {len(self.failed)} failed{skipped}"


def figures(log: Path) -> list[str]:
    """What tests have measured and want to be read by people: what follows "figure: " in a line of the log."""
    with log.open(errors="replace") as lines:
        return [line.partition(FIGURE)[2].strip() for line in lines if FIGURE in line]


class Unreadable(Exception):
    """The file says nothing of use; the text says why."""


def read_junit(path: Path, suite: str = "") -> Results:
    """With the suite's name before those of compiled tests: the same ones run in several suites."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise Unreadable(f"{path.name} with the results cannot be read: {error}") from error
    found = Results()
    # A test that passed and whose teardown failed is listed twice; it failed.
    cases: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for case in root.iter("testcase"):
        name = _name(case, suite)
        cases[name] = max(cases.get(name, ""), _outcome(case), key=["", "passed", "skipped", "failed"].index)
        reasons[name] = reasons.get(name) or _reason(case)
        found.seconds[name] = found.seconds.get(name, 0) + float(case.get("time") or 0)
    for name, outcome in cases.items():
        if outcome == "failed":
            found.failed.append(Failure(name, reasons[name]))
        else:
            setattr(found, outcome, getattr(found, outcome) + 1)
    return found


def _reason(case: ElementTree.Element) -> str:
    """The first line of what the test program says of it."""
    for kind in ("failure", "error"):
        reported = case.find(kind)
        if reported is not None:
            return next(iter(reported.get("message", "").splitlines()), "")[:REASON_MAX]
    return ""


def _name(case: ElementTree.Element, suite: str) -> str:
    """As tests/run takes it. pytest writes the file of a test, but not of a module that it cannot import; ctest does not."""
    name, file = case.get("name", ""), case.get("file", "")
    if file:
        inner = case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
        return "::".join(filter(None, [file, inner, GROUP.sub("", name)]))
    if name.startswith("tests."):
        return f"{name.replace('.', '/')}.py"
    return f"{suite}:{name}" if suite else name


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    # ctest calls a test whose program is missing "notrun": a failure here.
    if case.get("status") == "notrun":
        return "failed"
    return "skipped" if case.find("skipped") is not None or case.get("status") == "disabled" else "passed"
