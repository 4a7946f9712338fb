"""Runs lanes, those of several tracks side by side: builds what each needs, then its suites, and says what they found."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import steps

from .results import Failure, Results, Unreadable, figures, read_junit
from .table import Compile, Ctest, Lane, Pytest

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
BUILD_LIMIT_S = 30 * 60
SUITE_LIMIT_S = 70 * 60
# Two tests of a suite: what fails more of them is no matter of time.
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

    def lanes(self, lanes: list[Lane]) -> dict[str, Results]:
        """What each lane found, in the order of the lanes."""
        found: dict[str, Results] = {}
        alone, *together = tracks(lanes)
        for side_by_side in ([alone], together):
            found |= self._side_by_side(side_by_side)
        return {lane.name: found[lane.name] for lane in lanes}

    def _side_by_side(self, chosen: list[list[Lane]]) -> dict[str, Results]:
        found: dict[str, Results] = {}
        with ThreadPoolExecutor(max(1, len(chosen))) as pool:
            running = [pool.submit(self._track, track) for track in chosen]
            try:
                for track in running:
                    found |= track.result()
            except BaseException:
                # An interrupt, most of all: the other tracks end what they started.
                self._stop.set()
                raise
        return found

    def _track(self, track: list[Lane]) -> dict[str, Results]:
        return {lane.name: self._lane(lane) for lane in track}

    def _lane(self, lane: Lane) -> Results:
        found = Results()
        begun = time.monotonic()
        print(f"== {lane.name}: {lane.about} (usually {lane.minutes} min)", flush=True)
        for number, suite in enumerate(lane.suites):
            found.add(self._suite(suite, lane, f"{lane.name}-{number + 1}"))
        print(f"{indent(lane)}{found} in {steps.spent(begun)}", flush=True)
        return found

    def _suite(self, suite: Compile | Ctest | Pytest, lane: Lane, name: str) -> Results:
        for preset in suite.presets:
            if not self._build(preset, lane):
                return Results(failed=[Failure(f"build of preset {preset}")])
        if isinstance(suite, Compile):
            return Results(passed=1)
        return self._tests(suite, lane, name)

    def _build(self, preset: str, lane: Lane) -> bool:
        with self._building:
            if preset not in self._built:
                self._built[preset] = all(self._must(lane, title, command, LOGS / f"{verb}-{preset}.log") for verb, title, command in [
                    ("configure", f"configuring {preset} (usually 5 s)", ["cmake", "--preset", preset]),
                    ("build", f"building {preset} (usually 1 min)", ["cmake", "--build", "--preset", preset, "-j", cores()]),
                ])
            return self._built[preset]

    def _must(self, lane: Lane, title: str, command: list[str], log: Path) -> bool:
        print(f"{indent(lane)}{title}", flush=True)
        if self._step(lane, command, log, BUILD_LIMIT_S) == 0:
            return True
        steps.show_end(log, 30, indent(lane))
        return False

    def _step(self, lane: Lane, command: list[str], log: Path, limit_s: float, **options) -> int:
        return steps.run(command, log, limit_s, indent=indent(lane), stop=self._stop, **options)

    def _tests(self, suite: Ctest | Pytest, lane: Lane, name: str) -> Results:
        log, junit = LOGS / f"{name}.log", LOGS / f"{name}.xml"
        junit.unlink(missing_ok=True)
        command = self._command(suite, lane, junit)
        print(f"{indent(lane)}testing; {log.relative_to(ROOT)} tells more", flush=True)
        status = self._step(lane, command, log, SUITE_LIMIT_S, environment=environment(suite))
        try:
            found = read_junit(junit)
        except Unreadable as problem:
            found = Results(failed=[Failure(name, str(problem))])
        if status and not found.failed:
            found.failed.append(Failure(name, f"{command[0]} ended with status {status}"))
        if not found.total:
            found.failed.append(Failure(name, "there is not one test"))
        for figure in figures(log):
            print(f"{indent(lane)}{figure}", flush=True)
        if found.failed or found.unsteady:
            steps.show_end(log, 60, indent(lane))
        return found

    def _command(self, suite: Ctest | Pytest, lane: Lane, junit: Path) -> list[str]:
        if isinstance(suite, Ctest):
            return ["ctest", "--test-dir", f"build/{suite.preset}", "--label-regex", f"^{suite.label}$",
                    "--no-tests=error", "--output-on-failure", "--parallel", cores(), "--output-junit", str(junit)]
        return [str(self._python), "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junit-xml={junit}",
                f"--timeout={TEST_LIMIT_S}", "--durations=10", *(AGAIN if lane.track else ()),
                *(f"tests/{path}" for path in suite.paths)]


def tracks(lanes: list[Lane]) -> list[list[Lane]]:
    """The lanes that want the machine for themselves, then those of each track."""
    names = dict.fromkeys(["", *(lane.track for lane in lanes)])
    return [[lane for lane in lanes if lane.track == name] for name in names]


def indent(lane: Lane) -> str:
    """What a line begins with that may stand among those of other lanes."""
    return f"   {lane.name}: "


def environment(suite: Ctest | Pytest) -> dict[str, str]:
    chosen = {"PYTHONDONTWRITEBYTECODE": "1"}
    if suite.presets:
        chosen["BUILD_DIR"] = f"build/{suite.presets[0]}"
    return chosen | (SANITIZERS if "asan" in suite.presets else {})


def cores() -> str:
    return str(len(os.sched_getaffinity(0)))
