"""Jobs in a Kubernetes cluster. The `kubernetes` package reads the kubeconfig and authenticates; it is imported at the first request.

The requests are plain ones through its connection pool: its generated calls differ between versions, and have no sinceTime for logs."""

import importlib
import json
import math
import sys
import threading
import time
import urllib.parse
import warnings
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import manifest
from .backend import Backend, Object
from .errors import ApiError, IpuJobsError, Unreachable
from .lines import Position, lines

Query = List[Tuple[str, Any]]

JOBS, CORE, EVENTS = "apis/graphcore.ai/v1alpha1", "api/v1", "apis/events.k8s.io/v1"
IN_POD = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
MANAGER = "ipu-jobs"
JSON, MERGE, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"
CONNECT_S, READ_S = 10, 60
SILENCE_S = 15  # how much later than agreed a watch may end
LOG_READ_S = 300  # then a silent stream is opened again: its connection may be dead
WATCH_MIN_S = 1.0
TRIES = 4
PAUSE_MAX_S = 10.0
BODY_MAX = 64 << 20
PIECE = 64 << 10
UNAUTHORIZED, NOT_FOUND, CONFLICT, GONE, TOO_MANY = 401, 404, 409, 410, 429


class Cluster(Backend):
    """A cluster of the kubeconfig (KUBECONFIG, or ~/.kube/config), else that of the own pod."""

    def __init__(self, context: Optional[str] = None, namespace: Optional[str] = None) -> None:
        self._context, self.namespace = context, namespace
        self._client: Any = None
        self._connecting = threading.Lock()

    def default_namespace(self) -> str:
        if self.namespace is None:
            self._connection()
        return self.namespace or "default"

    # Requests.

    def _connection(self) -> Any:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        # Untyped in some versions, and with incomplete types in others.
        client: Any = importlib.import_module("kubernetes.client")
        config: Any = importlib.import_module("kubernetes.config")
        settings = client.Configuration()
        try:
            config.load_kube_config(context=self._context, client_configuration=settings)
            contexts, active = config.list_kube_config_contexts()
            chosen = next((each for each in contexts if each["name"] == self._context), active)
            namespace = chosen["context"].get("namespace")
        except config.ConfigException as error:
            if self._context is not None:
                raise IpuJobsError(f"the kubeconfig has no usable context {self._context}: {error}") from error
            try:
                config.load_incluster_config(client_configuration=settings)
                with open(IN_POD) as file:
                    namespace = file.read().strip()
            except (config.ConfigException, OSError):
                raise IpuJobsError(f"no Kubernetes cluster is configured: {error}; set KUBECONFIG, or create ~/.kube/config") from error
        self.namespace = self.namespace or namespace
        return client.ApiClient(settings)

    def _send(self, method: str, path: str, query: Optional[Query], body: Any, content_type: str, read_s: float) -> Any:
        """The response with its body unread, whatever its status."""
        import urllib3

        client = self._connection()
        settings = client.configuration
        headers = {"Accept": f"{JSON}, */*", "User-Agent": MANAGER, "Content-Type": content_type}
        headers.update({each["key"]: each["value"] for each in settings.auth_settings().values() if each["in"] == "header"})
        url = settings.host + path
        if query:
            url += "?" + urllib.parse.urlencode(query)
        try:
            return client.rest_client.pool_manager.request(
                method, url, body=None if body is None else json.dumps(body), headers=headers, preload_content=False,
                timeout=urllib3.Timeout(connect=CONNECT_S, read=read_s), redirect=False,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the Kubernetes API server {settings.host} does not answer: {error}") from error

    def _open(self, method: str, path: str, query: Optional[Query] = None, body: Any = None, content_type: str = JSON,
              read_s: float = READ_S) -> Any:  # fmt: skip
        """A successful response with its body unread. What the server has not done because it was busy is sent again."""
        pause = 0.5
        for attempt in range(TRIES):
            response = self._send(method, path, query, body, content_type, read_s)
            if response.status < 300:
                _report_warnings(response)
                return response
            error = _error(response, path)
            is_last = attempt == TRIES - 1
            if response.status == UNAUTHORIZED and attempt == 0:
                self._client = None  # a credential plugin gives a new token
                continue
            if is_last or not (response.status == TOO_MANY or (response.status >= 500 and method == "GET")):
                raise error
            time.sleep(min(_number(response.headers.get("Retry-After")) or pause, PAUSE_MAX_S))
            pause *= 2
        raise AssertionError("the last try has returned or raised")

    def _call(self, method: str, path: str, query: Optional[Query] = None, body: Any = None, content_type: str = JSON) -> Object:
        response = self._open(method, path, query, body, content_type)
        answer: Object = json.loads(b"".join(_limited(_pieces(response))))
        return answer

    def _find(self, path: str) -> Optional[Object]:
        try:
            return self._call("GET", path)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def _watch(self, path: str, name: str, version: str, seconds: int) -> Iterator[Tuple[str, Object]]:
        query = [("watch", "1"), ("fieldSelector", f"metadata.name={name}"), ("resourceVersion", version), ("timeoutSeconds", seconds)]
        began = time.monotonic()
        try:
            for line in lines(_pieces(self._open("GET", path, query, read_s=seconds + SILENCE_S))):
                change = json.loads(line)
                if change["type"] == "ERROR":
                    break  # the version is too old: the caller reads again
                yield change["type"], change["object"]
                began = -math.inf
        except ApiError as error:
            if error.status != GONE:
                raise
        # The caller asks again: not at once, should something end each watch at its beginning.
        if time.monotonic() - began < min(WATCH_MIN_S, seconds):
            time.sleep(WATCH_MIN_S)

    # What a job needs.

    def create(self, job: Object, config_map: Optional[Object], namespace: Optional[str]) -> Object:
        namespace = namespace or self.default_namespace()
        made = self._call("POST", _path(JOBS, namespace, "ipujobs"), body=job)
        if config_map is not None:
            # After the job, which owns it: its pods wait for it.
            try:
                self._call("POST", _path(CORE, namespace, "configmaps"), body=manifest.owned(config_map, made))
            except BaseException:
                self.delete(namespace, made["metadata"]["name"], made["metadata"]["uid"])
                raise
        return made

    def apply_objects(self, objects: List[Object], job: Object, namespace: Optional[str]) -> Object:
        written: Dict[int, Object] = {}
        # The job comes last: its pods need the others.
        for each in sorted(objects, key=lambda one: one is job):
            where = namespace or each["metadata"].get("namespace") or self.default_namespace()
            whole = {**each, "metadata": {**each["metadata"], "namespace": where}}
            name = each["metadata"].get("name")
            if not isinstance(name, str) or not name:
                raise IpuJobsError(f"metadata.name must be a name, got {name!r}")
            plural = _path(JOBS, where, "ipujobs") if each is job else _path(CORE, where, each["kind"].lower() + "s")
            query = [("fieldManager", MANAGER)]
            written[id(each)] = self._call("PATCH", f"{plural}/{_quoted(name)}", query, whole, APPLY)
        return written[id(job)]

    def get(self, namespace: str, name: str) -> Optional[Object]:
        return self._find(_path(JOBS, namespace, "ipujobs", name))

    def list(self, namespace: str) -> List[Object]:
        found = self._call("GET", _path(JOBS, namespace, "ipujobs"))
        # The items of a list do not say what they are.
        return [{"apiVersion": manifest.API_VERSION, "kind": "IPUJob", **each} for each in found["items"]]

    def patch(self, namespace: str, name: str, patch: Object) -> Object:
        return self._call("PATCH", _path(JOBS, namespace, "ipujobs", name), [("fieldManager", MANAGER)], patch, MERGE)

    def delete(self, namespace: str, name: str, uid: str) -> None:
        options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            self._call("DELETE", _path(JOBS, namespace, "ipujobs", name), body=options)
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):  # gone, or another job of this name
                raise

    def watch_job(self, namespace: str, name: str, version: str, seconds: int) -> Iterator[Tuple[str, Object]]:
        return self._watch(_path(JOBS, namespace, "ipujobs"), name, version, seconds)

    def get_pod(self, namespace: str, name: str) -> Optional[Object]:
        return self._find(_path(CORE, namespace, "pods", name))

    def await_pod_change(self, namespace: str, name: str, seen: Optional[Object], seconds: int) -> None:
        # Without a pod the watch begins with the one that is there.
        version = seen["metadata"]["resourceVersion"] if seen else "0"
        for _ in self._watch(_path(CORE, namespace, "pods"), name, version, seconds):
            return

    def read_log(self, namespace: str, pod: str, container: str, tail: Optional[int]) -> Iterator[str]:
        return lines(self._log(namespace, pod, [("container", container), *_tail(tail)], READ_S))

    def follow_log(self, namespace: str, pod: str, container: str, position: Position, tail: Optional[int]) -> Iterator[str]:
        position.reopen()
        query = [("container", container), ("follow", "true"), ("timestamps", "true")]
        query += [("sinceTime", position.since)] if position.since else _tail(tail)
        for line in lines(self._log(namespace, pod, query, LOG_READ_S)):
            text = position.take(line)
            if text is not None:
                yield text

    def _log(self, namespace: str, pod: str, query: Query, read_s: float) -> Iterator[bytes]:
        return _pieces(self._open("GET", _path(CORE, namespace, "pods", pod, "log"), query, read_s=read_s))

    def list_events(self, namespace: str, name: str, uid: str) -> List[Object]:
        query = [("fieldSelector", f"regarding.name={name},regarding.uid={uid}")]
        found: List[Object] = self._call("GET", _path(EVENTS, namespace, "events"), query)["items"]
        return found


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _path(group: str, namespace: str, *names: str) -> str:
    return "/".join(["", group, "namespaces", _quoted(namespace), *map(_quoted, names)])


