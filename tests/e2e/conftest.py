"""What the end-to-end tests share: a cluster with the product installed, one for each worker process. E2E_KEEP=1 leaves it up after
the tests, and a later run takes it as it is."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "lib"), str(HERE.parents[1] / "deploy" / "local")]

from fixtures import namespace, nothing_left, pytest_runtest_makereport, reader, replicas, start  # noqa: E402, F401
import workers  # noqa: E402
from stack import brought_up  # noqa: E402


def pytest_configure(config):
    workers.register(config)


@pytest.fixture(scope="session")
def stack(request):
    with brought_up(workers.cluster_name("e2e")) as made:
        workers.of(request.config).keep_audit_log(made.audit_log())
        yield made
