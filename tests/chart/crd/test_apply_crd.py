"""What the chart runs before an install or upgrade: the CRD becomes this version's, whatever created it."""

import copy
import os
import subprocess

import pytest
import yaml

from conftest import CHART, CRD_FILE, ROOT
from renders import objects, render

OPERATOR = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "operator" / "ipu-operator"
OURS = yaml.safe_load(CRD_FILE.read_text())
CONTROLLERS_FILE = CRD_FILE.with_name("vipucontrollers.graphcore.ai.yaml")
CONTROLLERS = yaml.safe_load(CONTROLLERS_FILE.read_text())


def apply_crd(api, *flags):
    return subprocess.run([OPERATOR, "apply-crd", "--kubeconfig", api.kubeconfig, *flags], capture_output=True, text=True,
                          timeout=300)


@pytest.fixture
def vendors(api, tmp_path):
    """The vendor's definition in place of this version's: fewer fields, and one that is gone here."""
    definition = copy.deepcopy(OURS)
    definition["metadata"]["annotations"] = {"controller-gen.kubebuilder.io/version": "v0.7.0"}
    del definition["spec"]["names"]["shortNames"]
    (version,) = definition["spec"]["versions"]
    version["additionalPrinterColumns"] = [{"name": "old", "type": "string", "jsonPath": ".status.old"}]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for field in ("suspend", "partition", "x-kubernetes-validations"):
        spec["properties"].pop(field, None)
        spec.pop(field, None)
    spec["properties"]["old"] = {"type": "string"}
    (tmp_path / "vendors.yaml").write_text(yaml.safe_dump(definition))
    # The API server writes the status of what was changed just now, and may do so between kubectl's look and its change.
    api.until("replace", "-f", str(tmp_path / "vendors.yaml"))
    yield
    api.until("replace", "-f", str(CRD_FILE))
    api.until_defined()


def schema(api):
    definition = yaml.safe_load(api.must("get", "crd", OURS["metadata"]["name"], "-o", "yaml"))
    return definition, definition["spec"]["versions"][0]


def test_another_definition_becomes_ours(api, vendors):
    for _ in range(2):  # the second time there is nothing to do
        done = apply_crd(api, "--file", CRD_FILE)
        assert (done.returncode, done.stderr) == (0, ""), done
    definition, version = schema(api)
    ours = OURS["spec"]["versions"][0]
    assert version["additionalPrinterColumns"] == ours["additionalPrinterColumns"]
    assert set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]) == set(
        ours["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])
    assert definition["spec"]["names"]["shortNames"] == OURS["spec"]["names"]["shortNames"]


def test_a_definition_that_was_brought_up_to_date_is_in_no_later_installs_way(api, programs, namespace, tmp_path):
    """Helm 4 applies what is in crds/ whenever it installs, and takes nothing from others."""
    def helm(*words):
        done = subprocess.run([programs / "helm", *words, "--no-hooks", "--namespace", namespace], capture_output=True, text=True,
                              env={**os.environ, "KUBECONFIG": api.kubeconfig}, timeout=300)
        assert done.returncode == 0, done.stderr

    earlier = copy.deepcopy(OURS)
    del earlier["spec"]["names"]["shortNames"]
    del earlier["spec"]["versions"][0]["additionalPrinterColumns"][-1]
    (tmp_path / "earlier.yaml").write_text(yaml.safe_dump(earlier))
    api.must("delete", "crd", OURS["metadata"]["name"])
    try:
        helm("install", "release", CHART)
        helm("uninstall", "release")
        assert apply_crd(api, "--file", tmp_path / "earlier.yaml").returncode == 0
        helm("install", "release", CHART)
        helm("uninstall", "release")
        assert schema(api)[1]["additionalPrinterColumns"] == OURS["spec"]["versions"][0]["additionalPrinterColumns"]
    finally:
        api.must("apply", "--server-side", "--force-conflicts", "-f", str(CRD_FILE))
        api.until_defined()


def test_failures_are_reported(api, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    for flags, words in [(["--file", other], "other.yaml is not a CustomResourceDefinition of the operator"), (["--file", tmp_path / "none"], "none"),
                         (["--kubeconfig", tmp_path / "none"], "none")]:
        done = apply_crd(api, *flags)
        assert done.returncode == 1 and words in done.stderr and done.stdout == "", done
    done = apply_crd(api, "--fil", "x")
    assert done.returncode == 2 and "--fil" in done.stderr


def test_both_definitions_are_applied(api):
    api.must("delete", "crd", CONTROLLERS["metadata"]["name"], "--ignore-not-found")
    done = apply_crd(api, "--file", CRD_FILE, "--file", CONTROLLERS_FILE)
    assert (done.returncode, done.stdout) == (0, "The CustomResourceDefinitions are up to date.\n"), done
    api.until("get", "vipu")


def test_the_chart_brings_the_file_along(programs):
    (carried,) = [thing["data"] for thing in objects(render(programs / "helm", {}))
                  if thing["kind"] == "ConfigMap" and thing["metadata"]["name"].endswith("-crd")]
    assert list(map(yaml.safe_load, carried.values())) == [OURS, CONTROLLERS]


def test_nothing_of_helms_deletes_the_definition(programs):
    """It is no object of the release, and what its Job may do is to change it."""
    text = render(programs / "helm", {})
    for thing in objects(text):
        assert thing["kind"] != "CustomResourceDefinition"
        for rule in thing.get("rules") or []:
            if "customresourcedefinitions" in rule.get("resources", []):
                assert (rule["verbs"], rule["resourceNames"]) == (["patch"], ["ipujobs.graphcore.ai", "vipucontrollers.graphcore.ai"])