def _tail(count: Optional[int]) -> Query:
    return [] if count is None else [("tailLines", count)]


def _pieces(response: Any) -> Iterator[bytes]:
    import urllib3

    try:
        yield from response.stream(PIECE, decode_content=False)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Unreachable(f"the connection to the Kubernetes API server broke: {error}") from error
    finally:
        response.close()  # only what was not read to its end has a connection left
        response.release_conn()


def _limited(pieces: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > BODY_MAX:
            raise IpuJobsError(f"the answer of the API server is larger than {BODY_MAX >> 20} MiB")
        yield piece


def _report_warnings(response: Any) -> None:
    """Such as `299 - "what is deprecated"`; of the line that calls this package."""
    level = 1
    while sys._getframe(level - 1).f_globals.get("__package__") == __package__:
        level += 1
    for text in response.headers.getlist("Warning") if "Warning" in response.headers else []:
        warnings.warn(text.partition('"')[2].rstrip('"') or text, stacklevel=level)


def _number(text: Optional[str]) -> float:
    return float(text) if text and text.isdigit() else 0.0


def _error(response: Any, path: str) -> ApiError:
    text = b"".join(_limited(_pieces(response))).decode("utf-8", "replace")
    try:
        message = str(json.loads(text).get("message", ""))
    except (ValueError, AttributeError):
        message = ""
    if response.status == UNAUTHORIZED:
        message = "the API server does not accept your credentials; log in again"
    elif response.status == NOT_FOUND and not message and "graphcore.ai" in path:
        message = "this cluster has no IPUJobs; install the IPU operator"
    return ApiError(response.status, message or f"the API server answered {response.status}: {text[:1000].strip()}")


