"""A test run or a benchmark that is ended takes down everything that it started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until
from workers import ROOT

DEADLINE_S = 300
# tests/run with logs in a folder of its own, for the Python that runs this.
RUN = """
import sys
from pathlib import Path
sys.path[:0] = [f"{sys.argv[1]}/tests", f"{sys.argv[1]}/deploy/local"]
from suites import command, runner
runner.LOGS = command.LOGS = runner.ROOT / "build/test-logs/interrupted"
command._install = lambda: Path(sys.executable)
runner.Runner._build = lambda *_: True  # the programs are built; a linker would replace them while other tests run them
sys.exit(command.main(sys.argv[2:]))
"""
BENCH = [ROOT / "tests/bench", "admission"]
# Enough tests that the first process has not done them all when the last one's control plane starts.
SUITE = [sys.executable, "-c", RUN, ROOT, "tests/component/operator/jobs"]


def processes(mark, name=""):
    """Those whose environment has that text, and whose name is that, or any."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes() and name in (folder / "comm").read_text():
                found.append(folder.name)
        except OSError:
            continue  # ended meanwhile, or of another user
    return found


@pytest.mark.parametrize("command, processes_of_pytest, number", [
    (BENCH, 0, signal.SIGTERM), (BENCH, 0, signal.SIGHUP), (BENCH, 0, signal.SIGKILL),
    (SUITE, 1, signal.SIGINT), (SUITE, 1, signal.SIGHUP), (SUITE, 2, signal.SIGTERM)],
    ids=["benchmark-TERM", "benchmark-HUP", "benchmark-KILL", "suite-INT", "suite-HUP", "suite in two processes-TERM"])
def test_nothing_runs_on(command, processes_of_pytest, number, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["XDG_STATE_HOME"] = str(tmp_path)
    if processes_of_pytest > 1:
        environment["PYTEST_ADDOPTS"] = f"-n {processes_of_pytest} --dist loadgroup"
    mark = os.fsencode(tmp_path)
    with subprocess.Popen(command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL) as started:
        try:
            until(lambda: started.poll() is not None or len(processes(mark, "kube-controller")) >= max(1, processes_of_pytest),
                     "the control planes start")
            assert started.poll() is None
        finally:
            started.send_signal(number)
        assert started.wait(DEADLINE_S) == (-number if number == signal.SIGKILL else 130)
    until(lambda: not processes(mark), "all of it has ended")
