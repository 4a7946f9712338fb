"""A stand-in for the metrics server: metrics.k8s.io with the memory that a test gives to each pod. The API server
reaches it through an APIService, as it does the real one."""

import json
import subprocess
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import PROTOCOL_TLS_SERVER, SSLContext

GROUP = "metrics.k8s.io/v1beta1"
NAME = "v1beta1.metrics.k8s.io"


def make_certificate(folder):
    """Nobody verifies it: the APIService says insecureSkipTLSVerify."""
    pair = folder / "metrics.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=metrics", "-keyout", pair, "-out", folder / "metrics.crt"],
                   check=True, capture_output=True)
    with open(pair, "ab") as out:
        out.write((folder / "metrics.crt").read_bytes())
    return pair


class MetricsApi:
    """memory(pod) is its use in MiB. Call close() in the end."""

    def __init__(self, api, folder, memory):
        self.api, self.memory = api, memory
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(make_certificate(folder))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self._register(self._server.server_address[1])

    def _register(self, port):
        self.api.create("services", "default", {
            "metadata": {"name": "metrics"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}})
        self.api.create("apiservices", None, {"metadata": {"name": NAME}, "spec": {
            "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": True, "service": {"name": "metrics", "namespace": "default", "port": port}}})

    def is_available(self):
        conditions = self.api.get("apiservices", None, NAME).get("status", {}).get("conditions", [])
        return any(item["type"] == "Available" and item["status"] == "True" for item in conditions)

    def close(self):
        self.api.delete("apiservices", None, NAME)
        self.api.delete("services", "default", "metrics")
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path):
        where = urllib.parse.urlsplit(path)
        words = where.path.strip("/").split("/")
        if words == ["apis", *GROUP.split("/")]:
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP, "resources": [
                {"name": "pods", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}]}
        if len(words) == 6 and words[3] == "namespaces" and words[5] == "pods":
            selector = urllib.parse.parse_qs(where.query).get("labelSelector", [""])[0]
            pods = self.api.list("pods", words[4], selector)
            return {"kind": "PodMetricsList", "apiVersion": GROUP, "metadata": {},
                    "items": [self._metrics(pod) for pod in pods]}
        return None

    def _metrics(self, pod):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {"metadata": {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]},
                "timestamp": now, "window": "15s",
                "containers": [{"name": pod["spec"]["containers"][0]["name"],
                                "usage": {"cpu": "1m", "memory": f"{self.memory(pod)}Mi"}}]}

    def _handler(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                answer = outer.answer(self.path)
                body = json.dumps(answer or {}).encode()
                self.send_response(200 if answer else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        return Handler
