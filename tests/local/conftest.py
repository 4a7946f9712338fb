"""What the tests of ipu-run share. BUILD_DIR names the build whose programs are tested (build/release if unset)."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "lib"))

from waiting import DEADLINE_S, until  # noqa: E402

BUILD = ROOT / os.environ.get("BUILD_DIR", "build/release")
NOBODY = 65534


def job(command, name="hello", ipus=4, template=None, container=None, **spec):
    """An IPUJob whose workers run this shell command."""
    first = {"name": "main", "command": ["sh", "-c", command], **(container or {})}
    pod = {"terminationGracePeriodSeconds": 1, **(template or {})}
    pod["containers"] = [first, *pod.get("containers", [])]
    return {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": name},
            "spec": {"jobInstances": 1, "ipusPerJobInstance": str(ipus), "workers": {"template": {"spec": pod}}, **spec}}


@dataclass
class Result:
    """A run that has ended."""

    code: int
    out: str
    err: str
    dir: Path

    @property
    def final(self):
        return json.loads(self.out)

    @property
    def lines(self):
        """The pods' lines."""
        return [line for line in self.out.splitlines() if line.startswith("[")]

    @property
    def ranks(self):
        """What mpirun's ranks wrote, without its tags, and without its own warning that a daemon was quicker than itself."""
        return sorted(line.split(":", 1)[1] for line in self.lines if "plm:rsh: Warning: setpgid(" not in line)

    @property
    def states(self):
        return re.findall(r"^ *[\d.]+ s  (\w+)", self.out, re.MULTILINE)


class Runner:
    def __init__(self, folder: Path):
        self.folder, self.program = folder, BUILD / "local" / "ipu-run"
        assert self.program.is_file(), f"{self.program} is missing: build the target ipu-run, or set BUILD_DIR"
        self._count, self.started = 0, []

    def start(self, *objects, options=(), dir=None, **popen):
        """Begins to run the objects, which are given on standard input unless they are paths."""
        self._count += 1
        dir = dir or self.folder / f"run-{self._count}"
        text = "\n---\n".join(item if isinstance(item, str) else json.dumps(item) for item in objects)
        # A file of its own, as a pipe would have to be read by somebody while the run is waited for.
        out, err = self.folder / f"out-{self._count}", self.folder / f"err-{self._count}"
        given = self.folder / f"in-{self._count}.yaml"
        given.write_text(text)
        process = subprocess.Popen([self.program, "--run-dir", dir, *options, given], stdin=subprocess.DEVNULL,
                                   stdout=out.open("w"), stderr=err.open("w"), start_new_session=True, **popen)
        process.dir, process.output, process.errors, process.given = dir, out, err, given
        self.started.append(process)
        return process

    def finish(self, process):
        code = process.wait(timeout=DEADLINE_S)
        return Result(code, process.output.read_text(), process.errors.read_text(), process.dir)

    def __call__(self, *objects, **options):
        return self.finish(self.start(*objects, **options))


@pytest.fixture
def run(tmp_path):
    runner = Runner(tmp_path)
    yield runner
    for process in runner.started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def prints():
    """Waits until a run has printed a text."""

    def wait(process, text):
        until(lambda: text in process.output.read_text(), f"{text!r} in the output",
              tell=lambda: process.output.read_text() + process.errors.read_text())

    return wait
