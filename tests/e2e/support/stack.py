"""The cluster under test with the product installed by Helm, seen as its users and its admin see it."""

import contextlib
import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import kube
import yaml
from guard import Guard
from local_cluster import processes
from local_cluster.addresses import Addresses
from local_cluster.paths import ClusterPaths

KEEP = bool(os.environ.get("E2E_KEEP"))
SYSTEM = "ipu-operator"
NODE_LABEL = "vipu-ctrl=vctl1"
# The second node takes only who asks for it: it is there to be lost.
SECOND = "node2"
SPARE = {"key": "e2e-spare", "operator": "Exists", "effect": "NoSchedule"}
IMAGE = "ipu-operator/ipu-examples:0.1.0"
HOLD_S = 20
HARDENED = ["networkPolicy.enabled=true", "flowSchema.enabled=true", "priorityClass.create=true"]
# One replica, so that the one that is killed leads; test_replicas.py asks for the webhooks.
VALUES = ["vipuServer.enabled=true", "vipuServer.ipus=64", f"controller.holdSeconds={HOLD_S}", "controller.replicas=1",
          "admissionWebhooks.enabled=false", "crds.upgrade=false", *HARDENED]
CHART = kube.ROOT / "charts" / "ipu-operator"


@contextlib.contextmanager
def brought_up(name):
    """A cluster of this name with the product, taken down afterwards; of a run that is to keep it, as it is."""
    made = Stack(name, kube.ROOT / os.environ.get("BUILD_DIR", "build/release"))
    is_there = subprocess.run([kube.CLUSTER, "status", "--name", name], capture_output=True, check=False).returncode == 0
    if KEEP and is_there:
        made.take_over()
        yield made
        return
    made.take_down()  # of a run that was killed
    guard = None if KEEP else Guard(kube.CLUSTER, "down", "--name", name)
    try:
        made.bring_up()
        yield made
    finally:
        if guard:
            made.take_down()
            guard.release()


