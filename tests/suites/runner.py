"""Runs suites, those of several groups side by side: builds what each needs, then its parts, and says what they found."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import long_command

from .results import Failure, Results, Unreadable, figures, read_junit
from .table import Compile, Ctest, Suite, Pytest

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
BUILD_LIMIT_S = 30 * 60
PART_LIMIT_S = 70 * 60
# Two tests of a part of a suite: what fails more of them is no matter of time.
AGAIN = ("--reruns=1", "--max-suite-reruns=2", "--rerun-show-tracebacks")
TEST_LIMIT_S = 30 * 60  # a hanging test is named; a first one may build Kubernetes
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


class Runner:
    def __init__(self, python: Path):
        self._python = python
        self._built: dict[str, bool] = {}
        self._building = threading.Lock()
        self._stop = threading.Event()

    def suites(self, suites: list[Suite]) -> dict[str, Results]:
        """What each suite found, in the order of the suites."""
        found: dict[str, Results] = {}
        alone, *together = groups(suites)
        for side_by_side in ([alone], together):
            found |= self._side_by_side(side_by_side)
        return {suite.name: found[suite.name] for suite in suites}

    def _side_by_side(self, chosen: list[list[Suite]]) -> dict[str, Results]:
        found: dict[str, Results] = {}
        with ThreadPoolExecutor(max(1, len(chosen))) as pool:
            running = [pool.submit(self._group, group) for group in chosen]
            try:
                for group in running:
                    found |= group.result()
            except BaseException:
                # An interrupt, most of all: the other groups end what they started.
                self._stop.set()
                raise
        return found

    def _group(self, group: list[Suite]) -> dict[str, Results]:
        return {suite.name: self._suite(suite) for suite in group}

    def _suite(self, suite: Suite) -> Results:
        found = Results()
        begun = time.monotonic()
        print(f"== {suite.name}: {suite.about} (usually {suite.minutes} min)", flush=True)
        for number, part in enumerate(suite.parts):
            found.add(self._part(part, suite, f"{suite.name}-{number + 1}"))
        print(f"{indent(suite)}{found} in {long_command.format_duration(begun)}", flush=True)
        return found

    def _part(self, part: Compile | Ctest | Pytest, suite: Suite, name: str) -> Results:
        for preset in part.presets:
            if not self._build(preset, suite):
                return Results(failed=[Failure(f"build of preset {preset}")])
        if isinstance(part, Compile):
            return Results(passed=1)
        return self._tests(part, suite, name)

    def _build(self, preset: str, suite: Suite) -> bool:
        with self._building:
            if preset not in self._built:
                self._built[preset] = all(self._must(suite, title, command, LOGS / f"{verb}-{preset}.log") for verb, title, command in [
                    ("configure", f"configuring {preset} (usually 5 s)", ["cmake", "--preset", preset]),
                    ("build", f"building {preset} (usually 1 min)", ["cmake", "--build", "--preset", preset, "-j", cores()]),
                ])
            return self._built[preset]

    def _must(self, suite: Suite, title: str, command: list[str], log: Path) -> bool:
        print(f"{indent(suite)}{title}", flush=True)
        if self._step(suite, command, log, BUILD_LIMIT_S) == 0:
            return True
        long_command.show_end(log, 30, indent(suite))
        return False

    def _step(self, suite: Suite, command: list[str], log: Path, limit_s: float, **options) -> int:
        return long_command.run(command, log, limit_s, indent=indent(suite), stop=self._stop, **options)

    def _tests(self, part: Ctest | Pytest, suite: Suite, name: str) -> Results:
        log, junit = LOGS / f"{name}.log", LOGS / f"{name}.xml"
        junit.unlink(missing_ok=True)
        command = self._command(part, suite, junit)
        print(f"{indent(suite)}testing; {log.relative_to(ROOT)} tells more", flush=True)
        status = self._step(suite, command, log, PART_LIMIT_S, environment=environment(part))
        try:
            found = read_junit(junit)
        except Unreadable as problem:
            found = Results(failed=[Failure(name, str(problem))])
        if status and not found.failed:
            found.failed.append(Failure(name, f"{command[0]} ended with status {status}"))
        if not found.total:
            found.failed.append(Failure(name, "there is not one test"))
        for figure in figures(log):
            print(f"{indent(suite)}{figure}", flush=True)
        if found.failed or found.unsteady:
            long_command.show_end(log, 60, indent(suite))
        return found

    def _command(self, part: Ctest | Pytest, suite: Suite, junit: Path) -> list[str]:
        if isinstance(part, Ctest):
            return ["ctest", "--test-dir", f"build/{part.preset}", "--label-regex", f"^{part.label}$",
                    "--no-tests=error", "--output-on-failure", "--parallel", cores(), "--output-junit", str(junit)]
        return [str(self._python), "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junit-xml={junit}",
                f"--timeout={TEST_LIMIT_S}", "--durations=10", *(AGAIN if suite.group else ()),
                *(f"tests/{path}" for path in part.paths)]


def groups(suites: list[Suite]) -> list[list[Suite]]:
    """The suites that want the machine for themselves, then those of each group."""
    names = dict.fromkeys(["", *(suite.group for suite in suites)])
    return [[suite for suite in suites if suite.group == name] for name in names]


def indent(suite: Suite) -> str:
    """What a line begins with that may stand among those of other suites."""
    return f"   {suite.name}: "


def environment(part: Ctest | Pytest) -> dict[str, str]:
    chosen = {"PYTHONDONTWRITEBYTECODE": "1"}
    if part.presets:
        chosen["BUILD_DIR"] = f"build/{part.presets[0]}"
    return chosen | (SANITIZERS if "asan" in part.presets else {})


def cores() -> str:
    return str(len(os.sched_getaffinity(0)))
