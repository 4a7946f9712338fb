"""What quickstart makes in a cluster besides the example: a namespace, a Helm release, a node's label. What it made
is marked, and only that is changed or removed later."""

import json
from pathlib import Path

from local_cluster.places import REPOSITORY
from local_cluster.problem import Problem

from .images import NAMES
from .target import Target

CHART = REPOSITORY / "charts" / "ipu-operator"
NAMESPACE = RELEASE = "ipu-operator"
NODE_LABEL, NODE_VALUE = "vipu-ctrl", "vctl1"
MARK = "graphcore.ai/made-by"
MADE_HERE = "quickstart"
IPUS = 64


def label_node(target: Target) -> None:
    """At least one node has to have the label; one that is ready gets it."""
    if target.exists("nodes", "-l", f"{NODE_LABEL}={NODE_VALUE}"):
        return
    for node in target.get("nodes")["items"]:
        if _takes_pods(node):
            name = node["metadata"]["name"]
            target.kubectl("label", "node", name, "--overwrite", f"{NODE_LABEL}={NODE_VALUE}")
            target.kubectl("annotate", "node", name, "--overwrite", f"{MARK}={MADE_HERE}")
            print(f"      node {name} has the label {NODE_LABEL}={NODE_VALUE} now")
            return
    raise Problem("No node of the cluster is ready to take pods; `kubectl describe nodes` says why.")


def _takes_pods(node: dict) -> bool:
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
    closed = any(taint["effect"] in ("NoSchedule", "NoExecute") for taint in node["spec"].get("taints", []))
    return ready and not closed


def install(target: Target, archives: dict[str, str], registry: str | None) -> None:
    _check_release(target)
    if not target.exists("namespace", NAMESPACE):
        target.kubectl("create", "namespace", NAMESPACE)
        target.kubectl("label", "namespace", NAMESPACE, f"{MARK}={MADE_HERE}")
    values = json.dumps(_values(archives, registry))
    values_file = Path(archives["ipu-operator"]).with_suffix(".values.json")
    values_file.write_text(values)
    try:
        target.helm("upgrade", "--install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--labels",
                    f"made-by={MADE_HERE}", "--values", str(values_file))
    finally:
        values_file.unlink()
    _wait_until_it_runs(target)


def _values(archives: dict[str, str], registry: str | None) -> dict:
    # The tag stays the same when an image is rebuilt: the archives' names replace the pods then.
    images = {f"{MARK}-images": " ".join(Path(archives[name]).stem for name in NAMES[:2])}
    return {
        "global": {"imageRegistry": registry or ""},
        "controller": {"podAnnotations": images},
        "vipuServer": {"enabled": True, "ipus": IPUS, "nodeLabel": f"{NODE_LABEL}={NODE_VALUE}",
                       "podAnnotations": images},
    }


def _check_release(target: Target) -> None:
    if _state(target) and not _state(target, "--selector", f"made-by={MADE_HERE}"):
        raise Problem(f"Namespace {NAMESPACE} has a Helm release {RELEASE} that quickstart did not make, and which it "
                      "leaves alone; upgrade it with helm, or use another cluster.")
    if _state(target).startswith(("pending", "uninstalling")):
        # Helm ended in the middle of it, and would refuse to go on from there. Jobs live on until the next install.
        target.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--no-hooks")


def _state(target: Target, *selection: str) -> str:
    """Where Helm says the release stands; empty if there is none."""
    printed = target.helm("list", "--namespace", NAMESPACE, "--deployed", "--failed", "--pending", "--uninstalling",
                          *selection, "--output", "json")
    return next((release["status"] for release in json.loads(printed) if release["name"] == RELEASE), "")


def _wait_until_it_runs(target: Target) -> None:
    for deployment in (f"{RELEASE}-vipu-server", RELEASE):
        try:
            target.kubectl("--namespace", NAMESPACE, "rollout", "status", f"deployment/{deployment}",
                           "--timeout=120s")
        except Problem as problem:
            pods = target.said("--namespace", NAMESPACE, "get", "pods")
            events = target.said("--namespace", NAMESPACE, "get", "events", "--sort-by=.lastTimestamp")
            log = operator_log(target)
            raise Problem(f"{problem}\n{pods}\n\n{events}\n\n{log}") from problem


def operator_log(target: Target) -> str:
    return target.said("--namespace", NAMESPACE, "logs", f"deployment/{RELEASE}", "--tail=30")


def remove(target: Target) -> None:
    """The definition of IPUJobs stays: deleting it would delete everybody's jobs."""
    if _state(target, "--selector", f"made-by={MADE_HERE}"):
        target.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "2m")
    if target.exists("namespace", "--field-selector", f"metadata.name={NAMESPACE}", "-l", f"{MARK}={MADE_HERE}"):
        target.kubectl("delete", "namespace", NAMESPACE)
    for node in target.get("nodes")["items"]:
        if node["metadata"].get("annotations", {}).get(MARK) == MADE_HERE:
            target.kubectl("label", "node", node["metadata"]["name"], f"{NODE_LABEL}-")
            target.kubectl("annotate", "node", node["metadata"]["name"], f"{MARK}-")
