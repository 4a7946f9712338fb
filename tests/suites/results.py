"""What a test program found, read from the JUnit file that it wrote."""

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

REASON_MAX = 300
FIGURE = "figure: "


@dataclass(frozen=True)
class Failure:
    name: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}" if self.reason else self.name


@dataclass
class Results:
    passed: int = 0
    skipped: int = 0
    failed: list[Failure] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)  # of the passed: they failed, and did not when they were run again

    def add(self, other: "Results") -> None:
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed
        self.unsteady += other.unsteady

    @property
    def total(self) -> int:
        return self.passed + self.skipped + len(self.failed)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        unsteady = f", {len(self.unsteady)} of them only when run again" if self.unsteady else ""
        return f"{self.passed} passed{unsteady}, {len(self.failed)} failed{skipped}"


def figures(log: Path) -> list[str]:
    """What tests have measured and want to be read by people: what follows "figure: " in a line of the log."""
    with log.open(errors="replace") as lines:
        return [line.partition(FIGURE)[2].strip() for line in lines if FIGURE in line]


class Unreadable(Exception):
    """The file says nothing of use; the text says why."""


def read_junit(path: Path) -> Results:
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise Unreadable(f"{path.name} with the results cannot be read: {error}") from error
    found = Results()
    # A test that passed and whose teardown failed stands there twice; it failed. So does one that was run again: as what it was
    # in the end, and as nothing that failed before.
    cases: dict[str, str] = {}
    reasons: dict[str, str] = {}
    twice: set[str] = set()
    for case in root.iter("testcase"):
        name = _name(case)
        if name in cases:
            twice.add(name)
        cases[name] = max(cases.get(name, ""), _outcome(case), key=["", "passed", "skipped", "failed"].index)
        reasons[name] = reasons.get(name) or _reason(case)
    for name, outcome in cases.items():
        if outcome == "failed":
            found.failed.append(Failure(name, reasons[name]))
        else:
            setattr(found, outcome, getattr(found, outcome) + 1)
            found.unsteady += [name] if name in twice else []
    return found


def _reason(case: ElementTree.Element) -> str:
    """The first line of what the test program says of it."""
    for kind in ("failure", "error"):
        told = case.find(kind)
        if told is not None:
            return next(iter(told.get("message", "").splitlines()), "")[:REASON_MAX]
    return ""


def _name(case: ElementTree.Element) -> str:
    name, group = case.get("name", ""), case.get("classname", "")
    return name if group in ("", name) else f"{group}::{name}"


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    # ctest calls a test whose program is missing "notrun": that is no reason to be content.
    if case.get("status") == "notrun":
        return "failed"
    return "skipped" if case.find("skipped") is not None or case.get("status") == "disabled" else "passed"
