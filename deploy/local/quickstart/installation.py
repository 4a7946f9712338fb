"""What quickstart installs beside the example: a namespace, a Helm release and a node label. Each is marked, and only
marked objects are changed or removed later."""

import json
from pathlib import Path

from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

from .images import NAMES
from .target_cluster import TargetCluster

CHART = REPOSITORY / "charts" / "ipu-operator"
NAMESPACE = RELEASE = "ipu-operator"
NODE_LABEL, NODE_VALUE = "vipu-ctrl", "vctl1"
MARK = "graphcore.ai/made-by"
CREATED_BY_QUICKSTART = "quickstart"
IPUS = 64


def label_node(target: TargetCluster) -> None:
    """Labels a ready node, unless a node has the label already."""
    if target.exists("nodes", "-l", f"{NODE_LABEL}={NODE_VALUE}"):
        return
    for node in target.get("nodes")["items"]:
        if _is_schedulable(node):
            name = node["metadata"]["name"]
            target.kubectl("label", "node", name, "--overwrite", f"{NODE_LABEL}={NODE_VALUE}")
            target.kubectl("annotate", "node", name, "--overwrite", f"{MARK}={CREATED_BY_QUICKSTART}")
            print(f"      labeled node {name} with {NODE_LABEL}={NODE_VALUE}")
            return
    raise UserError("No node is ready and schedulable; run `kubectl describe nodes` to see why.")


def _is_schedulable(node: dict) -> bool:
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
    tainted = any(taint["effect"] in ("NoSchedule", "NoExecute") for taint in node["spec"].get("taints", []))
    return ready and not tainted


def install(target: TargetCluster, archives: dict[str, str], registry: str | None) -> None:
    _check_release(target)
    if not target.exists("namespace", NAMESPACE):
        target.kubectl("create", "namespace", NAMESPACE)
        target.kubectl("label", "namespace", NAMESPACE, f"{MARK}={CREATED_BY_QUICKSTART}")
    values = json.dumps(_values(archives, registry))
    values_file = Path(archives["ipu-operator"]).with_suffix(".values.json")
    values_file.write_text(values)
    try:
        target.helm("upgrade", "--install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--labels",
                    f"made-by={CREATED_BY_QUICKSTART}", "--values", str(values_file))
    finally:
        values_file.unlink()
    _wait_for_rollout(target)


def _values(archives: dict[str, str], registry: str | None) -> dict:
    # A rebuilt image keeps its tag; the archive names in this annotation make the Deployments replace their pods.
    images = {f"{MARK}-images": " ".join(Path(archives[name]).stem for name in NAMES[:2])}
    return {
        "global": {"imageRegistry": registry or ""},
        "controller": {"podAnnotations": images},
        "vipuServer": {"enabled": True, "ipus": IPUS, "nodeLabel": f"{NODE_LABEL}={NODE_VALUE}",
                       "podAnnotations": images},
    }


def _check_release(target: TargetCluster) -> None:
    if _release_status(target) and not _release_status(target, "--selector", f"made-by={CREATED_BY_QUICKSTART}"):
        raise UserError(f"Namespace {NAMESPACE} has a Helm release {RELEASE} that quickstart did not create; "
                      "upgrade it with helm, or use another cluster.")
    if _release_status(target).startswith(("pending", "uninstalling")):
        # Helm was interrupted and rejects further upgrades. Jobs keep running until the next install.
        target.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--no-hooks")


def _release_status(target: TargetCluster, *selection: str) -> str:
    """Status of the Helm release; empty if there is none."""
    printed = target.helm("list", "--namespace", NAMESPACE, "--deployed", "--failed", "--pending", "--uninstalling",
                          *selection, "--output", "json")
    return next((release["status"] for release in json.loads(printed) if release["name"] == RELEASE), "")


def _wait_for_rollout(target: TargetCluster) -> None:
    for deployment in (f"{RELEASE}-vipu-server", RELEASE):
        try:
            target.kubectl("--namespace", NAMESPACE, "rollout", "status", f"deployment/{deployment}",
                           "--timeout=120s")
        except UserError as error:
            pods = target.report("--namespace", NAMESPACE, "get", "pods")
            events = target.report("--namespace", NAMESPACE, "get", "events", "--sort-by=.lastTimestamp")
            log = operator_log(target)
            raise UserError(f"{error}\n{pods}\n\n{events}\n\n{log}") from error


def operator_log(target: TargetCluster) -> str:
    return target.report("--namespace", NAMESPACE, "logs", f"deployment/{RELEASE}", "--tail=30")


def remove(target: TargetCluster) -> None:
    """Keeps the CustomResourceDefinition: deleting it deletes all IPUJobs."""
    if _release_status(target, "--selector", f"made-by={CREATED_BY_QUICKSTART}"):
        target.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "2m")
    if target.exists("namespace", "--field-selector", f"metadata.name={NAMESPACE}", "-l", f"{MARK}={CREATED_BY_QUICKSTART}"):
        target.kubectl("delete", "namespace", NAMESPACE)
    for node in target.get("nodes")["items"]:
        if node["metadata"].get("annotations", {}).get(MARK) == CREATED_BY_QUICKSTART:
            target.kubectl("label", "node", node["metadata"]["name"], f"{NODE_LABEL}-")
            target.kubectl("annotate", "node", node["metadata"]["name"], f"{MARK}-")
