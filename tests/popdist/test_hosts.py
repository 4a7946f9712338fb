"""Several hosts, as network namespaces, with a remote agent in place of ssh."""

import os
import sys

import pytest

from hosts import Hosts
from test_python import MAIN

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can make network namespaces")


@pytest.mark.parametrize("count,per_host", [(2, 1), (3, 2)])
def test_collectives_between_hosts(site, tmp_path, count, per_host):
    with Hosts(tmp_path, count) as hosts:
        printed = hosts.mpirun([sys.executable, MAIN / "collectives.py"], per_host=per_host, PYTHONPATH=site)
    assert printed == "good\n" * count * per_host


def test_who_leaves_early_still_delivers_what_it_sent(site, tmp_path):
    with Hosts(tmp_path, 2) as hosts:
        printed = hosts.mpirun([sys.executable, MAIN / "early.py"], PYTHONPATH=site, POPDIST_COLLECTIVE_TIMEOUT=60)
    assert sorted(printed.splitlines()) == ["0 has 2", "1 has 2"]
