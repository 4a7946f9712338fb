"""The command line of tests/run."""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import long_command

from .results import Results
from .runner import LOGS, ROOT, Runner
from .selection import Chosen, Unknown, choose
from .table import SUITES, Suite

DESCRIPTION = "Install what the tests need, build, run the suites, and report the slowest tests and every failure."
EPILOG = """\
NAME is a suite (see --list), a file or folder of tests (tests/vipu/server/test_config.py), one test of a file
(tests/vipu/server/test_config.py::test_name), or a compiled test (unit.base.core.test_str, asan:unit.base.core.test_str).
Without a NAME, every suite runs that --list does not call "on demand". Logs are in build/test-logs.
Exit status: 0 if no test failed, 1 if one did, 2 for a wrong command line, 130 if interrupted.
"""
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAILURES_SHOWN = 20
SLOWEST = 20


class Rejected(Exception):
    """A sentence for the user."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise Rejected(f"{message}; see `tests/run --help`")


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    for number in INTERRUPTS:
        signal.signal(number, _interrupt)
    try:
        options = _parser().parse_args(arguments)
        if options.list:
            return _list([chosen.suite for chosen in choose(options.names)] if options.names else SUITES)
        selection = choose(options.names or (["component"] if options.kubernetes else []))
        return _run(selection, _install(), _programs(options.kubernetes))
    except (Rejected, Unknown) as problem:
        print(f"tests/run: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tests/run: interrupted", file=sys.stderr)
        return 130


def _interrupt(_number, _frame):
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # the programs that were started are stopped first
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="tests/run", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the suites and run none")
    parser.add_argument("--kubernetes", metavar="VERSION",
                        help="run against the control plane of this version, such as v1.29.2, which is built first; without a "
                             "NAME, the suite component")
    parser.add_argument("names", metavar="NAME", nargs="*", help="what to run")
    return parser


def _list(suites: list[Suite]) -> int:
    for suite in suites:
        print(f"{suite.name:10} {suite.minutes:2} min  {suite.about}{' (on demand)' if suite.on_demand else ''}")
    return 0


def _run(selection: list[Chosen], python: Path, environment: dict[str, str]) -> int:
    began = time.monotonic()
    found = Runner(python, environment).run(selection)
    total = Results()
    for results in found.values():
        total.add(results)
    _show_times(found, total)
    print(f"== finished in {long_command.format_duration(began)}; logs: {LOGS.relative_to(ROOT)}", flush=True)
    _show_failures(total)
    print(total, flush=True)
    return 1 if total.failed else 0


def _show_times(found: dict[str, Results], total: Results) -> None:
    print("== suites")
    for name, results in found.items():
        print(f"   {name:10} {results.duration_s / 60:5.1f} min  {results}")
    slowest = sorted(total.seconds.items(), key=lambda item: -item[1])[:SLOWEST]
    print(f"== the {len(slowest)} slowest tests")
    for test, seconds in slowest:
        print(f"   {seconds:6.1f} s  {test}")


def _show_failures(total: Results) -> None:
    # The first ones matter most: what follows is often their consequence.
    for failure in total.failed[:FAILURES_SHOWN]:
        print(f"failed: {failure}\n        {failure.command}")
    if len(total.failed) > FAILURES_SHOWN:
        print(f"failed: {len(total.failed) - FAILURES_SHOWN} more; see the logs")
    for test in total.flaky:
        print(f"flaky (passed on retry): {test}")


def _install() -> Path:
    """Installs what the suites call; the Python that runs the tests."""
    print("== installing missing packages (about 1 s, first run 1 min)", flush=True)
    done = subprocess.run(["deploy/prerequisites"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Rejected("cannot install what the tests need; see the lines above")
    return Path(done.stdout.strip().splitlines()[-1]) / "bin" / "python"


def _programs(kubernetes: str | None) -> dict[str, str]:
    """Variables that name the control plane's programs, if not the usual ones."""
    if not kubernetes:
        return {}
    done = subprocess.run(["deploy/cluster", "build", "--kubernetes", kubernetes], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Rejected(f"cannot build the control plane of Kubernetes {kubernetes}; see the lines above")
    return {"KUBEBUILDER_ASSETS": done.stdout.strip()}
