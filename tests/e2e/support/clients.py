"""Clients that use the operator while a test observes something else."""

import json
import threading

import kube
from jobs import job
from stack import IMAGE

CLIENTS = 3
# Prints status and text of a page. The certificate is the operator's own, which clients cannot verify.
ASK = """
import ssl, sys, urllib.error, urllib.request
page, body, token_file = sys.argv[1:]
headers = {"Authorization": "Bearer " + open(token_file).read()} if token_file else {}
request = urllib.request.Request(page, body.encode() or None, headers)
try:
    answer = urllib.request.urlopen(request, timeout=20, context=ssl._create_unverified_context())
except urllib.error.HTTPError as rejected:
    answer = rejected
print(answer.status, answer.read().decode())
"""


class DryRunClients:
    """Threads that create jobs (dry run), one after the other, until the block ends; `failures` has the errors."""

    def __init__(self, kubectl):
        self._kubectl, self._end, self.count, self.failures = kubectl, threading.Event(), 0, []
        self._threads = [threading.Thread(target=self._apply, args=(n,)) for n in range(CLIENTS)]

    def _apply(self, number):
        text = json.dumps(job(f"applied-{number}", "true"))
        while not self._end.is_set():
            done = self._kubectl.attempt("create", "--dry-run=server", "-f", "-", stdin=text)
            self.count += 1
            if done.returncode:
                self.failures.append(done.stderr)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def wait_for_more(self):
        so_far = self.count
        kube.wait_for("jobs are applied", lambda: self.count > so_far + 5 * CLIENTS, 120)

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()


class Visitor:
    """A pod with a ServiceAccount of its own."""

    def __init__(self, kubectl, name):
        self._kubectl, self._name = kubectl, name
        kubectl.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"serviceAccountName": name, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": IMAGE, "command": ["sleep", "infinity"]}]}})
        kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=110s")

    def ask(self, page, body="", token=""):
        """Status and text."""
        status, _, text = self._runs(ASK, page, body, token).partition(" ")
        return int(status), text

    def certificate_of(self, address, port):
        """What a server there shows, as PEM."""
        return self._runs("import ssl, sys; print(ssl.get_server_certificate((sys.argv[1], int(sys.argv[2]))))", address, port)

    def _runs(self, program, *words):
        return self._kubectl("exec", self._name, "--", "python3", "-c", program, *map(str, words))
