"""The values with which the chart is looked at as a whole, and what Helm makes of them."""

import re
import subprocess
import tempfile

import yaml

from values_table import CHART, MAXIMAL, merged

CLUSTER = CHART.parents[1] / "deploy" / "cluster"

# As little as can be.
MINIMAL = {
    "controller": {"replicas": 1},
    "admissionWebhooks": {"enabled": False},
    "podDisruptionBudget": {"enabled": False},
    "admissionPolicy": {"enabled": False},
    "aggregatedRoles": {"create": False},
    "crds": {"upgrade": False},
    "uninstall": {"check": False},
}
# Everything is there, and no value hides another.
EVERYTHING = merged(MAXIMAL, {
    "controller": {"develLogs": False, "rbac": {"create": True}, "serviceAccount": {"create": True}, "priorityClassName": ""},
    "admissionWebhooks": {"enabled": True},
    "podDisruptionBudget": {"enabled": True},
    "admissionPolicy": {"enabled": True},
    "aggregatedRoles": {"create": True},
    "crds": {"upgrade": True},
    "metrics": {"mode": "secure"},
    "uninstall": {"check": True},
})
NAMESPACED = {"controller": {"watchNamespace": "research"}, "admissionWebhooks": {"enabled": False}}
# cert-manager, with a CA of the chart's own.
CERTIFIED = {"admissionWebhooks": {"certManager": {"enabled": True}}}
GOLDEN = {"minimal": MINIMAL, "default": {}, "maximal": EVERYTHING}


def programs():
    """The folder with kubectl, helm (4) and helm3."""
    return subprocess.run([CLUSTER, "bin"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def objects(text):
    """The objects that Helm printed. libyaml reads them ten times as fast as Python."""
    return [thing for thing in yaml.load_all(text, Loader=yaml.CSafeLoader) if thing]


def render(helm, values, *args, release="ipu-operator", namespace="ipus"):
    """What `helm template` prints for these values."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        printed = subprocess.run([helm, "template", release, CHART, "--namespace", namespace, "--values", file.name,
                                  "--kube-version", "1.37.2", *args],
                                 check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout
    # Helm 4.2 ends each document with an empty line, earlier ones do not.
    return re.sub(r"(\n[ ]*)+(?=\n---\n|\n\Z)", "", printed)
