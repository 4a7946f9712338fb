"""Every value of the vendor's chart works, or is rejected with the name of its successor."""

import runpy
import subprocess

import pytest
import yaml

from conftest import CHART, ROOT
from values_table import VALUES, VENDOR as ROWS, described_values, merged, nested, value_at

WORKING = [row for row in ROWS if "rejected" not in row]
REJECTED = [row for row in ROWS if "rejected" in row]

DESCRIBED = {path for path, _, _ in described_values()}


@pytest.fixture(scope="module")
def rejections(programs, tmp_path_factory):
    """What Helm says to a values file with every mistake that there is."""
    values = {"global": {"vipuControllers": "pod1:8090:,pod2:http:a=b"}, "controller": {
        "image": {"repository": "mirror/ipu-operator-controller"}, "securityContext": {"fsGroup": 3, "runAsUser": 4}}}
    for row in REJECTED:
        values = merged(values, nested(row["value"], {"something": "else"}))
    file = tmp_path_factory.mktemp("values") / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = subprocess.run([programs / "helm", "template", CHART, "--values", file], capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    return done.stderr.splitlines()


@pytest.mark.parametrize("row", REJECTED, ids=lambda row: row["value"])
def test_it_is_rejected_by_name(rejections, row):
    successor = f"; use {row['use']}" if "use" in row else ""
    assert f"  {row['value']}: {row['rejected']}{successor}" in rejections


@pytest.mark.parametrize("row", WORKING, ids=lambda row: row["value"])
def test_it_is_a_value_here(row):
    """test_values.py shows that something comes of it."""
    assert row["value"] in DESCRIBED


def test_other_mistakes_are_reported_with_them(rejections):
    for start in ["controller.image.repository: mirror/ipu-operator-controller is", 'global.vipuControllers: "pod1:8090:" is not',
                  'global.vipuControllers: "pod2:http:a=b" is not', "controller.securityContext.fsGroup: "]:
        assert [line for line in rejections if line.startswith(f"  {start}")], start
    assert not [line for line in rejections if "runAsUser" in line]


@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_a_copy_of_the_vendors_defaults_works(helm):
    """Whoever saved the vendor's whole values.yaml gets what the vendor's defaults mean here, with this project's images."""
    values = {}
    for row in ROWS:
        if "vendor" in row:
            values = merged(values, nested(row["value"], row["vendor"]))
    done = helm("template", values)
    assert done.returncode == 0, done.stderr
    assert "image: ipu-operator/ipu-operator:" in done.stdout
    assert "--launcher-image=ipu-operator/ipu-launch:" in done.stdout
    assert "graphcore/" not in done.stdout
    assert "imagePullPolicy: Always" not in done.stdout, "nodes have the images, and may have no registry to ask"


@pytest.mark.parametrize("helm", ["helm", "helm3"], indirect=True)
def test_values_that_are_left_blank_ask_for_nothing(helm):
    values = {}
    for row in REJECTED:
        values = merged(values, nested(row["value"], None))
    done = helm("template", values)
    assert done.returncode == 0, done.stderr


def test_the_stand_in_for_the_vendors_chart_has_its_defaults():
    """tests/e2e upgrades from it. Tags are unset there."""
    values = runpy.run_path(str(ROOT / "tests/e2e/support/vendor_chart.py"))["VALUES"]
    rows = [row for row in ROWS if "vendor" in row and not row["value"].lower().endswith("tag")]
    assert [row["value"] for row in rows if value_at(values, row["value"].split(".")) != row["vendor"]] == []


IMAGES = [("controller.image.repository", "controller.image.tag"), ("global.launcherImage", "global.launcherImageTag")]


@pytest.mark.parametrize("image, tag", IMAGES)
@pytest.mark.parametrize("version", ["1.2.0", "1.1.0", "1.2.0-p1"])
@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_versions_of_the_vendors_images_are_rejected(helm, image, tag, version):
    """With its repositories and without: chart 1.1.0 wrote its tags out, and who pinned a version had the default repositories."""
    default = next(row["vendor"] for row in ROWS if row["value"] == image)
    for repository in (nested(image, default), {}):
        done = helm("template", merged(repository, nested(tag, version)))
        assert done.returncode != 0
        assert f"{tag}: {version} is a version of the vendor's image" in done.stderr


@pytest.mark.parametrize("name", ["registry.example.com/graphcore/ipu-operator-launcher-site", "graphcore/ipu-operator-controller-debug"])
@pytest.mark.parametrize("image", [image for image, _ in IMAGES])
@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_names_of_somebodys_own_images_are_theirs(helm, image, name):
    assert f"{name}:0.1.0" in helm("template", nested(image, name)).stdout


@pytest.mark.parametrize("image, tag", IMAGES)
@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_tags_of_somebodys_own_images_are_theirs(helm, image, tag):
    for values in (merged(nested(image, "mirror/mine"), nested(tag, "1.2.0")), nested(tag, "1.3.0")):
        done = helm("template", values)
        assert done.returncode == 0, done.stderr


def test_successors_are_values():
    for row in ROWS:
        if "use" in row:
            value_at(VALUES, row["use"].split("."))
