"""A server that plays what serves the live page: the files of page/dist, the operator's login page, and the feed /live of objects
that a test makes."""

import json
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response
from websockets.sync.server import serve

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "page" / "dist"
LOGIN = ROOT / "operator" / "serve" / "live"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Server:
    def __init__(self):
        self.objects = {}  # (kind, key) -> object
        self.states = []  # messages behind hello
        self.received = []
        self.connections = set()
        self.lock = threading.RLock()
        self.port = 0
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        self.listener = serve(self._feed, "127.0.0.1", self.port, process_request=self._file, compression=None)
        self.port = self.listener.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.listener.serve_forever)
        self.thread.start()

    def stop(self):
        """As if the command had ended."""
        self.listener.shutdown()
        self.thread.join()
        self.drop()

    def drop(self, reason=""):
        for connection in list(self.connections):
            connection.close(1001, reason)

    @staticmethod
    def _file(connection, request):
        path = request.path.partition("?")[0]
        if path == "/live":
            return None
        name = {"/": "index.html", "/login": "login.html"}.get(path, path[1:])
        file = (LOGIN if name.startswith("login.") else DIST) / name
        if path.count("/") > 1 or not file.is_file():
            return connection.respond(404, "no such file\n")
        body = file.read_bytes()
        return Response(200, "OK", Headers({**HEADERS, "Content-Type": TYPES[file.suffix], "Content-Length": str(len(body))}), body)

    def _feed(self, connection):
        with self.lock:
            for message in ({"type": "hello", "namespace": None, "user": "ada", "version": "1.0"}, *self.states):
                connection.send(json.dumps(message))
            for (kind, key), item in self.objects.items():
                connection.send(json.dumps({"type": "put", "kind": kind, "key": key, "object": item}))
            connection.send(json.dumps({"type": "synced"}))
            self.connections.add(connection)
        try:
            for message in connection:
                self.received.append(json.loads(message))
        except ConnectionClosed:
            pass
        finally:
            self.connections.discard(connection)

    def send(self, **message):
        with self.lock:
            for connection in list(self.connections):
                connection.send(json.dumps(message))

    def put(self, kind, item):
        with self.lock:
            self.objects[kind, key_of(item)] = item
            self.send(type="put", kind=kind, key=key_of(item), object=item)

    def delete(self, kind, key):
        with self.lock:
            del self.objects[kind, key]
            self.send(type="delete", kind=kind, key=key)


