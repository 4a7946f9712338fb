"""Runs suites, those of several groups side by side: builds what each needs, then runs its parts, and says what they found."""

import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import long_command

from .results import Failure, Results, Unreadable, figures, read_junit
from .selection import Chosen, choose
from .table import Compile, Ctest, Part, Pytest, Suite

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
BUILD_LIMIT_S = 30 * 60
PART_LIMIT_S = 70 * 60
RETRIED_MAX = 10  # what fails more tests than these has nothing to do with time
TEST_LIMIT_S = 30 * 60  # a hanging test is named; a first one may build Kubernetes
# Linux weighs sessions before it weighs their processes: nice counts only within a session whose own weight is set (sched(7),
# "The autogroup feature"). Without autogroups the file is not there, and nice counts among all.
PATIENT = ("sh", "-c", '{ echo 19 > /proc/self/autogroup; } 2> /dev/null; exec nice -n 19 "$@"', "sh")
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


class Runner:
    def __init__(self, python: Path, environment: dict[str, str] | None = None):
        self._python, self._environment = python, environment or {}
        self._built: dict[str, bool] = {}
        self._building = threading.Lock()
        self._stop = threading.Event()

    def run(self, selection: list[Chosen]) -> dict[str, Results]:
        """What each suite found, in the order of the selection; a few failures are tried again when nothing else runs."""
        found = self._run(selection)
        self._retry({chosen.suite.name: found[chosen.suite.name] for chosen in selection
                     if chosen.suite.may_retry and not chosen.names})
        return found

    def _run(self, selection: list[Chosen]) -> dict[str, Results]:
        found: dict[str, Results] = {}
        groups = dict.fromkeys(chosen.suite.group for chosen in selection)
        with ThreadPoolExecutor(len(groups)) as pool:
            running = [pool.submit(self._group, [chosen for chosen in selection if chosen.suite.group == group])
                       for group in groups]
            try:
                for group in running:
                    found |= group.result()
            except BaseException:
                # An interrupt, most of all: the other groups end what they started.
                self._stop.set()
                raise
        return {chosen.suite.name: found[chosen.suite.name] for chosen in selection}

    def _retry(self, found: dict[str, Results]) -> None:
        failed = [failure for results in found.values() for failure in results.failed]
        if not 0 < len(failed) <= RETRIED_MAX:
            return
        print(f"== retrying {len(failed)} failed test{'s' if len(failed) > 1 else ''}, one suite at a time", flush=True)
        for name, results in found.items():
            # Without a colon it is no test, but a file that cannot be read or a suite that did not end.
            tests = [failure.name for failure in results.failed if ":" in failure.name]
            for chosen in choose(tests) if tests else []:
                if chosen.suite.name == name:
                    results.retried(tests, self._suite(chosen, "-retry"))

    def _group(self, group: list[Chosen]) -> dict[str, Results]:
        return {chosen.suite.name: self._suite(chosen) for chosen in group}

    def _suite(self, chosen: Chosen, log: str = "") -> Results:
        suite, found, began = chosen.suite, Results(), time.monotonic()
        usual = "" if chosen.names else f" (usually {suite.minutes} min)"
        print(f"== {suite.name}: {suite.about}{usual}", flush=True)
        for part in chosen.parts:
            name = f"{suite.name}-{suite.parts.index(part) + 1}{log}"
            found.add(self._part(part, suite, name, chosen.of(part)))
        found.duration_s = time.monotonic() - began
        print(f"{indent(suite)}{found} in {long_command.format_duration(began)}", flush=True)
        return found

    def _part(self, part: Part, suite: Suite, name: str, tests: list[str]) -> Results:
        for preset in part.presets:
            if not self._build(preset, suite):
                return Results(failed=[Failure(suite.name, f"build of preset {preset} failed")])
        if isinstance(part, Compile):
            return Results(passed=1)
        return self._tests(part, suite, name, tests)

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

    def _tests(self, part: Ctest | Pytest, suite: Suite, name: str, tests: list[str]) -> Results:
        log, junit = LOGS / f"{name}.log", LOGS / f"{name}.xml"
        junit.unlink(missing_ok=True)
        command = self._command(part, suite, junit, tests)
        print(f"{indent(suite)}testing; log: {log.relative_to(ROOT)}", flush=True)
        status = self._step(suite, command, log, PART_LIMIT_S, environment=self._environment | environment(part))
        try:
            found = read_junit(junit, suite.name if isinstance(part, Ctest) else "")
        except Unreadable as problem:
            found = Results(failed=[Failure(suite.name, str(problem))])
        if status and not found.failed:
            found.failed.append(Failure(suite.name, f"{command[0]} ended with status {status}"))
        if not found.total:
            found.failed.append(Failure(suite.name, "no tests found"))
        for figure in figures(log):
            print(f"{indent(suite)}{figure}", flush=True)
        if found.failed:
            long_command.show_end(log, 60, indent(suite))
        return found

    def _command(self, part: Ctest | Pytest, suite: Suite, junit: Path, tests: list[str]) -> list[str]:
        patient = PATIENT if suite.is_patient else ()
        if isinstance(part, Ctest):
            named = ["--tests-regex", f"^({'|'.join(map(re.escape, tests))})$"] if tests else []
            return [*patient, "ctest", "--test-dir", f"build/{part.preset}", "--label-regex", f"^{part.label}$", *named,
                    "--no-tests=error", "--output-on-failure", "--parallel", cores(), "--output-junit", str(junit)]
        # Named tests are few, and each further process would start a cluster of its own.
        processes = ["-n", str(part.workers), "--dist", "loadgroup"] if part.workers > 1 and not tests else []
        return [*patient, str(self._python), "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junit-xml={junit}",
                "-o", "junit_family=xunit1", f"--timeout={TEST_LIMIT_S}", *processes,
                *(tests or [f"tests/{path}" for path in part.paths])]


def indent(suite: Suite) -> str:
    """The beginning of a line that may be printed among those of other suites."""
    return f"   {suite.name}: "


def environment(part: Ctest | Pytest) -> dict[str, str]:
    chosen = {"PYTHONDONTWRITEBYTECODE": "1"}
    if part.presets:
        chosen["BUILD_DIR"] = f"build/{part.presets[0]}"
    return chosen | (SANITIZERS if "asan" in part.presets else {})


def cores() -> str:
    return str(len(os.sched_getaffinity(0)))
