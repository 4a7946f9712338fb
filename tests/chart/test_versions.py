"""One version for the whole product: what says it a second time says the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(ipu-operator VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


@pytest.mark.parametrize("package", ["popdist", "popdist/horovod"])
def test_packages_have_the_products_version(package):
    assert tomllib.loads((ROOT / package / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_the_chart_has_the_products_version():
    chart = yaml.safe_load((ROOT / "charts/ipu-operator/Chart.yaml").read_text())
    assert {str(chart["version"]), str(chart["appVersion"])} == {VERSION}


@pytest.mark.parametrize("example", sorted((ROOT / "deploy/examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_name_images_of_the_products_version(example):
    assert set(re.findall(r"image: ipu-operator/\S+:(\S+)", example.read_text())) == {VERSION}
