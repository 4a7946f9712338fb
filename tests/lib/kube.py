"""kubectl and deploy/cluster for tests, and waiting for what they do. Nothing here sleeps for a fixed time: a
condition is asked again until it holds or its deadline has passed."""

import contextlib
import json
import os
import re
import subprocess
import threading
from pathlib import Path

from kube_api import Api
from waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "deploy" / "cluster"
# Tests look at these many times a second: they are read without a process for each look.
READ_DIRECTLY = {"ipujob": "ipujobs", "pod": "pods", "pods": "pods", "configmaps": "configmaps", "lease": "leases", "node": "nodes",
                 "nodes": "nodes", "events.events.k8s.io": "events"}
OF_THE_CLUSTER = ("nodes",)


def wait_for(what, condition, seconds=DEADLINE_S, interval_s=0.1):
    """The condition's value, as soon as it is true. `what` may be a function that tells how things stand."""
    return until(condition, what, seconds, first_pause_s=interval_s)


def run(*words, check=True, stdin=None, timeout=300, env=None):
    """A finished process with its output as text; fails with its complaint."""
    done = subprocess.run([str(word) for word in words], input=stdin, capture_output=True, text=True, timeout=timeout,
                          env=env)
    assert not check or done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr or done.stdout}"
    return done


def cluster(*words):
    """What deploy/cluster prints; its progress goes to the test's own output."""
    done = subprocess.run([CLUSTER, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=1800)
    assert done.returncode == 0, f"deploy/cluster {' '.join(words)} failed; its complaint stands above"
    return done.stdout.strip()


class Kubectl:
    """kubectl for one cluster and one namespace."""

    def __init__(self, program, kubeconfig, namespace="default", api=None):
        self.program, self.kubeconfig, self.namespace = str(program), str(kubeconfig), namespace
        self._env = {**os.environ, "KUBECONFIG": self.kubeconfig}
        self._api = api or Api(kubeconfig)

    def within(self, namespace):
        return Kubectl(self.program, self.kubeconfig, namespace, self._api)

    def __call__(self, *words, stdin=None, timeout=300):
        """What kubectl prints; it has to succeed."""
        return self.attempt(*words, stdin=stdin, timeout=timeout, check=True).stdout

    def attempt(self, *words, stdin=None, timeout=300, check=False):
        """The finished process, whatever its exit status."""
        return run(self.program, "-n", self.namespace, *words, stdin=stdin, timeout=timeout, check=check, env=self._env)

    def get(self, kind, name):
        """The object, or None when there is none."""
        if plural := READ_DIRECTLY.get(kind):
            return self._api.get(plural, self._where(plural), name)
        printed = self("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(printed) if printed.strip() else None

    def items(self, kinds, selector=""):
        if plural := READ_DIRECTLY.get(kinds):
            return self._api.list(plural, self._where(plural), selector)
        return json.loads(self("get", kinds, "-l", selector, "-o", "json"))["items"]

    def _where(self, plural):
        return None if plural in OF_THE_CLUSTER else self.namespace

    def create(self, *objects):
        self("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def start(self, *words):
        """kubectl as a process that goes on; its output is a pipe."""
        return subprocess.Popen([self.program, "-n", self.namespace, *words], env=self._env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @contextlib.contextmanager
    def forward(self, what, port):
        """The address at which a port of a pod answers meanwhile."""
        tunnel = self.start("port-forward", what, f":{port}")
        try:
            begin = tunnel.stdout.readline()
            found = re.search(r"127\.0\.0\.1:(\d+)", begin)
            yield f"http://127.0.0.1:{found[1]}" if found else "http://127.0.0.1:1"
        finally:
            tunnel.kill()
            tunnel.wait()
            tunnel.stdout.close()


class Changes:
    """Counts what changes in these resources of all namespaces, as a watch tells it."""

    def __init__(self, kubectl, *resources):
        self.count = 0
        self._lock = threading.Lock()
        self._watches = [kubectl.start("get", resource, "--all-namespaces", "--watch-only", "-o", "name")
                         for resource in resources]
        self._readers = [threading.Thread(target=self._read, args=(watch,)) for watch in self._watches]
        for reader in self._readers:
            reader.start()

    def _read(self, watch):
        for _ in watch.stdout:
            with self._lock:
                self.count += 1

    def stop(self):
        for watch in self._watches:
            watch.kill()
            watch.wait()
        for reader in self._readers:
            reader.join()
