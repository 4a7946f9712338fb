"""deploy/cluster without a node, and how it fails."""

import json
import os
import signal

import kube
import pytest
import support

pytestmark = pytest.mark.timeout(900)  # a first run builds Kubernetes


@pytest.fixture
def deployment(tmp_path):
    made = support.Deployment(tmp_path, "test-plane")
    yield made
    made.must("down")


def rejected(deployment, *arguments):
    """Runs a command that must fail with one sentence; that sentence."""
    done = deployment.start(*arguments)
    printed, complaint = done.communicate(timeout=60)
    assert done.returncode == 1
    assert printed == ""
    assert complaint.startswith("deploy/cluster: ")
    assert complaint.count("\n") == 1
    return complaint


def test_two_clusters_start_at_once_and_live_side_by_side(deployment, tmp_path):
    other = support.Deployment(tmp_path / "other", "test-plane")
    starting = [one.start("up", "--no-node", "--name", one.name) for one in (deployment, other)]
    try:
        for process in starting:
            _, complaint = process.communicate(timeout=900)
            assert process.returncode == 0, complaint
        assert deployment.slot != other.slot
        for one in (deployment, other):
            one.must("status")
            assert "serviceaccount/default" in one.kubectl("get", "serviceaccounts", "-o", "name")
    finally:
        other.must("down")
    deployment.must("status")


def test_pods_without_a_node_wait(deployment):
    deployment.must("up", "--no-node")
    deployment.kubectl("apply", "-f", "-", stdin=json.dumps(support.pod("waits", "true")))
    path = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}"
    assert kube.wait_for("the scheduler's word",
                            lambda: deployment.kubectl("get", "pod", "waits", "-o", path)) == "Unschedulable"


def test_bare_is_etcd_and_the_api_server(deployment):
    deployment.must("up", "--no-node", "--bare")
    assert "default" in deployment.kubectl("get", "namespaces")
    assert deployment.processes("kube-apiserver") and not deployment.processes("kube-scheduler")


def test_after_a_crash_up_finds_its_data_again(deployment):
    deployment.must("up", "--no-node", "--bare")
    deployment.kubectl("create", "namespace", "kept")
    for pid in deployment.processes():
        os.kill(pid, signal.SIGKILL)
    kube.wait_for("the end of all processes", lambda: not deployment.processes())
    deployment.must("up", "--no-node", "--bare")
    assert "kept" in deployment.kubectl("get", "namespaces")


def test_after_a_power_cut_that_spoilt_its_data_up_begins_empty(deployment):
    deployment.must("up", "--no-node", "--bare")
    deployment.kubectl("create", "namespace", "lost")
    for pid in deployment.processes():
        os.kill(pid, signal.SIGKILL)
    kube.wait_for("the end of all processes", lambda: not deployment.processes())
    for log in deployment.folder.glob("etcd/member/wal/*.wal"):
        log.write_bytes(b"\xff" * 4096)
    record = deployment.folder / "cluster.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"boot": "another"}))
    assert "starting with an empty cluster" in deployment.run("up", "--no-node", "--bare").stderr
    assert "lost" not in deployment.kubectl("get", "namespaces")


def test_programs_of_kubebuilder_assets_are_used(deployment, tmp_path):
    assets = tmp_path / "assets"
    assets.mkdir()
    for program in ("etcd", "kube-apiserver"):
        (assets / program).symlink_to(deployment.program(program))
    named = support.Deployment(tmp_path, "test-plane", KUBEBUILDER_ASSETS=str(assets), XDG_CACHE_HOME=str(tmp_path / "none"))
    named.must("up", "--no-node", "--bare")
    commands = [support.read(f"/proc/{pid}/cmdline").split(b"\0")[0].decode() for pid in named.processes()]
    assert sorted(commands) == [str(assets / "etcd"), str(assets / "kube-apiserver")]
    assert not (tmp_path / "none" / "ipu-operator").exists()


def test_a_failed_up_names_the_log_quotes_it_and_leaves_nothing_else(deployment, tmp_path):
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "etcd").symlink_to(deployment.program("etcd"))
    broken = assets / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho the very reason\nexit 3\n")
    broken.chmod(0o755)
    failing = support.Deployment(tmp_path, "test-plane", KUBEBUILDER_ASSETS=str(assets))
    done = failing.run("up", "--no-node", "--bare")
    assert done.returncode == 1
    log = failing.folder / "logs" / "kube-apiserver.log"
    assert "exit status 3" in done.stderr and str(log) in done.stderr and "the very reason" in done.stderr
    assert log.exists()
    assert not failing.processes()
    assert [path.name for path in failing.folder.iterdir()] == ["logs"]


def test_what_is_not_known_is_rejected_in_one_sentence(deployment):
    assert "invalid choice: 'fly'" in rejected(deployment, "fly")
    assert "Cluster 'nowhere' not found" in rejected(deployment, "kubeconfig", "--name", "nowhere")
    assert "Cluster 'nowhere' not found" in rejected(deployment, "load", "x.tar", "--name", "nowhere")
    assert "is not a valid cluster name" in rejected(deployment, "up", "--name", "../etc")
    assert "--no-node" in rejected(deployment, "up", "--bare")
    assert "'1.29' is not a Kubernetes version: expected one such as v1.29.2" in rejected(
        deployment, "build", "--kubernetes", "1.29")


def test_logs_of_an_unknown_component_name_the_known_ones(deployment):
    deployment.must("up", "--no-node", "--bare")
    assert "etcd, kube-apiserver" in rejected(deployment, "logs", "kubelet", "--name", deployment.name)
    assert "Golang settings" in deployment.must("logs", "kube-apiserver")