def key_of(item):
    metadata = item["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


NOW = datetime.now(timezone.utc).replace(microsecond=0)


def at(minutes):
    """The time so many minutes from now, as the API server writes it."""
    return (NOW + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def mask(*ipus):
    return f"{sum(1 << ipu for ipu in ipus):016x}"


def partition(job, domain, first, size, state="ACTIVE", **fields):
    return {"id": f"p-{job.replace('/', '-')}-0", "size": size, "state": state, "ours": True, "job": job, "namespace": job.split("/")[0],
            "places": [{"domain": domain, "ipus": mask(*range(first, first + size))}], **fields}


def controller(name="pod256", domains=("ild0", "ild1", "ild2", "ild3"), partitions=(), cordoned=(), **status):
    taken = {domain: set() for domain in domains}
    for part in partitions:
        for place in part["places"]:
            taken[place["domain"]] |= {i for i in range(64) if int(place["ipus"], 16) >> i & 1}
    free = {domain: [i for i in range(64) if i not in taken[domain] and domain not in cordoned] for domain in domains}
    total, unused = 64 * len(domains), sum(map(len, free.values()))
    return {"metadata": {"name": name}, "status": {
        "address": f"{name}:8090",
        "ipus": {"total": total, "free": unused, "ours": total - unused, "others": 0, "cordoned": 64 * len(cordoned), "largestFree": 32},
        "domains": [{"name": domain, "size": 64, "free": mask(*free[domain]), **({"cordoned": True} if domain in cordoned else {})} for domain in domains],
        "partitions": list(partitions),
        "conditions": [{"type": "Reachable", "status": "True", "reason": "Answers", "message": "The V-IPU controller answers"},
                       {"type": "Healthy", "status": "True", "reason": "NoFailures", "message": "No partition has failed"}],
        **status}}


def job(key, state="Running", ipus=16, created=-60, instances=1, **status):
    namespace, name = key.split("/")
    return {"metadata": {"namespace": namespace, "name": name, "uid": f"uid-{name}", "creationTimestamp": at(created)},
            "spec": {"ipusPerJobInstance": str(ipus), "jobInstances": instances},
            "status": {"launcherStatus": state, "lastMessage": f"The job is {state.lower()}", "desiredReplicas": instances, **status}}


def waiting(key, position, ipus=64, forecast=None, blocked_by=("cv/resnet-3",), created=-60, **status):
    return job(key, "Pending", ipus, created, reason="InsufficientIPUs", lastMessage=f"Waiting for {ipus} IPUs.",
               queue={"controller": "pod256:8090", "ipus": ipus, "position": position, "freeIpus": 92, "totalIpus": 256, "fittingPartitions": 0,
                      "blockedBy": list(blocked_by)}, **({"forecast": forecast} if forecast else {}), **status)


def pod(job_key, worker, phase="Running", node="node-1", **status):
    namespace, name = job_key.split("/")
    return {"metadata": {"namespace": namespace, "name": f"{name}-worker-{worker}", "creationTimestamp": at(-30),
                         "labels": {"graphcore.ai/job-name": name, "graphcore.ai/role": "worker", "graphcore.ai/instance": "0", "graphcore.ai/worker": str(worker)}},
            "spec": {"nodeName": node}, "status": {"phase": phase, "startTime": at(-30), **status}}


def event(job_key, name, reason, note, minutes=-5, kind="Normal", about=None):
    namespace, job_name = job_key.split("/")
    return {"metadata": {"namespace": namespace, "name": name}, "type": kind, "reason": reason, "note": note, "eventTime": at(minutes),
            "regarding": {"kind": "Pod" if about else "IPUJob", "namespace": namespace, "name": about or job_name}}


def report(item, percentage, minutes, **metrics):
    """The job with a report of progress."""
    status = {**item["status"], "progress": {"summary": f"{percentage}%", "percentage": percentage, "lastReportTime": at(minutes), "estimatedEndTime": at(45)},
              "trainerStatus": {"progressPercentage": percentage, "lastUpdatedTime": at(minutes),
                                "metrics": [{"name": name, "value": str(value)} for name, value in metrics.items()]}}
    return {**item, "status": status}


def site(server):
    """A site with a bit of everything."""
    parts = [partition("ml/bert-l", "ild0", 0, 32), partition("cv/resnet-3", "ild0", 32, 16), partition("cv/resnet-4", "ild0", 48, 8, state="ERROR"),
             partition("ml/digits", "ild1", 0, 16), partition("nlp/llm", "ild2", 0, 64),
             {"size": 16, "state": "ACTIVE", "ours": False, "places": [{"domain": "ild1", "ipus": mask(*range(48, 64))}]}]
    later = {"state": "Later", "earliest": at(5), "expected": at(20), "latest": at(45)}
    starts = [*({"ipus": ipus, "state": "Now"} for ipus in (1, 2, 4, 8)), *({"ipus": ipus, **later, "startsNowWithin": 2700} for ipus in (16, 32)),
              {"ipus": 64, **later}, {"ipus": 128, "state": "Open"}, {"ipus": 256, "state": "Never"}]
    server.put("controller", controller(partitions=parts, cordoned=["ild3"], cordon={"state": "Drained", "domains": ["ild3"]}, starts=starts))
    server.put("controller", controller("pod64", ("ild0",), conditions=[
        {"type": "Reachable", "status": "False", "reason": "ControllerUnavailable", "message": "cannot connect to pod64:8090: connection refused"}]))
    for key, ipus in (("ml/bert-l", 32), ("cv/resnet-3", 16), ("nlp/llm", 64)):
        server.put("job", job(key, ipus=ipus, startTime=at(-50), currentReplicas=1))
    server.put("job", job("cv/resnet-4", "Restarting", 8, startTime=at(-50)))
    digits = job("ml/digits", "Running", 16, startTime=at(-55), currentReplicas=1, restartCount=1, lastMessage="1 of 1 instance running", reason="Running",
                 partitions=[{"id": "p-digits-ml-0", "ipus": 16, "state": "Active", "controller": "pod256:8090"}],
                 conditions=[{"type": "Running", "status": "True", "lastTransitionTime": at(-30)}],
                 failures=[{"instance": 0, "attempt": 0, "pod": "digits-worker-3", "node": "node-2", "container": "main", "exitCode": 137, "outOfMemory": True,
                            "reason": "OOMKilled", "message": "step 118 loss 2.1\nallocating 8 GiB", "time": at(-32),
                            "otherPods": [{"pod": "digits-worker-0", "exitCode": 143, "signal": 15, "message": "lost worker 3"}]}])
    server.put("job", report(digits, 42, -1, loss=0.231, learning_rate=0.001))
    for worker in range(4):
        server.put("pod", pod("ml/digits", worker, node=f"node-{worker // 2 + 1}"))
    server.put("event", event("ml/digits", "e1", "Restarting", "Pod digits-worker-3 failed: OOMKilled", -32, "Warning"))
    server.put("event", event("ml/digits", "e2", "Pulled", "Image is present", -30, about="digits-worker-0"))
    band = {"asOf": at(-1), "basis": "deadlines"}
    server.put("job", waiting("ml/train-7", 1, forecast={**band, "position": 1, "earliest": at(5), "expected": at(20), "latest": at(45),
                                                        "reservedBlock": {"controller": "pod256:8090", "places": [{"domain": "ild1", "ipus": mask(*range(16, 48))}]}}, ipus=32))
    server.put("job", waiting("cv/eval-2", 2, 4, forecast={**band, "position": 2, "earliest": at(-1), "expected": at(9), "latest": at(18), "basis": "14 runs of eval-*"}))
    server.put("job", waiting("nlp/big-1", 3, 128, forecast={**band, "position": 3, "earliest": at(180), "expected": at(300), "basis": "open"}))
    server.put("job", waiting("nlp/big-2", 4, 16))
    return digits
