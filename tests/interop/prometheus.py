"""A real Prometheus in the cluster, which reads the operator as docs/monitoring.md tells."""

import contextlib
import json
from urllib.parse import urlencode

import yaml
from pages import blocks_of
from stack import SYSTEM

PAGE = "docs/monitoring.md"
HEADINGS = ("Read the metrics", "Use your own Prometheus")
ACCOUNT = "prometheus-k8s"  # the page's
PORT = 9090
OFTEN = {"scrape_interval": "1s", "evaluation_interval": "1s"}


def page_config():
    """What the page has for a Prometheus of one's own."""
    (block,) = [block for block in blocks_of(PAGE) if block.file == "prometheus.yaml"]
    return yaml.safe_load(block.text)


@contextlib.contextmanager
def allowed(stack, kubectl, reader):
    """Its account in a namespace may find and read the operator, as an admin allows it by the page."""
    types = reader("default", SYSTEM, monitoring=kubectl.namespace)
    try:
        for block in blocks_of(PAGE):
            if block.heading in HEADINGS and block.place == "admin":
                types(block)
        yield
    finally:
        stack.kubectl("delete", "clusterrolebinding", "prometheus-reads-ipus", "--ignore-not-found")
        stack.system("delete", "role,rolebinding", "prometheus-finds-ipus", "--ignore-not-found")


def started(kubectl, image, rules):
    """One that runs in a namespace until that goes. `rules` is the content of a file of rules."""
    files = {"prometheus.yaml": page_config() | {"global": OFTEN, "rule_files": ["/etc/prometheus/rules.yaml"]}, "rules.yaml": rules}
    folders = {"/etc/prometheus": {"configMap": {"name": "prometheus"}}, "/data": {"emptyDir": {}}}
    pod = {
        "serviceAccountName": ACCOUNT, "terminationGracePeriodSeconds": 0,
        "volumes": [{"name": f"volume-{n}"} | folder for n, folder in enumerate(folders.values())],
        "containers": [{
            "name": "main", "image": image,
            "args": ["--config.file=/etc/prometheus/prometheus.yaml", "--storage.tsdb.path=/data", f"--web.listen-address=:{PORT}"],
            "readinessProbe": {"httpGet": {"path": "/-/ready", "port": PORT}, "periodSeconds": 1},
            "volumeMounts": [{"name": f"volume-{n}", "mountPath": path} for n, path in enumerate(folders)]}]}
    kubectl.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "prometheus"},
         "data": {name: yaml.safe_dump(content) for name, content in files.items()}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "prometheus"}, "spec": pod})
    return Prometheus(kubectl, "prometheus")


class Prometheus:
    def __init__(self, kubectl, pod):
        self._kubectl, self._pod = kubectl, pod
        kubectl("wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=110s")

    def ask(self, page, **words):
        """What a page of its API answers; it must have nothing to object to."""
        path = f"/api/v1/namespaces/{self._kubectl.namespace}/pods/{self._pod}:{PORT}/proxy/api/v1/{page}?{urlencode(words)}"
        answer = json.loads(self._kubectl("get", "--raw", path))
        assert answer.keys() == {"status", "data"} and answer["status"] == "success", f"{words}: {answer}"
        return answer["data"]

    def query(self, text):
        """Labels and value of each series of the answer."""
        return [(one["metric"], float(one["value"][1])) for one in self.ask("query", query=text)["result"]]

    def rules(self):
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def firing(self):
        """The labels of each firing alert."""
        return [alert["labels"] for alert in self.ask("alerts")["alerts"] if alert["state"] == "firing"]
