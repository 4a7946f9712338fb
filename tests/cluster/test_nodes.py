"""deploy/cluster with two nodes."""

import json
import os
import signal
import subprocess

import kube
import pytest
import support
from local_cluster import network
from local_cluster.addresses import Addresses

pytestmark = pytest.mark.timeout(900)  # a first run builds Kubernetes


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    deployment = support.Deployment(tmp_path_factory.mktemp("state"), "test-nodes")
    image = support.write_busybox_image(tmp_path_factory.mktemp("image") / "busybox.tar")
    deployment.must("up", "--nodes", "2")
    slot = deployment.slot
    try:
        assert deployment.must("load", str(image)) == support.IMAGE
        yield deployment
    finally:
        with network.slots_being_chosen():  # no other cluster gets that slot before it is checked
            deployment.must("down")
            left = support.traces(deployment, slot)
    assert left == {}


def on(node, name, script, **more):
    return support.pod(name, script, nodeSelector={"kubernetes.io/hostname": node}, **more)


def start(cluster, manifest):
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))


def ready(cluster, node):
    return cluster.kubectl("get", "node", node, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].status}")


def test_pods_of_two_nodes_reach_each_other(cluster):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "far"},
               "spec": {"selector": {"app": "far"}, "ports": [{"port": 80, "targetPort": 8080}]}}
    start(cluster, service)
    start(cluster, on("node2", "far", "mkdir /w; hostname > /w/index.html; exec httpd -f -p 8080 -h /w",
                      labels={"app": "far"}))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/far", "--timeout=110s")
    ip = cluster.kubectl("get", "pod", "far", "-o", "jsonpath={.status.podIP}")
    script = f"for host in {ip}:8080 far; do until timeout 2 wget -q -O - http://$host; do sleep 0.1; done; done"
    start(cluster, on("node1", "near", script))
    kube.wait_for("the end of pod near", lambda: cluster.kubectl(
        "get", "pod", "near", "-o", "jsonpath={.status.phase}") == "Succeeded")
    assert cluster.kubectl("logs", "near") == "far\nfar"


def test_a_killed_kubelet_is_started_again_under_running_containers(cluster):
    start(cluster, on("node2", "stays", "exec sleep 3600"))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/stays", "--timeout=110s")
    for pid in cluster.processes("kubelet"):
        os.kill(pid, signal.SIGKILL)
    kube.wait_for("their end", lambda: not cluster.processes("kubelet"))
    assert cluster.run("status").returncode == 1
    done = cluster.run("up", "--nodes", "2")
    assert done.returncode == 0 and "dead: kubelet, kubelet-node2" in done.stderr, done.stderr
    assert cluster.kubectl("get", "pod", "stays", "-o",
                           "jsonpath={.status.phase} {.status.containerStatuses[0].restartCount}") == "Running 0"


def test_a_node_whose_network_is_cut_is_lost_and_comes_back(cluster):
    link = Addresses(cluster.slot).veth(2)
    subprocess.run(["ip", "link", "set", link, "down"], check=True)
    try:
        kube.wait_for("node2 is lost", lambda: ready(cluster, "node2") == "Unknown")
        assert ready(cluster, "node1") == "True"
    finally:
        subprocess.run(["ip", "link", "set", link, "up"], check=True)
    kube.wait_for("node2 is back", lambda: ready(cluster, "node2") == "True")


def test_another_number_of_nodes_is_another_shape(cluster):
    done = cluster.run("up")
    assert (done.returncode, "2 nodes" in done.stderr) == (1, True)
