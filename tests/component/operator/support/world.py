"""One test's world: a namespace on the real API server, V-IPU controllers, an operator, and a node that is played."""

import contextlib
import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import yaml

from api_proxy import ApiProxy
from kube_api import Api, Rejected
from kubelet import Automatic, Kubelet, is_stopped
from operator_program import ROOT, Operator
from tcp_proxy import TcpProxy
from vipu_side import VipuProxy, VipuServer
from waiting import DEADLINE_S, until

sys.path += [str(ROOT / "deploy/local"), str(ROOT / "tests/lib")]

from guard import Guard  # noqa: E402
from local_cluster import processes  # noqa: E402
from local_cluster.addresses import Addresses  # noqa: E402
from local_cluster.paths import ClusterPaths  # noqa: E402

OPERATOR_NS = "ipu-system"
ACCOUNT = "ipu-operator-controller"
LEASE = "ipu-operator"
FINALIZER = "graphcore.ai/ipu-partitions"
RECORD = "graphcore.ai/partition-record"
NAME = "graphcore.ai/job-name"
INVALID = 422
CHART = ROOT / "charts/ipu-operator"
numbers = itertools.count(1)
# What the chart makes to give the operator its rights, and to hold it to what they are for.
PERMISSIONS = {
    "ServiceAccount": "serviceaccounts", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles", "RoleBinding": "rolebindings", "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


class Cluster:
    """A control plane without a node, with the IPUJob resource and the permissions that the chart gives."""

    def __init__(self, name):
        self.name = name
        self._guard = Guard(ROOT / "deploy/cluster", "down", "--name", name)
        self.down()  # that of a run that was killed
        self.up()
        self.kubeconfig = self._say("kubeconfig")
        self.api = Api(self.kubeconfig)
        self._version = self.api.request("GET", "/version")["gitVersion"]
        self.api.apply("namespaces", None, {"metadata": {"name": OPERATOR_NS}})
        self._install()
        self.token = self.token_of(ACCOUNT)

    def _run(self, *words):
        return subprocess.run([ROOT / "deploy/cluster", *words], check=True, stdout=subprocess.PIPE, text=True,
                              timeout=1800).stdout.strip()

    def _say(self, command, *words):
        return self._run(command, *words, "--name", self.name)

    def token_of(self, account):
        return self.api.create("serviceaccounts", OPERATOR_NS, {"spec": {"expirationSeconds": 7200}}, "token",
                               account)["status"]["token"]

    def up(self):
        self._say("up", "--no-node", "--audit")
        # Who plays a node binds its pods. What a scheduler says about a pod could come at any time after that.
        os.kill(self._component("kube-scheduler"), signal.SIGKILL)

    def down(self):
        self._say("down")

    def end(self):
        self.down()
        self._guard.release()

    def _component(self, name):
        return processes.running(ClusterPaths(self.name), name, name).pid

    def audit_log(self):
        """What ServiceAccounts have asked for."""
        return ClusterPaths(self.name).log("audit")

    def crash_api_server(self):
        """It is killed, and with it whatever it remembered."""
        os.kill(self._component("kube-apiserver"), signal.SIGKILL)

    def compact(self):
        """etcd forgets everything but the newest."""
        record = json.loads(ClusterPaths(self.name).record.read_text())
        etcd = http.client.HTTPConnection("127.0.0.1", Addresses(record["slot"]).etcd_port, timeout=10)
        newest = self.api.request("GET", self.api.path("namespaces"))["metadata"]["resourceVersion"]
        etcd.request("POST", "/v3/kv/compaction", json.dumps({"revision": newest, "physical": True}))
        answer = etcd.getresponse()
        assert answer.status == 200, answer.read()
        etcd.close()

    def next_second(self):
        """What is made from now on is younger: the API server tells ages in whole seconds."""
        began = int(time.time())
        until(lambda: int(time.time()) > began, "the next second")

    def _install(self):
        for path in (CHART / "crds").glob("*.yaml"):
            self.api.apply("customresourcedefinitions", None, yaml.safe_load(path.read_text()))
        until(self._is_served, "the IPUJob resource is served")
        self.grant()

    def rendered(self, *values):
        """The chart's objects, without webhooks unless they are asked for."""
        text = subprocess.run([f"{self._run('bin')}/helm", "template", "ipu-operator", CHART, "-n", OPERATOR_NS, "--set",
                               "admissionWebhooks.enabled=false", "--kube-version", self._version, *values],
                              check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
        return [item for item in yaml.safe_load_all(text) if item]

    def grant(self, *values):
        """The operator's rights, as the chart has them with these values."""
        for item in self.rendered(*values):
            if item["kind"] in PERMISSIONS:
                self.api.apply(PERMISSIONS[item["kind"]], item["metadata"].get("namespace"), item)

    def _is_served(self):
        crd = self.api.get("customresourcedefinitions", None, "ipujobs.graphcore.ai")
        return any(condition["type"] == "Established" and condition["status"] == "True"
                   for condition in crd.get("status", {}).get("conditions") or [])


def container(name="train", **more):
    return {"name": name, "image": "docker.io/library/train:1", "command": ["train"], **more}


def pod_template(*containers, **spec):
    return {"spec": {"containers": list(containers) or [container()], **spec}}


class Lenient:
    """As long as it lasts, the IPUJob resource takes anything for a spec."""

    NAME = "ipujobs.graphcore.ai"

    def __init__(self, api, ns):
        self._api, self._ns = api, ns

    def __enter__(self):
        crd = self._api.get("customresourcedefinitions", None, self.NAME)
        self._versions = crd["spec"]["versions"]
        loose = json.loads(json.dumps(self._versions))
        anything = {"x-kubernetes-preserve-unknown-fields": True}
        old = loose[0]["schema"]["openAPIV3Schema"]
        loose[0]["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {
            "spec": {"type": "object", **anything}, "status": old["properties"]["status"]}}
        self._set(loose, lambda: self._rejection() is None)

    def __exit__(self, *_):
        self._set(self._versions, lambda: self._rejection() == INVALID)

    def _set(self, versions, is_in_force):
        self._api.patch("customresourcedefinitions", None, self.NAME, {"spec": {"versions": versions}})
        until(is_in_force, "the changed definition is in force")

    def _rejection(self):
        try:
            self._api.request("POST", self._api.path("ipujobs", self._ns) + "?dryRun=All", {
                "apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "x"},
                "spec": {"ipusPerJobInstance": "any"}})
        except Rejected as rejected:
            return rejected.status
        return None


class Job:
    """An IPUJob and what belongs to it."""

    def __init__(self, world, ns, name):
        self.world, self.ns, self.name = world, ns, name

    def get(self):
        return self.world.api.get("ipujobs", self.ns, self.name)

    @property
    def status(self):
        return (self.get() or {}).get("status", {})

    @property
    def uid(self):
        return self.get()["metadata"]["uid"]

    def condition(self, kind):
        return next((c for c in self.status.get("conditions", []) if c["type"] == kind), {})

    def is_in(self, state, reason=None):
        status = self.status
        return status.get("launcherStatus") == state and reason in (None, status.get("reason")) and status

    def wait(self, state, reason=None, seconds=DEADLINE_S):
        """Its status, once it says that."""
        return until(lambda: self.is_in(state, reason), f"{self.name} is {state} {reason or ''}", seconds,
                     lambda: json.dumps(self.status, indent=1) + "\n" + self.world.tell())

    def pods(self):
        pods = self.world.api.list("pods", self.ns, f"{NAME}={self.name}")
        return {pod["metadata"]["name"]: pod for pod in pods}

    def wait_pods(self, count, seconds=DEADLINE_S):
        """Its pods, once that many are there and none of them is going."""
        def there():
            pods = self.pods()
            going = any(pod["metadata"].get("deletionTimestamp") or is_stopped(pod) for pod in pods.values())
            return len(pods) == count and not going and pods
        return until(there, f"{self.name} has {count} pods", seconds, self.world.tell)

    def wait_logs_kept(self, *names):
        """These pods, once the operator has stopped them and their node has ended them."""
        def kept():
            pods = self.pods()
            return all(name in pods and is_stopped(pods[name]) and pods[name]["status"]["phase"] == "Failed"
                       and "deletionTimestamp" not in pods[name]["metadata"] for name in names) and pods
        return until(kept, f"{', '.join(names)} are kept for their logs", tell=self.world.tell)

    def run_pods(self, count):
        """Plays their start; the pods."""
        for pod in self.wait_pods(count).values():
            self.world.kubelet.run(pod)
        return self.pods()

    def records(self):
        """Records of this very object, by the partition's id."""
        return self.world.records(lambda data: data["jobName"] == self.name and data["jobNamespace"] == self.ns)

    def patch(self, body):
        return self.world.api.patch("ipujobs", self.ns, self.name, body)

    def annotate(self, **annotations):
        self.patch({"metadata": {"annotations": annotations}})

    def delete(self):
        self.world.api.delete("ipujobs", self.ns, self.name, propagationPolicy="Background")

    def wait_gone(self, seconds=DEADLINE_S):
        until(lambda: self.get() is None, f"{self.name} has gone", seconds,
              lambda: json.dumps(self.status, indent=1) + "\n" + self.world.tell())

    def wait_released(self, seconds=DEADLINE_S):
        """Neither a record nor a partition of it is left."""
        until(lambda: not self.records(), f"no record of {self.name} is left", seconds, self.world.tell)

    def reasons_reported(self):
        return {event["reason"] for event in self.events()}

    def events(self):
        return [event for event in self.world.api.list("events", self.ns) if event["regarding"]["name"] == self.name]


class World:
    def __init__(self, cluster, folder, ns):
        self.cluster, self.folder, self.ns = cluster, folder, f"{ns}{next(numbers)}"  # an old one may still be going
        self.api = cluster.api
        self.token = cluster.token
        self.operator = None
        self._namespaces, self._closing = [], contextlib.ExitStack()
        self._closing.callback(self.forget_lease)
        self._closing.callback(self._remove_nodes)
        self.make_namespace(self.ns)
        self.kubelet = self.make_node("ipu-node")
        self._closing.callback(self._remove_objects)

    # Parts of a world. What is made here ends with it.

    def keep(self, part, end):
        self._closing.callback(end)
        return part

    def make_namespace(self, ns):
        self.api.create("namespaces", None, {"metadata": {"name": ns}})
        self._namespaces.append(ns)
        until(lambda: self.api.get("serviceaccounts", ns, "default"), f"namespace {ns} has its service account")
        return ns

    def make_vipu(self, config=None, name="vipu"):
        server = VipuServer(self.folder / name, *([config] if config else []))
        return self.keep(server, server.stop)

    def make_vipu_proxy(self, server):
        proxy = VipuProxy(server.address)
        return self.keep(proxy, proxy.close)

    def make_api_proxy(self):
        proxy = ApiProxy(self.api.server)
        return self.keep(proxy, proxy.close)

    def make_tcp_proxy(self):
        proxy = TcpProxy(self.api.server.host, self.api.server.port)
        return self.keep(proxy, proxy.close)

    def make_node(self, name, **how):
        return Kubelet(self.api, name).make_node(**how)

    def automatic(self, exits=lambda pod: None, starts=lambda pod: True):
        node = Automatic(self.kubelet, self._namespaces, exits, starts)
        return self.keep(node, node.stop)

    def kubeconfig(self, proxy=None, name="kubeconfig"):
        """For the operator: with its own service account, and through the proxy if there is one."""
        where = {"server": self.api.server.url, "certificate-authority-data": self.api.server.ca}
        if isinstance(proxy, ApiProxy):
            where = {"server": proxy.url}
        elif isinstance(proxy, TcpProxy):
            where["server"] = f"https://127.0.0.1:{proxy.port}"
        path = self.folder / name
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": where}],
            "users": [{"name": "it", "user": {"token": self.token}}]}))
        return path

    def make_operator(self, controllers, *flags, proxy=None):
        """controllers: the text of vipuControllers."""
        config = self.folder / "controllers.yaml"
        config.write_text(yaml.safe_dump({"vipuControllers": controllers}))
        self.operator = Operator(self.folder, "--config", config, "--namespace", OPERATOR_NS, "--kubeconfig",
                                 self.kubeconfig(proxy), *flags)
        return self.keep(self.operator, self.operator.kill)

    def start_operator(self, controllers, *flags, proxy=None):
        return self.make_operator(controllers, *flags, proxy=proxy).start().until_working()

    def restart_operator(self):
        """After kill(): releases the lease, so that no operator has to wait until it expires."""
        self.forget_lease()
        return self.operator.start().until_working()

    def forget_lease(self):
        self.api.delete("leases", OPERATOR_NS, LEASE)

    # What there is.

    def job(self, name, ns=None, **spec):
        """Applies a job of one instance, one worker and four IPUs, unless told otherwise."""
        whole = {"jobInstances": 1, "ipusPerJobInstance": "4", **spec}
        whole.setdefault("workers", {"template": pod_template()})
        self.api.create("ipujobs", ns or self.ns, {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob",
                                                   "metadata": {"name": name}, "spec": whole})
        return Job(self, ns or self.ns, name)

    def lenient_definition(self):
        return Lenient(self.api, self.ns)

    def records(self, matches=lambda data: True):
        """Those that stand for a partition."""
        return self._records(lambda data: "spentAt" not in data and matches(data))

    def spent(self):
        """Those that only keep their ids from being used again."""
        return self._records(lambda data: "spentAt" in data)

    def _records(self, matches=lambda data: True):
        found = self.api.list("configmaps", OPERATOR_NS, RECORD)
        return {item["metadata"]["name"]: item["data"] for item in found if matches(item["data"])}

    def lease(self):
        return self.api.get("leases", OPERATOR_NS, LEASE)

    def tell(self):
        return self.operator.tail() if self.operator else ""

    # The end.

    def close(self):
        """Ends everything, whatever goes wrong with one part; the operator must end well, and must not have misbehaved."""
        with self._closing:
            code = self.operator.end() if self.operator and self.operator.process else 0
        if self.operator:
            self.operator.check_sanitizers()
        assert code in (0, -9), f"the operator ended with {code}:\n{self.tell()}"

    def _remove_objects(self):
        """The namespaces stay: to look for what is left in one, of each of sixty kinds, costs more than most tests."""
        for ns in self._namespaces:
            for job in self.api.list("ipujobs", ns):
                name = job["metadata"]["name"]
                self.api.delete("ipujobs", ns, name)
                if self.api.get("ipujobs", ns, name):
                    self.api.patch("ipujobs", ns, name, {"metadata": {"finalizers": None}})
            for pod in self.api.list("pods", ns):
                self.kubelet.vanish(pod)
        for name in self._records():
            self.api.delete("configmaps", OPERATOR_NS, name)
        for item in self.api.list("vipucontrollers"):
            self.api.delete("vipucontrollers", None, item["metadata"]["name"])

    def _remove_nodes(self):
        for node in self.api.list("nodes"):
            self.api.delete("nodes", None, node["metadata"]["name"])
