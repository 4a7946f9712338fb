"""kubectl and deploy/cluster for tests, and waiting for what they do. Nothing here sleeps for a fixed time: a
condition is asked again until it holds or its deadline has passed."""

import json
import os
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "deploy" / "cluster"
DEADLINE_S = 120


def wait_for(what, condition, seconds=DEADLINE_S, interval_s=0.2):
    """The condition's value, as soon as it is true. `what` may be a function that tells how things stand."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(interval_s)
    return value


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

    def __init__(self, program, kubeconfig, namespace="default"):
        self.program, self.kubeconfig, self.namespace = str(program), str(kubeconfig), namespace
        self._env = {**os.environ, "KUBECONFIG": self.kubeconfig}

    def within(self, namespace):
        return Kubectl(self.program, self.kubeconfig, namespace)

    def __call__(self, *words, stdin=None, timeout=300):
        """What kubectl prints; it has to succeed."""
        return self.attempt(*words, stdin=stdin, timeout=timeout, check=True).stdout

    def attempt(self, *words, stdin=None, timeout=300, check=False):
        """The finished process, whatever its exit status."""
        return run(self.program, "-n", self.namespace, *words, stdin=stdin, timeout=timeout, check=check, env=self._env)

    def get(self, *words):
        """The object, or None when there is none."""
        printed = self("get", *words, "-o", "json", "--ignore-not-found")
        return json.loads(printed) if printed.strip() else None

    def items(self, *words):
        return json.loads(self("get", *words, "-o", "json"))["items"]

    def create(self, *objects):
        self("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def start(self, *words):
        """kubectl as a process that goes on; its output is a pipe."""
        return subprocess.Popen([self.program, "-n", self.namespace, *words], env=self._env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


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
