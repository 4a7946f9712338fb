"""tests/bench jobs: how near the operator comes to the ceiling, which is the API server."""
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import measure
from measure import BUILD, TOP, Program, free_port, run_quietly, say

CLUSTER = "bench"
OPERATOR_NS = "ipu-system"
IPUS_PER_DOMAIN = 64

CONTAINER = {
    "name": "main", "image": "example.invalid/none", "command": ["true"],
    "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
}


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = Path(folder)
        self.kubeconfig = run_quietly(TOP / "deploy/cluster", "kubeconfig", "--name", CLUSTER).strip()
        tools = run_quietly(TOP / "deploy/cluster", "bin").strip()
        self.env = {**os.environ, "KUBECONFIG": self.kubeconfig, "PATH": f"{tools}:{os.environ['PATH']}"}

    def kubectl(self, *arguments, **options):
        return run_quietly("kubectl", *arguments, env=self.env, **options)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def load(self, *arguments):
        return [str(BUILD / "tests/benchmarks/api-load"), arguments[0], self.kubeconfig, *map(str, arguments[1:])]

    def await_crd(self):
        """kubectl wait gives up on an object whose status is still empty; asking for the jobs does not."""
        deadline = time.monotonic() + 30
        while subprocess.run(["kubectl", "get", "ipujobs"], env=self.env, capture_output=True).returncode != 0:
            if time.monotonic() > deadline:
                raise SystemExit("the API server does not serve ipujobs")
            time.sleep(0.05)

    # ---- the objects ----

    def pod(self):
        """The same pod that the operator makes, as far as the API server's work goes."""
        workers, name = self.options.workers, "bare-%u"
        env = [{"name": f"IPU_JOB_VARIABLE_{i}", "value": str(workers)} for i in range(14)]
        mount = {"name": "ipu-launcher", "mountPath": "/opt/ipu-launcher"}
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"graphcore.ai/job-name": "bare", "graphcore.ai/role": "worker",
                                                  "graphcore.ai/instance": "0", "graphcore.ai/worker": "0"},
                         "annotations": {"graphcore.ai/partition": "p-bare-default-0", "graphcore.ai/run": "0"}},
            "spec": {
                "restartPolicy": "Never", "hostname": name, "subdomain": "bare-workers",
                "initContainers": [{
                    "name": "ipu-launcher", "image": "example.invalid/ipu-launch",
                    "args": ["install", "/opt/ipu-launcher"], "volumeMounts": [mount],
                    "resources": {k: {"cpu": "50m", "memory": "32Mi"} for k in ("requests", "limits")},
                    "securityContext": {"runAsUser": 65532, "runAsNonRoot": True, "readOnlyRootFilesystem": True}}],
                "containers": [{**CONTAINER, "env": env, "volumeMounts": [{**mount, "readOnly": True}]}],
                "volumes": [{"name": "ipu-launcher", "emptyDir": {"sizeLimit": "64Mi"}}],
            },
        }

    def job(self):
        return {
            "apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "job-%u"},
            "spec": {"jobInstances": 1, "ipusPerJobInstance": str(self.options.workers),
                     "workersPerJobInstance": str(self.options.workers),
                     "workers": {"template": {"spec": {"containers": [CONTAINER]}}}},
        }

    # ---- one round ----

    @contextmanager
    def namespace(self, name):
        self.kubectl("create", "namespace", name)
        deadline = time.monotonic() + 30
        while "default" not in self.kubectl("get", "serviceaccounts", "-n", name, "-o", "name"):
            if time.monotonic() > deadline:
                raise SystemExit(f"namespace {name} got no service account")
            time.sleep(0.05)
        yield name
        self.kubectl("delete", "namespace", name, "--wait=true", "--timeout=300s")

    def bare_loop(self, number):
        pods = self.options.jobs * self.options.workers
        with self.namespace(f"bare-{number}") as ns:
            out = run_quietly(*self.load("create", ns, self.write("pod.json", self.pod()), pods))
        told = json.loads(out)
        return pods / ((told["end_ms"] - told["begin_ms"]) / 1000)

    def operator_round(self, number, controller):
        pods = self.options.jobs * self.options.workers
        with self.namespace(f"jobs-{number}") as ns:
            run_quietly(*self.load("create", ns, self.write("job.json", self.job()), self.options.jobs))
            waiting = subprocess.Popen(self.load("await", ns, pods), stdout=subprocess.PIPE, text=True)
            with self.operator(controller) as operator:
                begin = operator.await_line("jobs, pods, records and nodes are known")
                out, _ = waiting.communicate(timeout=600)
                seconds = json.loads(out)["end_ms"] / 1000 - begin
                operator.await_settled()
                resident = operator.resident_kib()
                cpu = operator.cpu_ticks() / os.sysconf("SC_CLK_TCK")
                sent = operator.stop()
                with self.operator(controller) as cleaner:
                    cleaner.await_line("leading")
                    self.kubectl("delete", "ipujobs", "--all", "-n", ns, "--wait=true", "--timeout=600s")
        return {"jobs/s": self.options.jobs / seconds, "pods/s": pods / seconds, "resident": resident,
                "requests": (sent["total"] - sent["pods"]) / self.options.jobs, "all": sent["total"] / self.options.jobs,
                "cpu": cpu / seconds, "rows": {k: v / self.options.jobs for k, v in sent["rows"].items()}}

    # ---- programs ----

    def operator(self, controller):
        config = self.write("operator.yaml", f'vipuControllers: "127.0.0.1:{controller.port}"\n')
        return Operator([BUILD / "operator/ipu-operator", "--config", config, "--namespace", OPERATOR_NS, "--kubeconfig",
                         self.kubeconfig, "--health-port", "0"], self.folder / "operator.log")

    def controller(self):
        ipus = self.options.jobs * self.options.workers
        domains = max(1, -(-ipus // IPUS_PER_DOMAIN))
        config = self.write("vipu.yaml", f"create-ms: 1\nremove-ms: 1\nreset-ms: 1\nclusters:\n"
                                         f"  - id: cl1\n    ipulink-domains: {domains}\n    agents: {16 * domains}\n")
        port = free_port()
        program = Program([BUILD / "vipu/vipu-server", "--config", config, "--listen", f"127.0.0.1:{port}",
                           "--storage", self.folder / "vipu.db"], self.folder / "vipu.log")
        program.port = port
        return program


class Operator(Program):
    def stop(self):
        """Ends it; returns what it says it has sent, by resource."""
        super().stop()
        sent = {"total": 0, "pods": 0, "rows": {}}
        for method, resource, count in re.findall(r"requests method=(\w+) resource=(\w+) sent=(\d+)",
                                                  self.log.read_text()):
            if method in ("WATCH", "LIST") or resource == "leases":
                continue
            sent["rows"][f"{method} {resource}"] = int(count)
            sent["total"] += int(count)
            if resource == "pods":
                sent["pods"] += int(count)
        return sent

    def await_settled(self):
        """Until it has used no processor time for a second: all it had to write is written."""
        before, since = self.cpu_ticks(), time.monotonic()
        while time.monotonic() < since + 1:
            time.sleep(0.1)
            if self.cpu_ticks() > before + 1:
                before, since = self.cpu_ticks(), time.monotonic()


def report(options, rounds, bare):
    def median(key):
        return statistics.median(r[key] for r in rounds)

    say("")
    say(f"{options.jobs} jobs x {options.workers} workers, no node, median of {len(rounds)} rounds in one run")
    say(f"operator:   {median('jobs/s'):.1f} jobs/s, {median('pods/s'):.0f} pods/s")
    say(f"bare loop:  {statistics.median(bare):.0f} pods/s")
    say(f"ratio: {statistics.median(r['pods/s'] / b for r, b in zip(rounds, bare)):.2f}")
    say(f"requests:   {median('requests'):.1f} per job beside its pods, {median('all'):.1f} in all")
    say("            " + ", ".join(f"{name} {count:.1f}" for name, count in sorted(rounds[-1]["rows"].items())))
    say(f"processor:  {100 * median('cpu'):.0f} % of one core while creating")
    say(f"memory:     {median('resident') / 1024:.1f} MiB resident at the end")


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build", "cluster")
    measure.build("ipu-operator", "vipu-server", "api-load")
    say("starting an API server (usually 5 seconds)")
    run_quietly(TOP / "deploy/cluster", "up", "--no-node", "--name", CLUSTER)
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options, folder)
            bench.kubectl("apply", "-f", TOP / "charts/ipu-operator/crds")
            bench.await_crd()
            bench.kubectl("create", "namespace", OPERATOR_NS)
            rounds, bare = [], []
            with bench.controller() as controller:
                controller.await_line("serving")
                for number in range(options.rounds):
                    bare.append(bench.bare_loop(number))
                    rounds.append(bench.operator_round(number, controller))
                    say(f"round {number + 1} of {options.rounds}: operator {rounds[-1]['pods/s']:.0f} pods/s, "
                        f"bare loop {bare[-1]:.0f} pods/s")
            report(options, rounds, bare)
    finally:
        run_quietly(TOP / "deploy/cluster", "down", "--name", CLUSTER)
    return 0
