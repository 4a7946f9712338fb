"""Plays the kubelet through the API: no container runs, but every object looks as if one did."""

import threading
import time
from http.client import HTTPException

from kube_api import Rejected


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def container_names(pod):
    return [container["name"] for container in pod["spec"]["containers"]]


def statuses(pod, state, **by_name):
    return [{"name": name, "image": "i", "imageID": "", "ready": "running" in state, "restartCount": 0,
             "state": by_name.get(name, state)} for name in container_names(pod)]


def terminated(code, message=""):
    return {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "message": message,
                           "startedAt": now(), "finishedAt": now()}}


def is_stopped(pod):
    """Was it given a deadline that has passed, to end it and to keep its log?"""
    return pod["spec"].get("activeDeadlineSeconds") == 1


class Kubelet:
    """The steps of a pod's life on one node; the node object is made here, and no pod is scheduled to it."""

    def __init__(self, api, node="ipu-node"):
        self.api, self.node = api, node

    def make_node(self, labels=None, boot_id="boot-1"):
        self.api.create("nodes", None, {"apiVersion": "v1", "kind": "Node",
                                        "metadata": {"name": self.node, "labels": labels or {}},
                                        "spec": {"unschedulable": True}})
        self.boot(boot_id)
        return self

    def boot(self, boot_id):
        fields = ("machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
                  "kubeProxyVersion", "operatingSystem", "architecture")
        info = {field: "" for field in fields} | {"bootID": boot_id}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
                 "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        self.api.patch("nodes", None, self.node, {"status": {"nodeInfo": info, "conditions": [ready]}}, "status")

    def label(self, labels):
        self.api.patch("nodes", None, self.node, {"metadata": {"labels": labels}})

    def taint(self, key):
        self.api.patch("nodes", None, self.node, {"spec": {"taints": [
            {"key": key, "value": "nodeshutdown", "effect": "NoExecute"}]}})

    def bind(self, pod):
        """False when it has a node already, or has gone."""
        meta = pod["metadata"]
        try:
            self.api.create("pods", meta["namespace"], {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": self.node}}, "binding", meta["name"])
        except Rejected as rejected:
            if rejected.status not in (404, 409):
                raise
            return False
        return True

    def report(self, pod, phase, containers, **more):
        placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": now()}
        meta = pod["metadata"]
        self.api.patch("pods", meta["namespace"], meta["name"], {"metadata": {"uid": meta["uid"]}, "status": {
            "phase": phase, "conditions": [placed, ready], "containerStatuses": containers, **more}}, "status")

    def run(self, pod, *ips):
        """Bound, started, ready, with these addresses, or an IPv4 one of its own."""
        if not pod["spec"].get("nodeName"):
            self.bind(pod)
        ips = ips or ["10." + ".".join(str(int(pod["metadata"]["uid"][n:n + 2], 16)) for n in (0, 2, 4))]
        self.report(pod, "Running", statuses(pod, {"running": {"startedAt": now()}}), podIP=ips[0],
                    podIPs=[{"ip": ip} for ip in ips])

    def succeed(self, pod):
        self.report(pod, "Succeeded", statuses(pod, terminated(0)))

    def fail(self, pod, code, message="", container=None):
        """That container (the first, if not named) ends with the code; the others with 0."""
        name = container or container_names(pod)[0]
        self.report(pod, "Failed", statuses(pod, terminated(0), **{name: terminated(code, message)}))

    def end(self, pod, code):
        if code == 0:
            self.succeed(pod)
        else:
            self.fail(pod, code)

    def end_stopped(self, pod, code=143):
        """What the node does at a deadline (kubernetes/kubernetes, pkg/kubelet/active_deadline.go)."""
        self.report(pod, "Failed", statuses(pod, terminated(code)), reason="DeadlineExceeded",
                    message="Pod was active on the node longer than the specified deadline")

    def end_deleted(self, pod):
        """What the node does when a pod was asked to go: its containers end, then the object does."""
        if pod.get("status", {}).get("phase") in ("Pending", "Running"):
            self.fail(pod, 143)
        self.vanish(pod)

    def vanish(self, pod):
        """Removed from the API by force, whatever the node does."""
        meta = pod["metadata"]
        try:
            self.api.request("DELETE", self.api.path("pods", meta["namespace"], meta["name"]),
                             {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
        except Rejected as rejected:
            if rejected.status not in (404, 409):
                raise


class Automatic:
    """A node at work by itself: runs what is pending, ends what is told to, and lets go what was deleted.
    exits(pod) is the exit code with which a running pod's program is over, or None; starts(pod) tells whether a
    pending one may run already."""

    WATCH_S = 5
    ASK_AGAIN_S = 0.2  # exits and starts change their minds without a pod's change

    def __init__(self, kubelet, namespaces, exits=lambda pod: None, starts=lambda pod: True):
        self.kubelet, self.namespaces, self.exits, self.starts = kubelet, namespaces, exits, starts
        self.ran = set()  # uids of the pods that it started
        self._pods, self._handled = {}, {}  # by uid: objects, and the versions that need nothing more
        self._ends, self._changed = threading.Event(), threading.Event()
        self._worker = threading.Thread(target=self._work, daemon=True)
        for thread in (self._worker, threading.Thread(target=self._watch, daemon=True)):
            thread.start()

    def _watch(self):
        while not self._ends.is_set():
            try:
                for kind, pods in self.kubelet.api.watch("pods", self.WATCH_S):
                    by_uid = {pod["metadata"]["uid"]: pod for pod in pods}
                    if kind == "LIST":
                        self._pods = by_uid
                    elif kind == "DELETED":
                        self._pods = {uid: pod for uid, pod in self._pods.items() if uid not in by_uid}
                    else:
                        self._pods = self._pods | by_uid
                    self._changed.set()
            except (OSError, HTTPException, Rejected):
                self._ends.wait(self.ASK_AGAIN_S)  # the API server is away for a moment

    def _work(self):
        while not self._ends.is_set():
            self._changed.wait(self.ASK_AGAIN_S)
            self._changed.clear()
            for uid, pod in self._pods.items():
                version = pod["metadata"]["resourceVersion"]
                if pod["metadata"]["namespace"] in self.namespaces and self._handled.get(uid) != version and self._step(pod):
                    self._handled[uid] = version

    def _step(self, pod):
        """Whether something was done, or tried in vain because the pod is another by now."""
        phase, node = pod["status"]["phase"], pod["spec"].get("nodeName")
        try:
            if pod["metadata"].get("deletionTimestamp"):
                self.kubelet.end_deleted(pod)
            elif phase == "Running" and is_stopped(pod):
                self.kubelet.end_stopped(pod)
            elif not node:
                if self.kubelet.bind(pod):
                    self.ran.add(pod["metadata"]["uid"])
            elif phase == "Pending" and self.starts(pod):
                self.kubelet.run(pod)
            elif phase == "Running" and (code := self.exits(pod)) is not None:
                self.kubelet.end(pod, code)
            else:
                return False
        except Rejected as rejected:
            return rejected.status in (404, 409) or self._must_be_away(rejected)
        except (OSError, HTTPException):
            return False
        return True

    @staticmethod
    def _must_be_away(rejected):
        """Of the API server's own trouble; the step is done again."""
        if rejected.status < 500:
            raise rejected
        return False

    def stop(self):
        self._ends.set()
        self._worker.join(30)
