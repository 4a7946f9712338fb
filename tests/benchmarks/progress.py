"""tests/bench progress: what it costs when the programs of many jobs report their progress."""
import concurrent.futures
import http.client
import json
import ssl
import tempfile
import threading
import time
import urllib.parse
from collections import Counter
from datetime import datetime, timezone

import measure
from jobs import OPERATOR_NS, TICK_MS, Bench
from kube_api import Api
from measure import TOP, run_quietly, say

CLUSTER = "bench-progress"
NAMESPACE = "reports"
FAKE_NODES = 10
SECRET = "ipu-operator-progress"
AUDIENCE = "graphcore.ai/progress"
URL = "KUBEFLOW_TRAINER_SERVER_URL"
EVERY_S = 5
SENDERS = 32
PATIENCE_S = 600
WRITES = {"POST", "PUT", "PATCH", "DELETE"}
# What changes with each report, and how often the status of a job may be written for it: PROGRESS_WRITE_EVERY_S and
# PROGRESS_DETAILS_EVERY_S of operator/progress/job_progress.h.
NOTHING, METRICS, PERCENTAGE = "no reports", "metrics change", "percentage changes"
WRITE_EVERY_S = {METRICS: 60, PERCENTAGE: 10}


class Reporter:
    """The program of one pod."""

    def __init__(self, api, pod):
        meta = pod["metadata"]
        where = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
        self.token = api.create("serviceaccounts", meta["namespace"], {"spec": {
            "audiences": [AUDIENCE], "expirationSeconds": 7200, "boundObjectRef": where}}, "token", "default")["status"]["token"]
        self.url = urllib.parse.urlsplit(next(item["value"] for item in pod["spec"]["containers"][0]["env"] if item["name"] == URL))
        self.ca = meta["annotations"]["graphcore.ai/progress-ca"]

    def send(self, trust, percent, loss):
        """One report on a connection of its own; milliseconds until it was answered."""
        body = json.dumps({"trainerStatus": {"progressPercentage": percent, "estimatedRemainingSeconds": 60 * (100 - percent),
                                             "metrics": [{"name": "loss", "value": f"{loss:.4f}"}]}})
        began = time.monotonic()
        connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=trust, timeout=PATIENCE_S)
        connection.request("POST", self.url.path, body, {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise SystemExit(f"a report was answered with {answer.status}: {text!r}")
        return 1000 * (time.monotonic() - began)


class Load:
    """All programs, each of which reports every five seconds, evenly spread."""

    def __init__(self, reporters):
        self.reporters = reporters
        self.trust = ssl.create_default_context(cadata=reporters[0].ca)

    def run(self, row, seconds):
        """The milliseconds that the answers took, and the most that a report was late."""
        if row == NOTHING:
            threading.Event().wait(seconds)
            return [], 0
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            parts = list(pool.map(lambda number: self._send_some(number, row, begin, seconds), range(SENDERS)))
        return [took for part, _ in parts for took in part], max(late for _, late in parts)

    def _send_some(self, sender, row, begin, seconds):
        mine = range(sender, len(self.reporters), SENDERS)
        took, late, pause = [], 0, threading.Event()
        for turn in range(-(-seconds // EVERY_S)):
            for number in mine:
                due = begin + EVERY_S * (turn + number / len(self.reporters))
                pause.wait(max(0, due - time.monotonic()))
                late = max(late, time.monotonic() - due)
                took.append(self.reporters[number].send(self.trust, turn + 1 if row == PERCENTAGE else 0, 2 / (1 + turn)))
        return took, late


def job():
    """Of a program that runs on."""
    made = Bench.job(1)
    made["spec"]["workers"]["template"]["metadata"] = {"annotations": {"fake-node/runs-on": ""}}
    return made


def running_pods(bench, api, count):
    """Those of all jobs, once the operator has seen them run."""
    def run():
        return sum(item.get("status", {}).get("launcherStatus") == "Running" for item in api.list("ipujobs", NAMESPACE)) == count
    bench.until(run, PATIENCE_S, f"not all {count} jobs run")
    return api.list("pods", NAMESPACE)


def writes(counted):
    return Counter({f"{verb} {resource}": count for (verb, resource), count in counted.items() if verb in WRITES})


def oldest_s(api):
    """Seconds since the report that the status of some job shows."""
    shown = [item["status"].get("progress", {}).get("lastReportTime") for item in api.list("ipujobs", NAMESPACE)]
    now = datetime.now(timezone.utc)
    return max(((now - datetime.fromisoformat(time_)).total_seconds() for time_ in shown if time_), default=0) if all(shown) else None


def measure_row(bench, api, operator, load, row, seconds):
    before, used, began = bench.requests(), operator.cpu_ticks(), time.monotonic()
    took, late = load.run(row, seconds)
    passed = time.monotonic() - began
    found = {"row": row, "took": sorted(took), "late": late, "seconds": passed, "cpu": (operator.cpu_ticks() - used) * TICK_MS / 1000,
             "resident": operator.resident_kib(), "writes": writes(bench.requests() - before)}
    found["oldest"] = oldest_s(api) if row in WRITE_EVERY_S else None
    found["of jobs"] = sum(count for name, count in found["writes"].items() if "ipujobs" in name)
    found["most"] = bench.options.jobs * (1 + int(passed // WRITE_EVERY_S[row])) if row in WRITE_EVERY_S else 0
    say(f"  {row}: {len(took)} reports, {found['of jobs']} writes of jobs")
    return found


def report(rows, options):
    """Whether no job was written more often than it may be."""
    say("")
    say(f"{options.jobs} jobs, a report of each every {EVERY_S} s on a connection of its own, {options.seconds} s each, in one run")
    say(f"{'':20}{'reports/s':>10}{'writes/s':>10}{'at most':>9}{'cpu, %':>8}{'MiB':>7}{'p50 ms':>8}{'p99 ms':>8}{'late, s':>9}{'oldest, s':>11}")
    for row in rows:
        took = row["took"]
        times = [f"{took[len(took) // 2]:.1f}", f"{took[int(len(took) * 0.99)]:.1f}", f"{row['late']:.1f}"] if took else ["", "", ""]
        oldest = f"{row['oldest']:.0f}" if row["oldest"] is not None else "none" if took else ""
        most = f"{row['most'] / row['seconds']:.1f}" if took else ""
        say(f"{row['row']:20}{len(took) / row['seconds']:>10.1f}{row['of jobs'] / row['seconds']:>10.1f}{most:>9}"
            f"{100 * row['cpu'] / row['seconds']:>8.1f}{row['resident'] / 1024:>7.1f}{times[0]:>8}{times[1]:>8}{times[2]:>9}{oldest:>11}")
    say("late: the last report that the client has sent too late; oldest: the age of the report that the status of some job shows, at the end")
    say("writes/s are those of IPUJobs, as the API server counts them. All writes:")
    for row in rows:
        say(f"  {row['row']:20}{', '.join(f'{count} {name}' for name, count in row['writes'].most_common()) or 'none'}")
    return all(row["of jobs"] <= row["most"] for row in rows if row["took"])


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build", "cluster")
    measure.build("ipu-operator", "vipu-server", "api-load")
    options.workers = 1
    with measure.cluster(CLUSTER) as kubeconfig, tempfile.TemporaryDirectory() as folder:
        say("adding fake nodes (usually 10 seconds)")
        run_quietly(TOP / "deploy/cluster", "fake-nodes", "--name", CLUSTER, "--count", FAKE_NODES)
        bench, api = Bench(options, folder, kubeconfig), Api(kubeconfig)
        bench.kubectl("apply", "-f", TOP / "charts/ipu-operator/crds")
        bench.await_crd()
        for name in (OPERATOR_NS, NAMESPACE):
            bench.kubectl("create", "namespace", name)
        bench.kubectl("create", "secret", "generic", SECRET, "-n", OPERATOR_NS)
        bench.until(lambda: api.get("serviceaccounts", NAMESPACE, "default"), PATIENCE_S, "the namespace has no service account")
        with bench.controllers() as config, bench.operator(config, "operator", "--progress", SECRET, "--progress-port", "0") as operator:
            operator.await_line("serving reports of progress")
            say(f"starting {options.jobs} jobs")
            run_quietly(*bench.load("create", NAMESPACE, bench.write("job.json", job()), options.jobs))
            load = Load([Reporter(api, pod) for pod in running_pods(bench, api, options.jobs)])
            operator.await_settled()
            rows = [measure_row(bench, api, operator, load, row, options.seconds) for row in (NOTHING, METRICS, PERCENTAGE)]
        if not report(rows, options):
            say("more was written than the operator may write")
            return 1
    return 0
