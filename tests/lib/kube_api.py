"""A small client for a real API server, so that a test can look at objects many times a second."""

import base64
import http.client
import json
import ssl
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import yaml

MERGE = "application/merge-patch+json"
JSON = "application/json"
GROUPS = {
    "ipujobs": "apis/graphcore.ai/v1alpha1",
    "vipucontrollers": "apis/graphcore.ai/v1alpha1",
    "leases": "apis/coordination.k8s.io/v1",
    "events": "apis/events.k8s.io/v1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
    "mutatingwebhookconfigurations": "apis/admissionregistration.k8s.io/v1",
    "validatingwebhookconfigurations": "apis/admissionregistration.k8s.io/v1",
    "validatingadmissionpolicies": "apis/admissionregistration.k8s.io/v1",
    "validatingadmissionpolicybindings": "apis/admissionregistration.k8s.io/v1",
    "clusterroles": "apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "apis/rbac.authorization.k8s.io/v1",
    "apiservices": "apis/apiregistration.k8s.io/v1",
    "horizontalpodautoscalers": "apis/autoscaling/v2",
    "priorityclasses": "apis/scheduling.k8s.io/v1",
    "roles": "apis/rbac.authorization.k8s.io/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
    "endpointslices": "apis/discovery.k8s.io/v1",
    "rolebindings": "apis/rbac.authorization.k8s.io/v1",
}
TIMEOUT_S = 60
IDLE_S = 60  # the API server ends connections that are idle for 90 s: maybe when a request is under way
TOO_MANY_REQUESTS = 429
PAUSE_S = 0.1


class Rejected(Exception):
    """The API server said no."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


class Server:
    """Where an API server is, and who we are there: read from a kubeconfig of deploy/cluster."""

    def __init__(self, kubeconfig):
        config = yaml.safe_load(Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = cluster["server"]
        self.ca = cluster["certificate-authority-data"]
        where = urllib.parse.urlsplit(self.url)
        self.host, self.port = where.hostname, where.port
        self.anonymous = ssl.create_default_context(cadata=base64.b64decode(self.ca).decode())
        self.admin = ssl.create_default_context(cadata=base64.b64decode(self.ca).decode())
        with tempfile.NamedTemporaryFile("wb") as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + b"\n")
            pair.write(base64.b64decode(user["client-key-data"]))
            pair.flush()
            self.admin.load_cert_chain(pair.name)

    def connect(self, context):
        return http.client.HTTPSConnection(self.host, self.port, context=context, timeout=TIMEOUT_S)


class Api:
    """Requests as the cluster's administrator, from any thread."""

    def __init__(self, kubeconfig):
        self.server = Server(kubeconfig)
        self._local = threading.local()

    def request(self, method, path, body=None, content_type=JSON):
        """The parsed answer; Rejected when the API server rejects, OSError when it is not there."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            status, answer = self._exchange(method, path, None if body is None else json.dumps(body), content_type)
            if status < 300:
                return answer
            # Nothing was done: the server asks us to come again, as it does while a new resource gets its storage.
            if status != TOO_MANY_REQUESTS or time.monotonic() > end:
                raise Rejected(status, answer)
            time.sleep(PAUSE_S)

    def _connection(self):
        """That of this thread."""
        local, now = self._local, time.monotonic()
        if not getattr(local, "connection", None) or now - local.used > IDLE_S:
            local.connection = self.server.connect(self.server.admin)
        local.used = now
        return local.connection

    def _exchange(self, method, path, data, content_type):
        for is_last in (False, True):
            connection = self._connection()
            try:
                connection.request(method, path, data, {"Content-Type": content_type, "Accept": JSON})
                response = connection.getresponse()
                text = response.read()
                break
            except (OSError, http.client.HTTPException):
                connection.close()
                self._local.connection = None
                if is_last or method not in ("GET", "DELETE"):
                    raise
        return response.status, json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    @staticmethod
    def path(plural, ns=None, name=None, sub=None):
        parts = [GROUPS.get(plural, "api/v1")] + (["namespaces", ns] if ns else []) + [plural]
        return "/" + "/".join(parts + ([name] if name else []) + ([sub] if sub else []))

    def get(self, plural, ns, name):
        """The object, or None."""
        try:
            return self.request("GET", self.path(plural, ns, name))
        except Rejected as rejected:
            if rejected.status == 404:
                return None
            raise

    def list(self, plural, ns=None, selector=""):
        query = "?labelSelector=" + urllib.parse.quote(selector) if selector else ""
        return self.request("GET", self.path(plural, ns) + query)["items"]

    def watch(self, plural, timeout_s):
        """("LIST", the objects of all namespaces), and then each change as (its type, [the object]), until that time is over or the
        connection is."""
        found = self.request("GET", self.path(plural))
        yield "LIST", found["items"]
        query = urllib.parse.urlencode({"watch": 1, "resourceVersion": found["metadata"]["resourceVersion"], "timeoutSeconds": timeout_s})
        connection = self.server.connect(self.server.admin)
        try:
            connection.request("GET", f"{self.path(plural)}?{query}", headers={"Accept": JSON})
            for line in connection.getresponse():
                change = json.loads(line)
                if change["type"] not in ("ADDED", "MODIFIED", "DELETED"):
                    return
                yield change["type"], [change["object"]]
        finally:
            connection.close()

    def create(self, plural, ns, body, sub=None, name=None):
        return self.request("POST", self.path(plural, ns, name, sub), body)

    def apply(self, plural, ns, body):
        """Makes it, or makes what is there say the same."""
        try:
            self.create(plural, ns, body)
        except Rejected as rejected:
            if rejected.status != 409:
                raise
            self.patch(plural, ns, body["metadata"]["name"], body)

    def patch(self, plural, ns, name, body, sub=None):
        return self.request("PATCH", self.path(plural, ns, name, sub), body, MERGE)

    def delete(self, plural, ns, name, **options):
        """Gone already is fine."""
        try:
            self.request("DELETE", self.path(plural, ns, name), options or None)
        except Rejected as rejected:
            if rejected.status != 404:
                raise
