"""What the launcher's tests share. BUILD_DIR names the build whose ipu-launch is tested (build/dev if unset)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "lib"))

import agents  # noqa: E402
import processes  # noqa: E402
from open_mpi import open_mpi_5  # noqa: E402, F401
from waiting import DEADLINE_S  # noqa: E402

# What is started from here begins with no signal ignored, even if this is run by nohup or in the background of a script.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session")
def launcher():
    """The path of the real program."""
    path = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "launcher" / "ipu-launch"
    assert path.is_file(), f"{path} is missing: build the target ipu-launch, or set BUILD_DIR"
    return path


@pytest.fixture(params=["child", "init"])
def mode(request):
    """How ipu-launch runs: as anybody's child, or as process 1 of a container."""
    return request.param


@pytest.fixture
def start(launcher, mode):
    """Starts `ipu-launch run -- WORDS`; everything is gone after the test."""
    started = []

    def begin(*words, verb="run", **popen):
        words = (verb, "--", *words) if words else (verb,)
        launch = processes.Launch(launcher, mode, *words, **popen)
        started.append(launch)
        return launch

    yield begin
    for launch in started:
        launch.destroy()


@pytest.fixture
def call(launcher):
    """Runs ipu-launch with these words to its end."""

    def run(*words, **options):
        options = {"capture_output": True, "text": True, "timeout": DEADLINE_S, **options}
        return subprocess.run([str(launcher), *words], **options)

    return run


@pytest.fixture
def job(launcher, tmp_path):
    """Workers with keys; everything that was started is gone after the test."""
    made = []

    def make(workers=1, **options):
        made.append(agents.Job(launcher, tmp_path, workers, **options))
        return made[-1]

    yield make
    for one in made:
        one.destroy()
