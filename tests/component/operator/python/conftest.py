"""What the tests of the Python package on a real API server share."""

import sys

import pytest
import yaml
from world import ROOT

sys.path.insert(0, str(ROOT / "python"))


@pytest.fixture
def user_kubeconfig(world):
    """Its context names the namespace of the test."""
    path = world.folder / "user-kubeconfig"
    with open(world.cluster.kubeconfig) as file:
        config = yaml.safe_load(file)
    config["contexts"][0]["context"]["namespace"] = world.ns
    path.write_text(yaml.safe_dump(config))
    return path
