"""What poprun's tests share. BUILD_DIR names the build whose poprun is tested (build/dev if unset)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("vipu/support", "lib")]

import calls  # noqa: E402
from open_mpi import open_mpi_5  # noqa: E402, F401
from packages import install, wheel_of  # noqa: E402

QUICK = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\n"


@pytest.fixture
def poprun(tmp_path):
    """A folder of its own for temporary files, and poprun in it."""
    return calls.Poprun(tmp_path)


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder for PYTHONPATH with PopDist, built for the system's Open MPI."""
    return install(wheel_of(ROOT / "popdist", tmp_path_factory.mktemp("wheel")), tmp_path_factory.mktemp("packages"))


@pytest.fixture
def serve(poprun, tmp_path):
    """Starts a vipu-server with this configuration for poprun, whose operations take no time unless told otherwise; it must end cleanly."""
    import programs

    started = []

    def begin(config, times=QUICK, **settings):
        folder = tmp_path / "server"
        folder.mkdir()
        started.append(programs.Server(folder, times + config))
        return calls.Site(poprun, started[0], **settings)

    yield begin
    for server in started:
        assert server.stop() == 0, server.log()


@pytest.fixture
def site(serve):
    """One cluster of 64 IPUs."""
    return serve("clusters: [{id: cl1}]\n")
