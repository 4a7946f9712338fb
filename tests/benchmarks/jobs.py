"""tests/bench jobs: how near the operator comes to the ceiling, which is the API server."""
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import apiserver
import measure
from measure import BUILD, TOP, Program, cpu_ticks, free_port, run_quietly, say

CLUSTER = "bench"
OPERATOR_NS = "ipu-system"
IPUS_PER_DOMAIN = 64
IPUS_PER_CONTROLLER = 65536
FAKE_NODES = 10
PROBES = 100
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PATIENCE_S = 3600
TEMPLATE_BYTES = 5 * 1024
# Who made a pod does not change what a pod costs; the bare ones must not look like the operator's own.
LABELS = "bench.example"


def container():
    """A container as users write them: with it, a template has about TEMPLATE_BYTES."""
    env = [{"name": f"SETTING_{i:02}", "value": "x" * 60} for i in range(TEMPLATE_BYTES // 95)]
    return {"name": "main", "image": "example.invalid/none", "command": ["true"], "env": env,
            "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}


class Bench:
    def __init__(self, options, folder, kubeconfig):
        self.options = options
        self.folder = Path(folder)
        self.kubeconfig = kubeconfig
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
        self.until(lambda: subprocess.run(["kubectl", "get", "ipujobs"], env=self.env, capture_output=True).returncode == 0,
                   30, "the API server does not serve ipujobs")

    # ---- the objects ----

    def pod(self):
        """The same pod that the operator makes, as far as the API server's work goes."""
        name, main = "bare-%u", container()
        own = [{"name": f"IPU_JOB_VARIABLE_{i}", "value": "p-job-0-default-0"} for i in range(20)]
        mount = {"name": "ipu-launcher", "mountPath": "/opt/ipu-launcher"}
        labels = {f"{LABELS}/{key}": "0" for key in ("job-name", "role", "instance", "worker")}
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels,
                         "annotations": {f"{LABELS}/{key}": "0" for key in ("partition", "run", "template-revision")}},
            "spec": {
                "restartPolicy": "Never", "hostname": name, "subdomain": "bare-workers",
                "initContainers": [{
                    "name": "ipu-launcher", "image": "example.invalid/ipu-launch",
                    "args": ["install", "/opt/ipu-launcher"], "volumeMounts": [mount],
                    "resources": main["resources"],
                    "securityContext": {"runAsUser": 65532, "runAsNonRoot": True, "readOnlyRootFilesystem": True}}],
                "containers": [{**main, "env": main["env"] + own, "volumeMounts": [{**mount, "readOnly": True}]}],
                "volumes": [{"name": "ipu-launcher", "emptyDir": {"sizeLimit": "64Mi"}}],
            },
        }

    @staticmethod
    def job(workers):
        return {
            "apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "job-%u"},
            "spec": {"jobInstances": 1, "ipusPerJobInstance": str(workers), "workersPerJobInstance": str(workers),
                     "workers": {"template": {"spec": {"containers": [container()]}}}},
        }

    # ---- one round ----

    @contextmanager
    def namespace(self, name):
        """What is left in it in the end must be gone before another round, which would have to carry it."""
        self.kubectl("create", "namespace", name)
        self.until(lambda: "default" in self.kubectl("get", "serviceaccounts", "-n", name, "-o", "name"), 30,
                   f"namespace {name} got no service account")
        yield name
        self.delete_all(f"/api/v1/namespaces/{name}/pods")
        self.kubectl("delete", "namespace", name, "--wait=true", f"--timeout={PATIENCE_S}s")

    def delete_all(self, path):
        self.until(lambda: self.deletes(path), PATIENCE_S, f"the API server does not delete {path}")
        self.until(lambda: not json.loads(self.kubectl("get", "--raw", f"{path}?limit=1"))["items"], PATIENCE_S,
                   f"{path} is not empty")

    def deletes(self, path):
        """The API server ends a request after a minute, which is not enough for all of many; the next one goes on."""
        with suppress(SystemExit):
            self.kubectl("delete", "--raw", f"{path}?gracePeriodSeconds=0")
            return True
        return False

    @staticmethod
    def until(condition, patience_s, trouble):
        deadline = time.monotonic() + patience_s
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(trouble)
            time.sleep(0.05)

    def requests(self):
        return apiserver.requests(self.kubectl("get", "--raw", "/metrics"))

    def cluster_ticks(self):
        """What the programs that name the cluster's folder, its own and the operator, have used of the processors so far."""
        folder, used = str(Path(self.kubeconfig).parent).encode(), 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):  # a process that ends meanwhile
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                used += cpu_ticks(pid) if folder in words else 0
        return used

    def bare_loop(self, number):
        """Pods without a controller other than those for all pods."""
        pods = self.options.jobs * self.options.workers
        with self.namespace(f"bare-{number}") as ns:
            before, used = self.requests(), self.cluster_ticks()
            with self.waiting(ns, "pods", pods) as waiting:
                begin = json.loads(run_quietly(*self.load("create", ns, self.write("pod.json", self.pod()), pods)))["begin_ms"]
                reported = answer(waiting)
            say(f"  bare loop: {pods} pods ended, taking them away")
            return {"created": pods / (reported["made_ms"] - begin) * 1000, "ended": pods / (reported["end_ms"] - begin) * 1000,
                    "cost": (self.cluster_ticks() - used) / pods, "api": self.requests() - before}

    def operator_round(self, number, config):
        """The jobs exist when the operator starts; it is measured until the last of them is completed."""
        jobs, pods = self.options.jobs, self.options.jobs * self.options.workers
        with self.namespace(f"jobs-{number}") as ns, self.namespace(f"probes-{number}") as probes:
            run_quietly(*self.load("create", ns, self.write("job.json", self.job(self.options.workers)), jobs))
            before, used = self.requests(), self.cluster_ticks()
            with self.waiting(ns, "pods", pods) as made, self.waiting(ns, "ipujobs", jobs) as ended, \
                    self.operator(config, "operator") as operator:
                begin = operator.await_line("caches synced") * 1000
                reported, completed = answer(made, operator), answer(ended, operator)
                operator.await_settled()
                seconds = (completed["end_ms"] - begin) / 1000
                busy = operator.cpu_ticks() * TICK_MS / 1000 / seconds
                resident, peak = operator.memory_kib()
                cost = (self.cluster_ticks() - used) / pods
                api = self.requests() - before
            say(f"  operator: {jobs} jobs completed, {resident / 1024:.1f} MiB resident; another one lists all of it")
            with self.operator(config, "another") as another:  # which has to list all of it
                another.await_line("caches synced")
                another.await_settled()
                listed = another.memory_kib()
                reaction = self.react(probes)
            say("  deleting the jobs")
            with self.operator(config, "last") as last:
                last.await_line("caches synced")
                self.delete_jobs(ns)
        return {"created": pods / (reported["made_ms"] - begin) * 1000, "ended": pods / (completed["end_ms"] - begin) * 1000,
                "jobs": jobs / seconds, "cpu": busy, "cost": cost, "resident": resident, "peak": peak, "listed": listed[0],
                "list_peak": listed[1], "p50": reaction["p50_us"] / 1000, "p99": reaction["p99_us"] / 1000,
                "api": api, "sent": operator.sent() + last.sent()}

    def react(self, ns):
        self.write("probe.json", self.job(1))
        reported = json.loads(run_quietly(*self.load("react", ns, self.folder / "probe.json", PROBES)))
        self.delete_jobs(ns)
        return reported

    @contextmanager
    def waiting(self, ns, kind, count):
        waiting = subprocess.Popen(self.load("await", ns, kind, count), stdout=subprocess.PIPE, text=True)
        try:
            yield waiting
        finally:
            waiting.kill()
            waiting.wait()

    def delete_jobs(self, ns):
        self.delete_all(f"/apis/graphcore.ai/v1alpha1/namespaces/{ns}/ipujobs")

    # ---- programs ----

    def operator(self, config, name, *flags):
        return Operator([BUILD / "operator/ipu-operator", "--config", config, "--namespace", OPERATOR_NS, "--kubeconfig",
                         self.kubeconfig, "--health-port", "0", "--metrics", "off", *flags], self.folder / f"{name}.log")

    @contextmanager
    def controllers(self):
        """As many V-IPU controllers as the jobs need IPUs, so that none waits for another; the operator's config."""
        left, addresses = self.options.jobs * self.options.workers + PROBES, []
        with ExitStack() as running:
            while left > 0:
                ipus = min(left, IPUS_PER_CONTROLLER)
                controller = running.enter_context(self.controller(len(addresses), -(-ipus // IPUS_PER_DOMAIN)))
                controller.await_line("serving")
                addresses.append(f"127.0.0.1:{controller.port}")
                left -= ipus
            yield self.write("operator.yaml", f'vipuControllers: "{",".join(addresses)}"\n')

    def controller(self, number, domains):
        config = self.write(f"vipu-{number}.yaml", f"create-ms: 1\nremove-ms: 1\nreset-ms: 1\nclusters:\n"
                            f"  - id: cl1\n    ipulink-domains: {domains}\n    agents: {16 * domains}\n")
        port = free_port()
        program = Program([BUILD / "vipu/vipu-server", "--config", config, "--listen", f"127.0.0.1:{port}",
                           "--storage", self.folder / f"vipu-{number}.db"], self.folder / f"vipu-{number}.log")
        program.port = port
        return program


def answer(waiting, beside=None):
    """What is told in the end; without the program beside it, it would be waited for in vain."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return json.loads(waiting.communicate(timeout=1)[0])
        except subprocess.TimeoutExpired:
            if beside and beside.process.poll() is not None:
                raise SystemExit(f"{beside.command[0]} has ended:\n{beside.log.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise


class Operator(Program):
    def sent(self):
        """What it said at its end that it has sent: (method, resource) -> how often; no watches, lists and leases."""
        output = re.findall(r"requests method=(\w+) resource=(\w+) sent=(\d+)", self.log.read_text())
        return Counter({(method, resource): int(count) for method, resource, count in output
                        if method not in ("WATCH", "LIST") and resource != "leases"})

    def await_settled(self):
        """Until it has used no processor time for a second: all it had to write is written."""
        before, since = self.cpu_ticks(), time.monotonic()
        while time.monotonic() < since + 1:
            time.sleep(0.1)
            if self.cpu_ticks() > before + 1:
                before, since = self.cpu_ticks(), time.monotonic()


def beside_pods(counted):
    return {key: count for key, count in counted.items() if key[1].split("/")[0] != "pods"}


def table(jobs, ours, bare):
    """What the API server answered in both rounds, per job (and as many bare pods)."""
    rows = sorted(ours.keys() | bare.keys(), key=lambda key: -ours[key] - bare[key])
    for verb, resource in rows:
        counts = ours[verb, resource] / jobs, bare[verb, resource] / jobs
        if max(counts) >= 0.05:
            say(f"  {verb:16} {resource:24} {counts[0]:8.1f} {counts[1]:8.1f}")


def report(options, rounds, bare):
    def median(key, of=rounds):
        return statistics.median(one[key] for one in of)

    def ratio(key):
        return statistics.median(ours[key] / theirs[key] for ours, theirs in zip(rounds, bare))

    jobs, last = options.jobs, rounds[-1]
    own = sum(beside_pods(last["sent"]).values()) / jobs
    say("")
    say(f"{jobs} jobs x {options.workers} pods on {FAKE_NODES} fake nodes, median of {len(rounds)} round(s) in one run")
    say(f"whole lives:  operator {median('ended'):.1f} pods/s ({median('jobs'):.2f} jobs/s), bare loop "
        f"{median('ended', bare):.1f} pods/s, ratio {ratio('ended'):.2f}")
    say(f"created:      operator {median('created'):.1f} pods/s, bare loop {median('created', bare):.1f} pods/s, "
        f"ratio {ratio('created'):.2f}")
    say(f"reaction:     p50 {median('p50'):.1f} ms, p99 {median('p99'):.1f} ms from the news of a job to the news of our "
        f"first write, {PROBES} jobs one by one")
    say(f"memory:       {median('resident') / 1024:.1f} MiB resident, {median('peak') / 1024:.1f} MiB peak (whole lives); "
        f"{median('listed') / 1024:.1f} and {median('list_peak') / 1024:.1f} MiB after listing all of it, "
        f"ratio {statistics.median(one['list_peak'] / one['listed'] for one in rounds):.2f}")
    say(f"processor:    {100 * median('cpu'):.0f} % of one core; of a pod's whole life the operator and the cluster's programs "
        f"take {median('cost') * TICK_MS:.0f} ms, with the bare loop {median('cost', bare) * TICK_MS:.0f} ms, ratio "
        f"{1 / ratio('cost'):.2f}")
    say(f"requests:     {own:.1f} per job beside its pods, from its creation to its deletion, as the operator counts")
    say("requests that the API server answered, from everybody, until all is completed; per job, and per as many bare pods:")
    table(jobs, last["api"], bare[-1]["api"])


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build", "cluster")
    measure.build("ipu-operator", "vipu-server", "api-load")
    with measure.cluster(CLUSTER) as kubeconfig, tempfile.TemporaryDirectory() as folder:
        say("adding fake nodes (usually 10 seconds)")
        run_quietly(TOP / "deploy/cluster", "fake-nodes", "--name", CLUSTER, "--count", FAKE_NODES)
        bench = Bench(options, folder, kubeconfig)
        bench.kubectl("apply", "-f", TOP / "charts/ipu-operator/crds")
        bench.await_crd()
        bench.kubectl("create", "namespace", OPERATOR_NS)
        rounds, bare = [], []
        with bench.controllers() as config:
            for number in range(options.rounds):
                say(f"round {number + 1} of {options.rounds}")
                bare.append(bench.bare_loop(number))
                rounds.append(bench.operator_round(number, config))
                say(f"round {number + 1} of {options.rounds}: bare loop {bare[-1]['ended']:.1f} pods/s, "
                    f"operator {rounds[-1]['ended']:.1f} pods/s")
        report(options, rounds, bare)
    return 0
