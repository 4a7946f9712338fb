"""deploy/cluster with a node: real pods, and nothing left when it is down."""

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import kube
import pytest
import support
from local_cluster import network, programs

pytestmark = pytest.mark.timeout(900)  # a first run builds Kubernetes


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return support.write_busybox_image(tmp_path_factory.mktemp("image") / "busybox.tar")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, image):
    """One running cluster with the busybox image and a web server behind a service."""
    deployment = support.Deployment(tmp_path_factory.mktemp("state"), "test-node")
    deployment.must("up")
    try:
        assert deployment.must("load", str(image)) == support.IMAGE
        serve(deployment)
        yield deployment
    finally:
        deployment.must("down")


def serve(deployment):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}}
    server = support.pod("web", "mkdir /w; echo hello > /w/index.html; exec httpd -f -p 8080 -h /w",
                         labels={"app": "web"})
    for made in (service, server):
        deployment.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    deployment.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=110s")
    kube.wait_for("an endpoint of the service", lambda: deployment.kubectl(
        "get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o", "jsonpath={.items[*].endpoints[*].addresses}"))


def log_of(deployment, manifest):
    """Runs the pod to completion; its log."""
    name = manifest["metadata"]["name"]
    deployment.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    phase = kube.wait_for(f"the end of pod {name}", lambda: ended(deployment, name))
    log = deployment.kubectl("logs", name)
    assert phase == "Succeeded", log
    return log


def ended(deployment, name):
    phase = deployment.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}")
    return phase if phase in ("Succeeded", "Failed") else ""


def test_a_pod_completes_and_its_log_reads(cluster):
    assert log_of(cluster, support.pod("speaks", "echo spoken; hostname")) == "spoken\nspeaks"


def test_a_pod_that_fails_reports_its_exit_code(cluster):
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(support.pod("fails", "exit 7")))
    kube.wait_for("the end of the pod", lambda: ended(cluster, "fails") == "Failed")
    path = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"
    assert cluster.kubectl("get", "pod", "fails", "-o", path) == "7"


def test_a_service_answers_by_ip_and_by_name(cluster):
    ip = cluster.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    script = f"wget -q -O - http://{ip}; wget -q -O - http://web; wget -q -O - http://web.default.svc.cluster.local"
    # kube-proxy learns of an endpoint a moment after it is listed.
    script = f"until timeout 2 wget -q -O - http://{ip} >/dev/null; do sleep 0.1; done; {script}"
    assert log_of(cluster, support.pod("client", script)) == "hello\nhello\nhello"


def test_a_service_answers_its_own_pod_and_the_host(cluster):
    assert cluster.kubectl("exec", "web", "--", "timeout", "60", "wget", "-q", "-O", "-", "http://web.default") == "hello"
    ip = cluster.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    with urllib.request.urlopen(f"http://{ip}/", timeout=60) as answer:
        assert answer.read() == b"hello\n"


def test_a_pod_reaches_the_api_server(cluster):
    """By name, with the pod's own token and CA, as a Go client finds them."""
    folder = str(programs.find("kubectl").parent)
    manifest = support.pod("asks", "/programs/kubectl get --raw /version",
                           volumes=[{"name": "programs", "hostPath": {"path": folder}}],
                           container={"volumeMounts": [{"name": "programs", "mountPath": "/programs", "readOnly": True}]})
    assert json.loads(log_of(cluster, manifest))["gitVersion"] == programs.KUBERNETES_VERSION


def test_a_name_beyond_the_cluster_does_not_exist(cluster):
    assert "NXDOMAIN" in log_of(cluster, support.pod("lost", "nslookup example.com. || true"))


def test_exec_cp_and_port_forward(cluster, tmp_path):
    assert cluster.kubectl("exec", "web", "--", "cat", "/w/index.html") == "hello"
    (tmp_path / "file").write_text("copied\n")
    cluster.kubectl("cp", str(tmp_path / "file"), "web:/w/copy")
    with subprocess.Popen([cluster.program("kubectl"), f"--kubeconfig={cluster.folder / 'kubeconfig'}",
                           "port-forward", "pod/web", ":8080"], stdout=subprocess.PIPE, text=True) as forward:
        try:
            port = forward.stdout.readline().split(":")[1].split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/copy", timeout=60) as answer:
                assert answer.read() == b"copied\n"
        finally:
            forward.terminate()


