"""The real torchx program with this project's scheduler, as users install it."""

import os
import subprocess
from pathlib import Path

import pytest
from packages import install, wheel_of

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 300  # reached only when something is wrong, however busy the machine


class TorchX:
    def __init__(self, site):
        done = subprocess.run([ROOT / "deploy" / "prerequisites", "torchx"], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stderr
        self.programs, self.site = Path(done.stdout.strip()) / "bin", site

    def attempt(self, *words, kubeconfig, program="torchx"):
        # HOME: TorchX reads a configuration there, and notes what it ran.
        folder = Path(kubeconfig).parent
        environment = {**os.environ, "PYTHONPATH": str(self.site), "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}
        return subprocess.run([self.programs / program, *words], env=environment, cwd=folder, capture_output=True, text=True, check=False,
                              timeout=DEADLINE_S)

    def __call__(self, *words, kubeconfig, program="torchx"):
        done = self.attempt(*words, kubeconfig=kubeconfig, program=program)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def torchx(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    for source in ("python", "python/torchx"):
        install(wheel_of(ROOT / source, tmp_path_factory.mktemp("wheel")), site)
    return TorchX(site)
