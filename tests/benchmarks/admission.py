"""tests/bench admission: what the webhooks add to the creation of an IPUJob, beside a bare dry run of a PodTemplate; and
the same again while the operator lists all jobs and pods."""
import base64
import contextlib
import datetime
import http.client
import json
import ssl
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import measure
import yaml
from measure import BUILD, TOP, Program, free_port, run_quietly, say

CLUSTER = "bench-admission"
OPERATOR_NS = "default"
NAME = "ipu-operator-admission"
POD = {"spec": {"containers": [{"name": "main", "image": "example.invalid/none", "command": ["true"],
                                "env": [{"name": f"SETTING_{i:02}", "value": "x" * 60} for i in range(50)]}]}}
JOB = {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"generateName": "job-"},
       "spec": {"jobInstances": 1, "ipusPerJobInstance": "4", "workers": {"template": POD}}}
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
          "request": {"uid": "u", "operation": "CREATE", "namespace": "default", "object": JOB}}
TEMPLATE = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"generateName": "bare-"}, "template": POD}
JOBS_PATH = "/apis/graphcore.ai/v1alpha1/namespaces/default/ipujobs?dryRun=All"
TEMPLATES_PATH = "/api/v1/namespaces/default/podtemplates?dryRun=All&fieldValidation=Strict"
PATIENCE_S = 60


def listed_job(name):
    """One that another controller looks after."""
    return {**JOB, "metadata": {"name": name}, "spec": {**JOB["spec"], "managedBy": "bench.example/nobody"}}


def listed_pod(owner):
    """One of that job's, which no scheduler looks at."""
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {key: owner["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "listed-%u", "labels": {"graphcore.ai/job-name": owner["metadata"]["name"]},
                         "ownerReferences": [{**reference, "controller": True}]},
            "spec": {**POD["spec"], "schedulerName": "nobody"}}


class Api:
    def __init__(self, kubeconfig):
        config = yaml.safe_load(Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.kubeconfig, self.host = kubeconfig, cluster["server"].removeprefix("https://")
        self.tls = trusting(cluster["certificate-authority-data"])
        with tempfile.NamedTemporaryFile("wb") as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + b"\n" + base64.b64decode(user["client-key-data"]))
            pair.flush()
            self.tls.load_cert_chain(pair.name)


def trusting(ca):
    return ssl.create_default_context(cadata=base64.b64decode(ca).decode())


class Loader(threading.Thread):
    """Requests one after the other on one connection, as long as it lasts; when each began and was answered."""

    def __init__(self, host, tls, path, body, over):
        super().__init__()
        self.connection = http.client.HTTPSConnection(host, context=tls, timeout=PATIENCE_S)
        self.connection.connect()
        self.path, self.text, self.over, self.times, self.wrong = path, json.dumps(body), over, [], None

    def run(self):
        try:
            while not self.over.is_set():
                self.times.append(self.ask())
        except (OSError, http.client.HTTPException, ValueError) as wrong:
            self.wrong = wrong
        self.connection.close()

    def ask(self):
        begin = time.monotonic()
        self.connection.request("POST", self.path, self.text, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        output = answer.read()
        if answer.status not in (200, 201) or b'"allowed":false' in output:
            raise ValueError(f"{self.path}: {answer.status} {output[:300]!r}")
        return begin, time.monotonic()


def load(asked, connections, until):
    """(requests/s, p50, p99 in milliseconds) of those that were in flight in the time that `until` waits for and tells."""
    over = threading.Event()
    loaders = [Loader(*asked, over) for _ in range(connections)]
    for loader in loaders:
        loader.start()
    try:
        begin, end = until()
    finally:
        over.set()
        for loader in loaders:
            loader.join()
    wrong = [str(loader.wrong) for loader in loaders if loader.wrong]
    every = sorted((answered - sent) * 1000 for loader in loaders for sent, answered in loader.times
                   if sent < end and answered > begin)
    if wrong or not every:
        raise SystemExit(wrong[0] if wrong else f"{asked[2]}: no answer")
    return len(every) / (end - begin), every[len(every) // 2], every[int(len(every) * 0.99)]


class Bench:
    def __init__(self, kubeconfig, folder):
        self.api, self.folder, self.port = Api(kubeconfig), Path(folder), free_port()
        self.kubectl_path = f"{run_quietly(TOP / 'deploy/cluster', 'bin').strip()}/kubectl"

    def kubectl(self, *words, **how):
        return run_quietly(self.kubectl_path, "--kubeconfig", self.api.kubeconfig, *words, **how)

    def await_definition(self):
        """kubectl wait gives up on an object whose status is still empty; asking for the jobs does not."""
        deadline = time.monotonic() + PATIENCE_S
        while subprocess.run([self.kubectl_path, "--kubeconfig", self.api.kubeconfig, "get", "ipujobs"],
                             capture_output=True).returncode != 0:
            if time.monotonic() > deadline:
                raise SystemExit("the API server does not serve ipujobs")
            time.sleep(0.05)

    def configurations(self):
        """The chart's, with the operator at a port of this machine."""
        text = run_quietly(Path(self.kubectl_path).with_name("helm"), "template", "ipu-operator", TOP / "charts/ipu-operator",
                           "-n", OPERATOR_NS, "--set", "admissionWebhooks.enabled=true")
        for item in yaml.safe_load_all(text):
            if item and item["kind"].endswith("WebhookConfiguration"):
                for hook in item["webhooks"]:
                    path = hook["clientConfig"].pop("service")["path"]
                    hook["clientConfig"]["url"] = f"https://localhost:{self.port}{path}"
                yield item

    def install(self):
        text = yaml.safe_dump_all(self.configurations())
        subprocess.run([self.kubectl_path, "--kubeconfig", self.api.kubeconfig, "apply", "-f", "-"], input=text, text=True,
                       check=True, capture_output=True, timeout=PATIENCE_S)

    def remove(self):
        self.kubectl("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", NAME)

    def create(self, count, name, body):
        """So many objects, with their numbers where "%u" stands."""
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(body))
        run_quietly(BUILD / "tests/benchmarks/api-load", "create", self.api.kubeconfig, "default", file, count)

    def fill(self, count):
        """Jobs, and as many pods of one of them, which the operator knows and has nothing to do for."""
        self.create(count, "job", listed_job("listed-%u"))
        owner = json.loads(self.kubectl("get", "ipujob", "listed-0", "-o", "json"))
        self.create(count, "pod", listed_pod(owner))

    def hold_lease(self):
        """Whoever starts now stands by, until the lease is deleted."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "ipu-operator", "namespace": OPERATOR_NS},
                 "spec": {"holderIdentity": "bench", "leaseDurationSeconds": 3600, "renewTime": now}}
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(lease))

    def listing(self, operator):
        """From when it leads, and so lists everything, until it knows all."""
        self.kubectl("delete", "lease", "ipu-operator", "-n", OPERATOR_NS)
        return operator.await_line("leading"), operator.await_line("caches synced")

    def operator(self):
        config = self.folder / "operator.yaml"
        config.write_text("vipuControllers: []\n")
        return Program([BUILD / "operator/ipu-operator", "--config", config, "--namespace", OPERATOR_NS, "--kubeconfig",
                        self.api.kubeconfig, "--health-port", "0", "--metrics", "off", "--admission", NAME, "--admission-port", str(self.port),
                        "--log-level", "info"], self.folder / "operator.log")

    def await_trust(self):
        """What to trust, once the operator shows the certificate that it has told the API server of."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = subprocess.run([self.kubectl_path, "--kubeconfig", self.api.kubeconfig, "get", "secret", NAME, "-n",
                                    OPERATOR_NS, "-o", "jsonpath={.data.ca\\.crt}"], capture_output=True, text=True)
            with contextlib.suppress(OSError):
                tls = trusting(found.stdout)
                Loader(f"localhost:{self.port}", tls, REVIEW_PATH, REVIEW, None).connection.close()
                return tls
            time.sleep(0.05)
        raise SystemExit("the operator's webhooks are not trusted")