def test_host_network_host_ipc_locked_memory_and_memory_volumes(cluster):
    """What training pods ask for."""
    script = ("hostname; wget -q -O - http://web; grep -q ' /memory tmpfs ' /proc/mounts; "
              "grep -q ' /dev/shm tmpfs ' /proc/mounts; echo locked > /dev/shm/x; rm /dev/shm/x; "
              "grep CapEff /proc/self/status")
    manifest = support.pod(
        "trains", script, hostNetwork=True, hostIPC=True, dnsPolicy="ClusterFirstWithHostNet",
        volumes=[{"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
        container={"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}},
                   "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}},
                   "volumeMounts": [{"name": "memory", "mountPath": "/memory"}]})
    name, page, capabilities = log_of(cluster, manifest).splitlines()
    assert (name, page) == ("node1", "hello")
    assert int(capabilities.split()[1], 16) == 1 << 14


def test_a_container_over_its_memory_limit_is_killed(cluster):
    manifest = support.pod("greedy", "tail -c 100000000 /dev/zero",
                           container={"resources": {"limits": {"memory": "16Mi"}}})
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    kube.wait_for("the end of the pod", lambda: ended(cluster, "greedy") == "Failed")
    path = "jsonpath={.status.containerStatuses[0].state.terminated.reason}"
    assert cluster.kubectl("get", "pod", "greedy", "-o", path) == "OOMKilled"


def test_the_machine_keeps_its_own_settings_and_mounts(cluster):
    assert str(cluster.folder) not in Path("/proc/self/mountinfo").read_text()
    node = cluster.processes("pause")[0]
    assert os.readlink(f"/proc/{node}/ns/net") != os.readlink("/proc/self/ns/net")
    assert not [line for line in support.output("iptables-save").splitlines() if f"10.{cluster.slot}." in line]


def test_up_again_changes_nothing(cluster):
    before = cluster.processes()
    done = cluster.run("up")
    assert done.returncode == 0
    assert "already running" in done.stderr
    assert set(cluster.processes("kubelet")) <= set(before)


def test_up_with_another_shape_is_rejected(cluster):
    done = cluster.run("up", "--no-node")
    assert done.returncode == 1
    assert "a different shape" in done.stderr


def test_a_file_that_is_no_image_is_rejected(cluster, tmp_path):
    (tmp_path / "junk.tar").write_bytes(b"junk" * 1000)
    assert cluster.run("load", str(tmp_path / "junk.tar")).returncode == 1
    done = cluster.run("load", str(tmp_path / "absent.tar"))
    assert (done.returncode, "cannot be read" in done.stderr) == (1, True)


@pytest.mark.parametrize("victims", [["kubelet"], ["kube-apiserver", "etcd"], ["pause"], ["unshare"], ["containerd"]])
def test_up_brings_back_what_was_killed(cluster, victims):
    cluster.kubectl("create", "configmap", f"kept-{victims[0]}")
    for victim in victims:
        for pid in cluster.processes(victim):
            os.kill(pid, signal.SIGKILL)
    kube.wait_for("their end", lambda: not any(map(cluster.processes, victims)))
    kube.wait_for("the loss being seen", lambda: cluster.run("status").returncode == 1)
    done = cluster.run("up")
    assert done.returncode == 0, done.stderr
    assert "degraded" in done.stderr
    cluster.must("status")
    assert f"kept-{victims[0]}" in cluster.kubectl("get", "configmaps", "-o", "name")
    assert log_of(cluster, support.pod(f"after-{victims[0]}", "echo again")) == "again"


def down_leaves_nothing(deployment):
    slot = deployment.slot
    with network.slots_being_chosen():  # no other cluster gets that slot before it is checked
        deployment.must("down")
        assert support.traces(deployment, slot) == {}


def test_down_leaves_nothing(tmp_path, image):
    before = support.machine()
    deployment = support.Deployment(tmp_path, "test-gone")
    try:
        deployment.must("up")
        slot, node = deployment.slot, deployment.processes("pause")[0]
        namespace = os.readlink(f"/proc/{node}/ns/net")
        deployment.must("load", str(image))
        deployment.kubectl("apply", "-f", "-", stdin=json.dumps(support.pod("stays", "echo begun; exec sleep 3600")))
        deployment.kubectl("wait", "--for=condition=Ready", "pod/stays", "--timeout=110s")
        assert len(support.traces(deployment, slot)) >= 5  # the search below would see it
        assert support.namespace_members(namespace)
        down_leaves_nothing(deployment)
    finally:
        deployment.must("down")
    assert support.namespace_members(namespace) == []
    after = support.machine()
    assert {kind: after[kind] - before[kind] for kind in after} == {kind: set() for kind in after}
    assert not list(tmp_path.glob("**/*.lock"))
    deployment.must("down")


@pytest.mark.parametrize("moment", ["etcd", "kube-apiserver", "unshare", "containerd", "kubelet"])
def test_down_after_up_was_killed_in_the_middle(tmp_path, moment):
    deployment = support.Deployment(tmp_path, "test-cut")
    up = deployment.start("up", "--name", deployment.name)
    try:
        kube.wait_for(f"{moment} starting", lambda: deployment.processes(moment), seconds=600)
        up.kill()
        up.wait()
        down_leaves_nothing(deployment)
    finally:
        deployment.must("down")


def test_an_interrupted_up_takes_back_what_it_began(tmp_path):
    deployment = support.Deployment(tmp_path, "test-stopped")
    up = deployment.start("up", "--name", deployment.name)
    kube.wait_for("containerd starting", lambda: deployment.processes("containerd"), seconds=600)
    slot = deployment.slot
    up.send_signal(signal.SIGSTOP)  # it goes no further while others choose
    with network.slots_being_chosen():
        up.send_signal(signal.SIGINT)
        up.send_signal(signal.SIGCONT)
        _, complaint = up.communicate(timeout=180)
        left = support.traces(deployment, slot)
    assert up.returncode == 130
    assert "interrupted" in complaint
    assert set(left) <= {"files"}
    assert all("/logs" in path for path in left.get("files", []))
    deployment.must("down")
