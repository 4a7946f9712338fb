"""What the tests of the whole operator share: a control plane for the session, a world for each test."""

import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(folder) for folder in (HERE / "support", HERE, HERE / "jobs")]

import workers  # noqa: E402
from world import Cluster, World  # noqa: E402


@pytest.fixture(scope="session")
def cluster(request):
    cluster = Cluster(workers.cluster_name("op-component"))
    workers.of(request.config).keep_audit_log(cluster.audit_log())
    yield cluster
    cluster.end()


def name_of(node):
    return "t-" + re.sub(r"[^a-z0-9]+", "-", node.name.removeprefix("test_").lower())[:30].strip("-")


@pytest.fixture
def world(cluster, tmp_path, request):
    world = World(cluster, tmp_path, name_of(request.node))
    yield world
    world.close()


@pytest.fixture(scope="module")
def shared_world(cluster, tmp_path_factory, request):
    """For tests that look at different jobs of one operator."""
    world = World(cluster, tmp_path_factory.mktemp("world"), "t-" + Path(request.node.name).stem.replace("_", "-")[5:])
    yield world
    world.close()


@pytest.fixture
def vipu(world):
    """A real vipu-server with one pod of 64 IPUs."""
    return world.make_vipu()
