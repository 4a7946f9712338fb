"""What poprun's tests share. BUILD_DIR names the build whose poprun is tested (build/dev if unset)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vipu"))

import calls  # noqa: E402

CLUSTER = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters: [{id: cl1}]\n"


@pytest.fixture
def poprun(tmp_path):
    """A folder of its own for temporary files, and poprun in it."""
    return calls.Poprun(tmp_path)


@pytest.fixture
def controller(tmp_path):
    """A vipu-server with one cluster of 64 IPUs whose operations take no time."""
    import programs

    folder = tmp_path / "server"
    folder.mkdir()
    server = programs.Server(folder, CLUSTER)
    yield server
    assert server.stop() == 0, server.log()
