"""What the end-to-end tests share: one cluster with the product installed. E2E_KEEP=1 leaves it up after the tests,
and a later run takes it as it is."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib"), str(HERE.parents[1] / "deploy" / "local")]

from fixtures import namespace, nothing_left, pytest_runtest_makereport, reader, replicas, start  # noqa: E402, F401
from stack import brought_up  # noqa: E402

LAST = "test_hardening.py"  # it reads what the operator has asked for in all the other tests


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == LAST)


@pytest.fixture(scope="session")
def stack():
    with brought_up("e2e") as made:
        yield made
