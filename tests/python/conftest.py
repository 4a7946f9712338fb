"""Tests of the Python package ipu_jobs without a cluster."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "lib")]

import ipu_jobs  # noqa: E402
import pytest  # noqa: E402
from scripted import Server  # noqa: E402


@pytest.fixture
def ipu_run():
    """The program; IPU_RUN names it, else it is that of BUILD_DIR."""
    path = Path(os.environ.get("IPU_RUN", ROOT / os.environ.get("BUILD_DIR", "build/release") / "local/ipu-run"))
    assert path.is_file(), f"{path} is missing: build the target ipu-run, or set BUILD_DIR or IPU_RUN"
    return path


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.close()


@pytest.fixture
def cluster(server, monkeypatch):
    # The package kubernetes reads the variable when it is imported.
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(server.kubeconfig))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return ipu_jobs.Cluster()
