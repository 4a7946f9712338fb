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
from .table import SUITES, Suite

DESCRIPTION = "Installs what the tests need, builds, runs the suites, and ends with the count of tests."
EPILOG = """\
Without a SUITE, all of them run, but for those that --list calls "only when named". Logs are in build/test-logs. Exit status 0 only if no test failed.
"""


FAILURES_TOLD = 20


class Refused(Exception):
    """A sentence for the user."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise Refused(f"{message[0].upper()}{message[1:]} (`tests/run --help` lists what there is).")


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        chosen = _parser().parse_args(arguments)
        if chosen.list:
            return _list(_named(chosen.suites) or SUITES)
        return _run(_named(chosen.suites) or [suite for suite in SUITES if not suite.on_demand])
    except Refused as problem:
        print(f"tests/run: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tests/run: interrupted.", file=sys.stderr)
        return 130


def _interrupt(_number, _frame):
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="tests/run", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the suites, run none")
    parser.add_argument("suites", metavar="SUITE", nargs="*", help=", ".join(suite.name for suite in SUITES))
    return parser


def _named(names: list[str]) -> list[Suite]:
    known = {suite.name: suite for suite in SUITES}
    for name in names:
        if name not in known:
            raise Refused(f"There is no suite '{name}': there is {', '.join(known)}.")
    return [suite for suite in SUITES if suite.name in names]


def _list(suites: list[Suite]) -> int:
    for suite in suites:
        print(f"{suite.name:10} {suite.minutes:2} min  {suite.about}{' (only when named)' if suite.on_demand else ''}")
    return 0


def _run(suites: list[Suite]) -> int:
    begun = time.monotonic()
    total = Results()
    failures, unsteady = [], []
    for name, found in Runner(_install()).suites(suites).items():
        failures += [f"{name}: {failure}" for failure in found.failed]
        unsteady += [f"{name}: {test}" for test in found.unsteady]
        total.add(found)
    print(f"== over after {long_command.format_duration(begun)}; logs are in {LOGS.relative_to(ROOT)}", flush=True)
    # The first ones tell most: what follows is often their consequence.
    for failure in failures[:FAILURES_TOLD]:
        print(f"failed: {failure}")
    if len(failures) > FAILURES_TOLD:
        print(f"failed: {len(failures) - FAILURES_TOLD} more; the logs name them")
    for test in unsteady:
        print(f"passed only when it was run again: {test}")
    print(total, flush=True)
    return 1 if total.failed else 0


def _install() -> Path:
    """What the suites call is there afterwards; the Python that runs the tests."""
    print("== installing what is missing (usually a second, 1 min the first time)", flush=True)
    done = subprocess.run(["deploy/prerequisites"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise Refused("What the tests need could not be installed; the lines above say why.")
    return Path(done.stdout.strip().splitlines()[-1]) / "bin" / "python"
