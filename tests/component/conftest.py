"""Component tests may run in several worker processes (pytest -n N --dist loadgroup), each with API servers of its own."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS.parent / "deploy" / "local")]

import workers  # noqa: E402


def pytest_configure(config):
    workers.register(config)
