"""The Open MPI beside the system's 4.1."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 300  # reached only when something is wrong, however busy the machine


@pytest.fixture(scope="session")
def open_mpi_5():
    """The folder of an Open MPI 5."""
    done = subprocess.run([ROOT / "deploy" / "prerequisites", "openmpi5"], capture_output=True, text=True, check=False,
                          timeout=DEADLINE_S)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
