"""Component tests may run in several worker processes (pytest -n N --dist loadgroup), each with API servers of its own.

A test that is marked `since_kubernetes(1, 34)` needs an API server of that version: `tests/run --kubernetes` skips it for older ones."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS.parent / "deploy" / "local")]

import workers  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "since_kubernetes(major, minor): needs this version of the API server")
    workers.register(config)


def pytest_runtest_setup(item):
    for marker in item.iter_markers("since_kubernetes"):
        if older_version() and older_version() < marker.args:
            pytest.skip("requires Kubernetes {}.{}".format(*marker.args))


@functools.cache
def older_version():
    """Of the control plane that `tests/run --kubernetes` names; None for the usual one, which is the newest."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return None
    text = subprocess.run([f"{folder}/kube-apiserver", "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    return tuple(map(int, re.search(r"v(\d+)\.(\d+)", text).groups()))