class Stack:
    def __init__(self, name, build_dir):
        self.name, self._build_dir = name, build_dir
        self.context = f"ipu-{name}"  # in the cluster's kubeconfig
        self.programs = Path(kube.cluster("bin"))
        self.kubectl = None

    def bring_up(self):
        self.revive()
        self.take_over()
        self.kubectl("taint", "node", SECOND, f"{SPARE['key']}:{SPARE['effect']}", "--overwrite")
        for image in ("ipu-operator", "vipu-server", "ipu-launch", "ipu-examples"):
            archive = kube.run(kube.ROOT / "deploy" / "image", "build", image, "--build-dir", self._build_dir, timeout=600)
            self.load(archive.stdout.strip())
        self.label_nodes()
        self.install()

    def plugin(self):
        """kubectl ipu."""
        return self._build_dir / "kubectl" / "kubectl-ipu"

    def load(self, archive):
        """Its images are there for pods."""
        kube.cluster("load", archive, "--name", self.name)

    def install(self, *values):
        """The chart with these values beside the usual ones, whatever is installed."""
        kube.run(self.programs / "helm", "upgrade", "--install", "ipu-operator", CHART,
                 "--kubeconfig", self.kubectl.kubeconfig, "--namespace", SYSTEM, "--create-namespace",
                 *(f"--set={value}" for value in (*VALUES, *values)))
        for deployment in ("ipu-operator-vipu-server", "ipu-operator"):
            self.system("rollout", "status", f"deployment/{deployment}", "--timeout=240s", timeout=250)
        kube.wait_for("those before are gone", lambda: all(
            "deletionTimestamp" not in pod["metadata"] for pod in self.system.items("pods")), 120)

    def helm(self, *words, **how):
        """What Helm says."""
        return kube.run(self.programs / "helm", *words, **how).stdout

    def rendered(self, *values):
        """The chart's objects with these values beside the usual ones."""
        text = kube.run(self.programs / "helm", "template", "ipu-operator", CHART, "--namespace", SYSTEM,
                        *(f"--set={value}" for value in (*VALUES, *values))).stdout
        return [thing for thing in yaml.safe_load_all(text) if thing]

    @contextlib.contextmanager
    def alone(self, namespace):
        """In place of the operator another one that has this namespace alone, with the same V-IPU controller."""
        deployment = "deployment/ipu-operator"
        entry = "global.vipuControllers[0]"
        values = [f"controller.watchNamespace={namespace}", "controller.partitionPrefix=alone",
                  "admissionWebhooks.enabled=false", f"{entry}.host=ipu-operator-vipu-server.{SYSTEM}.svc",
                  f"{entry}.selector={NODE_LABEL}", f"{entry}.secretRef.name=ipu-operator-vipu-keys"]
        keys = self.system.get("secret", "ipu-operator-vipu-keys")
        self.kubectl.within(namespace).create({"apiVersion": "v1", "kind": "Secret", "data": keys["data"],
                                               "metadata": {"name": "ipu-operator-vipu-keys"}})
        helm = [self.programs / "helm", "--kubeconfig", self.kubectl.kubeconfig, "--namespace", namespace]
        replicas = self.system.get("deployment", "ipu-operator")["spec"]["replicas"]
        self.system("scale", deployment, "--replicas=0")
        kube.wait_for("there is no leader", lambda: not self.leader(), 60)
        try:
            kube.run(*helm, "install", "alone", CHART, *(f"--set={value}" for value in values))
            self.kubectl.within(namespace)("rollout", "status", deployment, "--timeout=90s")
            yield
        finally:
            kube.run(*helm, "uninstall", "alone", "--wait", "--ignore-not-found")
            self.kubectl.within(namespace)("delete", "secret", "ipu-operator-vipu-keys")
            self.system("scale", deployment, f"--replicas={replicas}")
            self.wait_until_leading()

    def audit_log(self):
        """What ServiceAccounts have asked of the API server."""
        return ClusterPaths(self.name).log("audit")

    def revive(self):
        """The cluster, or what of it was killed."""
        kube.cluster("up", "--nodes", "2", "--audit", "--name", self.name)

    def take_over(self):
        """Uses the cluster as it is."""
        self.kubectl = kube.Kubectl(self.programs / "kubectl", kube.cluster("kubeconfig", "--name", self.name))

    def take_down(self):
        kube.cluster("down", "--name", self.name)

    def path(self):
        """A PATH with kubectl and helm in it."""
        return f"{self.programs}:{os.environ['PATH']}"

    def label_nodes(self):
        self.kubectl("label", "nodes", "--all", "--overwrite", NODE_LABEL)

    def unlabel_nodes(self):
        self.kubectl("label", "nodes", "--all", f"{NODE_LABEL.split('=')[0]}-")

    @property
    def system(self):
        """kubectl in the operator's namespace."""
        return self.kubectl.within(SYSTEM)

    # ---- the V-IPU controller and the records

    def partitions(self):
        """The partitions by id, as the V-IPU controller lists them."""
        printed = self.system("exec", "deployment/ipu-operator-vipu-server", "--", "vipu", "list", "partitions",
                              "--showjson")
        return {item["partition"]["id"]: item["partition"] for item in json.loads(printed)}

    def records(self, of_the_released=True):
        """The names of those that stand for a partition, one that is being given back included or not."""
        found = self.system.items("configmaps", "graphcore.ai/partition-record")
        return [item["metadata"]["name"] for item in found if "spentAt" not in item["data"]
                and (of_the_released or item["data"]["releasing"] != "true")]

    # ---- the operator's process

    def operator_pod(self):
        """The operator's pod that is not on its way out."""
        pods = self.system.items("pods", "control-plane=controller-manager")
        alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return alive[0] if alive else None

    def leader(self):
        """Who holds the lease: a pod's name and a random word."""
        lease = self.system.get("lease", "ipu-operator")
        return lease["spec"].get("holderIdentity") or "" if lease else ""

    def forget_lease(self):
        """Nobody has to wait for one that was killed with it."""
        self.system("delete", "lease", "ipu-operator", "--ignore-not-found")

    def leading_pod(self):
        """Waits for one: after a leader's end there is none for a moment."""

        def leads():
            leader = self.leader()
            pods = self.system.items("pods", "control-plane=controller-manager")
            return next((pod for pod in pods if leader.startswith(pod["metadata"]["name"])), None)

        return kube.wait_for("a pod leads", leads, 90)

    def wait_until_leading(self, other_than=""):
        """Waits until a living pod of the operator leads, and holds the lease under another name than before."""

        def leads():
            pod, leader = self.operator_pod(), self.leader()
            return pod and leader != other_than and leader.startswith(pod["metadata"]["name"]) and leader

        return kube.wait_for("the operator leads", leads, 90)

    def kill_operator(self):
        """kill -9 of its process. Its pod is replaced, because a kubelet restarts a killed container more and more
        slowly."""
        pod = kube.wait_for("the operator's container runs", lambda: self._running_operator(), 60)
        send(pod, signal.SIGKILL)
        self.system("delete", "pod", pod["metadata"]["name"], "--force", "--grace-period=0")

    def _running_operator(self):
        pod = self.operator_pod()
        states = pod["status"].get("containerStatuses", []) if pod else []
        return pod if states and "running" in states[0]["state"] else None

    def kill_vipu_server(self):
        """kill -9 of the V-IPU controller; the kubelet starts its container again, with what it had stored."""
        pod = self.system.items("pods", "app.kubernetes.io/component=vipu-server")[0]
        send(pod, signal.SIGKILL)
        self.wait_until_restarted(pod)

    def wait_until_restarted(self, pod):
        """The kubelet has started its container again, and it is ready."""

        def is_back():
            status = self.system.get("pod", pod["metadata"]["name"])["status"]["containerStatuses"][0]
            return status["restartCount"] > pod["status"]["containerStatuses"][0]["restartCount"] and status["ready"]

        kube.wait_for(f"{pod['metadata']['name']} is back", is_back, 120)

    def kill_component(self, component, program):
        """kill -9 of one of the cluster's own processes; what is still dying would look alive to who starts it again."""
        where = ClusterPaths(self.name)
        os.kill(processes.running(where, component, program).pid, signal.SIGKILL)
        kube.wait_for(f"the end of {component}", lambda: not processes.running(where, component, program))

    def containerd(self):
        """Where that of the first node answers."""
        return f"/proc/{processes.running(ClusterPaths(self.name), 'containerd', 'containerd').pid}/root/run/containerd/containerd.sock"

    @contextlib.contextmanager
    def cut_off(self):
        """The second node is cut off from the network, in both directions."""
        link = Addresses(json.loads(ClusterPaths(self.name).record.read_text())["slot"]).veth(2)
        kube.run("ip", "link", "set", link, "down")
        try:
            yield
        finally:
            kube.run("ip", "link", "set", link, "up")

    def wait_until_ready(self, node, is_ready=True):
        """Until what the cluster says of that node is known to all: taints follow its condition seconds later, and evict."""
        def answers():
            one = self.kubectl.get("node", node)
            is_tainted = any(t["key"].startswith("node.kubernetes.io/") for t in one["spec"].get("taints", []))
            conditions = one["status"]["conditions"]
            return is_tainted != is_ready and any(c["type"] == "Ready" and (c["status"] == "True") == is_ready for c in conditions)

        kube.wait_for(f"{node} is {'' if is_ready else 'not '}ready", answers, 150)

    def controllers(self):
        """What the leader knows of V-IPU controllers; the way to it takes a moment after an installation."""
        def page():
            with self.system.forward("deployment/ipu-operator", 8081) as url, contextlib.suppress(OSError):
                return urllib.request.urlopen(f"{url}/controllers", timeout=30).read().decode()
            return ""

        return json.loads(kube.wait_for("the leader tells", page, 90))["controllers"]

    def operator_log(self):
        return self.system("logs", "deployment/ipu-operator", "--tail=200")


def send(pod, number):
    """A signal to all processes of a pod's first container."""
    for pid in processes_of(pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]):
        with contextlib.suppress(ProcessLookupError):  # a probe or an exec that has just ended
            os.kill(pid, number)


def processes_of(container):
    """The processes of a container of the node, which share this machine's kernel."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if container in (folder / "cgroup").read_text():
                found.append(int(folder.name))
        except OSError:
            continue  # ended meanwhile
    return found
