"""Each value of the chart is described, has a type, and does something; mistakes are rejected with their path."""

import pytest

import values_table
from renders import EVERYTHING, render
from values_table import MAXIMAL, VALUES, merged, nested, value_at

DESCRIBED = [path for path, _, _ in values_table.described_values()]
RETIRED = {"$ref": "#/definitions/retired"}
# test_hardening.py: it goes with few of the others.
ALONE = {"controller.watchNamespace"}
# What would be rejected without it.
LEANS_ON = {"admissionWebhooks.enabled": ("admissionWebhooks.certManager.enabled", False),
            "uninstall.check": ("uninstall.drain", False), "controller.priorityClassName": ("priorityClass.create", False),
            "vipuServer.secureMode": ("vipuServer.credentialsSecret", "")}


@pytest.fixture(scope="module")
def everything(programs):
    return render(programs / "helm", EVERYTHING)


def test_every_value_is_described():
    undescribed = [path for path in values_table.leaf_paths(VALUES)
                   if not any(path == one or path.startswith(one + ".") for one in DESCRIBED)]
    assert undescribed == []


@pytest.mark.parametrize("path", DESCRIBED)
def test_the_schema_knows_it(path):
    assert any(word in values_table.schema_at(path) for word in ("type", "enum", "oneOf", "anyOf"))


@pytest.mark.parametrize("path", [path for path in DESCRIBED if path not in ALONE])
def test_it_is_used(programs, everything, path):
    default, other = value_at(VALUES, path.split(".")), value_at(MAXIMAL, path.split("."))
    assert other != default, "tests/chart/maximal.yaml has another value than the default"
    now = value_at(EVERYTHING, path.split("."))
    changed = merged(without(EVERYTHING, path), nested(path, other if now == default else default))
    if path in LEANS_ON:
        changed = merged(changed, nested(*LEANS_ON[path]))
    assert render(programs / "helm", changed) != everything


def without(values, path):
    """Maps are merged: what is to be replaced has to go first."""
    key, _, rest = path.partition(".")
    return {name: without(value, rest) if name == key else value for name, value in values.items() if name != key or rest}


def test_the_maximal_values_are_all_described():
    assert [path for path in values_table.leaf_paths(MAXIMAL)
            if not any(path == one or path.startswith(one + ".") for one in DESCRIBED)] == []


@pytest.mark.parametrize("path, schema", list(values_table.schema_objects()), ids=lambda part: part if isinstance(part, str) else "")
def test_the_schema_knows_nothing_else(path, schema):
    assert schema.get("additionalProperties", True) is (path == "global"), "a misspelt key would be let through"
    for key, part in schema["properties"].items():
        here = ".".join(filter(None, [path, key]))
        if part == RETIRED:
            assert here in {row["value"] for row in values_table.VENDOR if "rejected" in row}
        elif here != "enabled":  # by which a chart with this one as a part of it turns it off
            assert any(one == here or one.startswith(here + ".") or here.startswith(one + ".") for one in DESCRIBED) or any(
                row["value"].startswith(here + ".") for row in values_table.VENDOR)


def test_wrong_types_are_rejected_with_their_paths(helm):
    values = {}
    for path in DESCRIBED:
        default = value_at(VALUES, path.split("."))
        values = merged(values, nested(path, "text" if isinstance(default, (bool, int, list, dict)) else {"a": 1}))
    done = helm("template", values)
    assert done.returncode != 0
    output = done.stderr.replace("/", ".")
    assert [path for path in DESCRIBED if path not in output] == []


def test_missing_values_are_rejected_by_name_or_empty(helm):
    """As after `--set controller.replicas=null`, and with `--reuse-values` where an older chart had none."""
    def is_needed(path):
        above, _, key = path.rpartition(".")
        return key in (values_table.schema_at(above) if above else values_table.SCHEMA).get("required", [])

    def of(paths):
        values = {}
        for path in paths:
            values = merged(values, nested(path, None))
        return values

    needed = [path for path in DESCRIBED if is_needed(path)]
    assert len(needed) > 40
    output = helm("template", of(needed)).stderr
    assert [path for path in needed if not all(word in output for word in path.split("."))] == []
    groups = [key for key, value in VALUES.items() if isinstance(value, dict)]
    output = helm("template", of(groups)).stderr
    assert [group for group in groups if group not in output] == []
    enabled = [path for path in DESCRIBED if path.endswith(".enabled") and "certManager" not in path]
    done = helm("template", of(path for path in DESCRIBED if path not in needed), *(f"--set={path}=true" for path in enabled))
    assert done.returncode == 0, done.stderr


def test_misspelled_values_are_rejected(helm):
    output = helm("template", {"controler": {}, "worker": {"hostNetwork": "yes"}, "vipuServer": {"ipus": 65}}).stderr
    assert "controler" in output and "hostNetwork" in output and "ipus" in output
