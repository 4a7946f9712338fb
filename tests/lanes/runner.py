"""Runs one lane: builds what it needs, then its suites, and says what they found."""

import os
import time
from pathlib import Path

import steps

from .results import Failure, Results, Unreadable, read_junit
from .table import Compile, Ctest, Lane, Pytest

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
BUILD_LIMIT_S = 30 * 60
SUITE_LIMIT_S = 45 * 60
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


class Runner:
    def __init__(self, python: Path):
        self._python = python
        self._built: dict[str, bool] = {}

    def lane(self, lane: Lane) -> Results:
        found = Results()
        begun = time.monotonic()
        print(f"== {lane.name}: {lane.about} (usually {lane.minutes} min)", flush=True)
        for number, suite in enumerate(lane.suites):
            found.add(self._suite(suite, f"{lane.name}-{number + 1}"))
        print(f"   {found} in {steps.spent(begun)}", flush=True)
        return found

    def _suite(self, suite: Compile | Ctest | Pytest, name: str) -> Results:
        for preset in suite.presets:
            if not self._build(preset):
                return Results(failed=[Failure(f"build of preset {preset}")])
        if isinstance(suite, Compile):
            return Results(passed=1)
        return self._tests(suite, name)

    def _build(self, preset: str) -> bool:
        if preset not in self._built:
            self._built[preset] = all(self._must(title, command, LOGS / f"{verb}-{preset}.log") for verb, title, command in [
                ("configure", f"configuring {preset} (usually 5 s)", ["cmake", "--preset", preset]),
                ("build", f"building {preset} (usually 1 min)", ["cmake", "--build", "--preset", preset, "-j", cores()]),
            ])
        return self._built[preset]

    def _must(self, title: str, command: list[str], log: Path) -> bool:
        print(f"   {title}", flush=True)
        if steps.run(command, log, BUILD_LIMIT_S) == 0:
            return True
        steps.show_end(log, 30)
        return False

    def _tests(self, suite: Ctest | Pytest, name: str) -> Results:
        log, junit = LOGS / f"{name}.log", LOGS / f"{name}.xml"
        junit.unlink(missing_ok=True)
        command = self._command(suite, junit)
        print(f"   testing; {log.relative_to(ROOT)} tells more", flush=True)
        status = steps.run(command, log, SUITE_LIMIT_S, environment=environment(suite))
        try:
            found = read_junit(junit)
        except Unreadable as problem:
            found = Results(failed=[Failure(name, str(problem))])
        if status and not found.failed:
            found.failed.append(Failure(name, f"{command[0]} ended with status {status}"))
        if not found.total:
            found.failed.append(Failure(name, "there is not one test"))
        if found.failed:
            steps.show_end(log, 60)
        return found

    def _command(self, suite: Ctest | Pytest, junit: Path) -> list[str]:
        if isinstance(suite, Ctest):
            return ["ctest", "--test-dir", f"build/{suite.preset}", "--label-regex", f"^{suite.label}$",
                    "--no-tests=error", "--output-on-failure", "--parallel", cores(), "--output-junit", str(junit)]
        return [str(self._python), "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junit-xml={junit}",
                "--durations=10", *(f"tests/{path}" for path in suite.paths)]


def environment(suite: Ctest | Pytest) -> dict[str, str]:
    chosen = {"PYTHONDONTWRITEBYTECODE": "1"}
    if suite.presets:
        chosen["BUILD_DIR"] = f"build/{suite.presets[0]}"
    return chosen | (SANITIZERS if "asan" in suite.presets else {})


def cores() -> str:
    return str(len(os.sched_getaffinity(0)))
