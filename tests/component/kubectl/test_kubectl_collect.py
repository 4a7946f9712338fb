"""kubectl ipu collect against a real API server: what is in the archive, and what is not."""

import io
import json
import os
import re
import stat
import tarfile
from subprocess import PIPE

import pytest
from test_kubectl_verbs import make, make_pod, viewer

SECRET = "correct-horse-battery"
FOLDER = "ipu-operator-support/"
LABELS = {"app.kubernetes.io/part-of": "ipu-operator"}


def read(archive):
    """The members by name; that they can be read shows that the archive is whole."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        return {member.name.removeprefix(FOLDER): members.extractfile(member).read().decode() for member in members}


def names(objects):
    return [item["metadata"]["name"] for item in json.loads(objects)["items"]]


def make_operator_pod(namespace, containers=("operator",)):
    """A pod that looks like the operator's. Its node is gone, so that its log cannot be read."""
    secrets = {"env": [{"name": "TOKEN", "value": SECRET}], "args": [f"--token={SECRET}"]}
    namespace.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ipu-operator-0", "labels": LABELS},
                      "spec": {"nodeName": "gone", "containers": [{"name": name, "image": "i"} | secrets for name in containers]}})
    namespace("patch", "pod", "ipu-operator-0", "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"containerStatuses": [
        {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {}} for name in containers]}}))


@pytest.fixture
def other_namespace(cluster):
    """One that is listed before the others."""
    cluster("create", "namespace", "a-team")
    yield cluster.within("a-team")
    cluster("delete", "namespace", "a-team", "--wait=false")


@pytest.fixture
def webhook(cluster, namespace):
    """What the chart installs for an operator in that namespace; it is asked about nothing."""
    service = {"name": "ipu-operator-webhook-svc", "namespace": namespace.namespace, "path": "/"}
    cluster.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                    "metadata": {"name": "ipu-operator-admission", "labels": LABELS},
                    "webhooks": [{"name": "mipujob.graphcore.ai", "clientConfig": {"service": service}, "rules": [],
                                  "admissionReviewVersions": ["v1"], "sideEffects": "None"}]})
    yield
    cluster("delete", "mutatingwebhookconfiguration", "ipu-operator-admission")


def test_an_admin_collects_all_that_helps_and_no_secret(cluster, namespace, ipu, tmp_path):
    make(namespace, "digits", launcherStatus="Running", lastMessage="")
    make_pod(namespace, "digits", 0, {"phase": "Running"})
    namespace("annotate", "ipujob", "digits", f"example.com/note={SECRET}", "graphcore.ai/release=p-0")
    namespace("create", "secret", "generic", "s", f"--from-literal=password={SECRET}")
    make_operator_pod(namespace)
    archive = tmp_path / "a.tar.gz"
    done = ipu(cluster.kubeconfig, "collect", "--file", archive)
    assert (done.returncode, done.stdout) == (0, f"{archive}\n")
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    members = read(archive.read_bytes())
    assert {"README.txt", "version.json", "ipujobs.json", "pods.json", "events.json", "nodes.json", "crds.json",
            f"{namespace.namespace}/operator/partitions.json", "problems.txt"} <= members.keys()
    assert "digits" in names(members["ipujobs.json"]) and "digits-worker-0" in names(members["pods.json"])
    assert names(members["operator-pods.json"]) == ["ipu-operator-0"]
    assert not [name for name, text in members.items() if SECRET in text]
    assert '"graphcore.ai/release":\t"p-0"' in members["ipujobs.json"]
    problem = f"{namespace.namespace}/operator/ipu-operator-0-operator.log"
    assert problem in members["problems.txt"] and f"left out {problem}" in done.stderr


def test_pods_that_look_like_the_operators_do_not_push_it_out(cluster, namespace, other_namespace, webhook, ipu, tmp_path):
    """Anybody may label pods, also those in a namespace that is listed before the operator's."""
    make_operator_pod(other_namespace, [f"c{n}" for n in range(12)])
    make_operator_pod(namespace)
    archive = tmp_path / "a.tar.gz"
    assert ipu(cluster.kubeconfig, "collect", "--file", archive).returncode == 0
    members = read(archive.read_bytes())
    ours = (f"{namespace.namespace}/operator", "a-team/operator")  # pods of other tests are there for some time
    tried = [line.split(": ")[0] for line in members["problems.txt"].splitlines() if line.startswith(ours)]
    assert tried == [f"{namespace.namespace}/operator/ipu-operator-0-operator.log",
                     *(f"a-team/operator/ipu-operator-0-c{n}.log" for n in range(10)), "a-team/operator"]
    assert names(members["webhooks.json"]) == ["ipu-operator-admission"]
    assert {"a-team/operator/leases.json", f"{namespace.namespace}/operator/leases.json"} <= members.keys()


def test_a_viewer_collects_the_namespace(cluster, namespace, ipu, tmp_path):
    make(namespace, "digits", launcherStatus="Running", lastMessage="")
    done = ipu(viewer(cluster, namespace, tmp_path), "collect", "-f", "-", text=False, errors=None, input=b"")
    assert done.returncode == 0
    members = read(done.stdout)
    assert names(members["ipujobs.json"]) == ["digits"]
    assert "nodes.json" not in members and "nodes.json: " in members["problems.txt"]


def test_no_file_is_replaced(cluster, ipu, tmp_path):
    archive = tmp_path / "a.tar.gz"
    archive.write_text("mine")
    done = ipu(cluster.kubeconfig, "collect", "-f", archive)
    assert done.returncode == 1 and done.stderr == f"kubectl ipu: cannot write {archive}: File exists\n"
    assert archive.read_text() == "mine"
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(tmp_path / "nowhere")
    os.mkfifo(pipe)
    for path in (link, pipe):
        assert ipu(cluster.kubeconfig, "collect", "-f", path).stderr == f"kubectl ipu: cannot write {path}: File exists\n"
    assert not (tmp_path / "nowhere").exists()


def test_a_full_disk_is_said(cluster, ipu):
    with open("/dev/full", "wb") as full:
        done = ipu(cluster.kubeconfig, "collect", "-f", "-", capture_output=False, stdout=full, stderr=PIPE)
    assert done.returncode == 1 and "cannot write -: No space left on device" in done.stderr


def test_the_default_name_has_the_time(cluster, namespace, ipu, tmp_path):
    done = ipu(cluster.kubeconfig, "collect", cwd=tmp_path)
    assert done.returncode == 0 and os.listdir(tmp_path) == [done.stdout.strip()]
    assert re.fullmatch(r"ipu-operator-support-\d{8}-\d{6}\.tar\.gz\n", done.stdout)  # tar reads a colon as a host's