REVIEW_PATH = "/validate-graphcore-ai-v1alpha1-ipujob"
BARE, PLAIN, ASKED, ALONE = "PodTemplate, dry run", "IPUJob, no webhook", "IPUJob, both webhooks", "the webhook alone"
MEANWHILE = "{}, listing"
AGAIN = (BARE, ASKED, ALONE)
ROWS = (BARE, PLAIN, ASKED, ALONE, *map(MEANWHILE.format, AGAIN))


def measure_all(bench, options):
    """Row -> connections -> the rounds' figures; in each round all take their turn."""
    found = {row: {count: [] for count in options.connections} for row in ROWS}
    asked = {BARE: (bench.api.host, bench.api.tls, TEMPLATES_PATH, TEMPLATE)}
    asked[PLAIN] = asked[ASKED] = (bench.api.host, bench.api.tls, JOBS_PATH, JOB)

    def a_while():
        begin = time.monotonic()
        threading.Event().wait(options.seconds)
        return begin, time.monotonic()

    for number in range(options.rounds):
        for count in options.connections:
            say(f"round {number + 1} of {options.rounds}: {len(ROWS)} measurements, connections: {count}")
            for row in (BARE, PLAIN):
                found[row][count].append(load(asked[row], count, a_while))
            bench.install()
            with bench.operator() as operator:
                asked[ALONE] = (f"localhost:{bench.port}", bench.await_trust(), REVIEW_PATH, REVIEW)
                operator.await_line("caches synced")
                for row in (ASKED, ALONE):
                    found[row][count].append(load(asked[row], count, a_while))
            for row in AGAIN:
                bench.hold_lease()
                with bench.operator() as operator:
                    bench.await_trust()
                    found[MEANWHILE.format(row)][count].append(
                        load(asked[row], count, lambda operator=operator: bench.listing(operator)))
            bench.remove()
    return found


def report(found, options):
    say("")
    say(f"median of {options.rounds} round(s) of {options.seconds} s, in one run; the client is Python in one process")
    say(f"listing: while an operator that begins to lead lists {options.listed} jobs and {options.listed} pods")
    say(f"{'':32} {'connections':>11} {'requests/s':>11} {'p50 ms':>8} {'p99 ms':>8}")
    for row, by_count in found.items():
        for count, rounds in by_count.items():
            rate, p50, p99 = (statistics.median(column) for column in zip(*rounds))
            say(f"{row:32} {count:>11} {rate:>11.0f} {p50:>8.1f} {p99:>8.1f}")


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build", "cluster")
    measure.build("ipu-operator", "api-load")
    with measure.cluster(CLUSTER) as kubeconfig, tempfile.TemporaryDirectory() as folder:
        bench = Bench(kubeconfig, folder)
        bench.kubectl("apply", "-f", TOP / "charts/ipu-operator/crds")
        bench.await_definition()
        say(f"making {options.listed} jobs and {options.listed} pods (5,000 of each: usually 2 minutes)")
        bench.fill(options.listed)
        report(measure_all(bench, options), options)
    return 0
