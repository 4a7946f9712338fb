"""tests/bench page: the live page with many viewers, from the news of a change to each of them."""
import http.client
import json
import re
import selectors
import tempfile
import threading
import time
import urllib.parse
from contextlib import ExitStack
from pathlib import Path

import measure
import websocket_client as client
from jobs import TICK_MS, Bench
from kube_api import Api
from measure import BUILD, TOP, Program, run_quietly, say

CLUSTER = "bench-page"
NAMESPACE = "pages"
VIEWERS_EACH = 16  # PAGE_VIEWERS_MAX of operator/serve/live/page_server.h
CHANGE_EVERY_S = 0.25
PATIENCE_S = 600
RECEIVE_BYTES = 1 << 18
TAIL_BYTES = 64  # what is looked for may come in two parts
SYNCED = b'"type":"synced"'
CHANGE = re.compile(rb"This is change (\d+) of")


class Viewers:
    """Open pages: what a browser receives, with the time, and without what it makes of it."""

    def __init__(self):
        self.selector, self.tails, self.times = selectors.DefaultSelector(), {}, {}

    def open(self, port, token, count, tls):
        origin = {"Origin": f"http{'s' if tls else ''}://127.0.0.1:{port}"}
        cookie = client.request(port, "POST", "/login", origin, token.encode(), tls=tls).headers["set-cookie"].split(";")[0]
        for _ in range(count):
            viewer = client.connect(port, tls=tls)
            viewer.sendall(client.upgrade(port, cookie, tls=tls))
            self.tails[viewer] = b""
            self.selector.register(viewer, selectors.EVENT_READ)

    def receive(self, wanted, count, trouble):
        """Until so many have come of what `wanted` finds in the bytes; each with its viewers' times in `times`."""
        self.times, deadline = {}, time.monotonic() + PATIENCE_S
        while sum(map(len, self.times.values())) < count:
            ready = self.selector.select(1)
            if time.monotonic() > deadline:
                raise SystemExit(trouble)
            for key, _ in ready:
                data, now = self._read(key.fileobj), time.monotonic()
                if not data:
                    raise SystemExit("the server has ended a connection")
                text = self.tails[key.fileobj] + data
                found = list(wanted.finditer(text))
                for match in found:
                    self.times.setdefault(match[0], []).append(now)
                self.tails[key.fileobj] = text[max(found[-1].end() if found else 0, len(text) - TAIL_BYTES):]
        return self.times

    @staticmethod
    def _read(viewer):
        """All that has arrived: what TLS has decrypted already makes no socket ready."""
        data = viewer.recv(RECEIVE_BYTES)
        while data and getattr(viewer, "pending", int)():
            data += viewer.recv(RECEIVE_BYTES)
        return data

    def close(self):
        for viewer in self.tails:
            viewer.close()
        self.selector.close()


class Changes(threading.Thread):
    """One job changes again and again; when another watcher has the news of each change."""

    def __init__(self, api, count):
        super().__init__()
        self.api, self.count, self.times, self.ending = api, count, {}, threading.Event()

    def run(self):
        self._until_ended(self._watch)

    def _until_ended(self, act):
        """If the benchmark is ended, its cluster is too, and what this waits for fails."""
        try:
            act()
        except (OSError, http.client.HTTPException, ValueError):
            if not self.ending.is_set():
                raise

    def _watch(self):
        for kind, items in self.api.watch("ipujobs", PATIENCE_S):
            now = time.monotonic()
            if kind == "LIST":
                threading.Thread(target=self._until_ended, args=(self._change,)).start()
            elif match := CHANGE.search(json.dumps(items).encode()):
                self.times[match[0]] = now
                if len(self.times) == self.count:
                    return

    def _change(self):
        begin = time.monotonic()
        for number in range(self.count):
            if self.ending.wait(max(0, begin + number * CHANGE_EVERY_S - time.monotonic())):
                return
            self.api.patch("ipujobs", NAMESPACE, "job-0", {"status": {"lastMessage": f"This is change {number} of {self.count}."}}, "status")


def measure_changes(api, viewers, count, options):
    """Milliseconds from the news at the other watcher to each viewer, sorted."""
    changes = Changes(api, options.changes)
    changes.start()
    try:
        seen = viewers.receive(CHANGE, count * options.changes, "not every change has reached every viewer")
        changes.join(PATIENCE_S)
    finally:
        changes.ending.set()
    return sorted(1000 * (time_ - changes.times[text]) for text, times in seen.items() for time_ in times)


def tokens(bench, api, count):
    """Of accounts that may list the jobs of one namespace."""
    bench.kubectl("create", "role", "viewer", "-n", NAMESPACE, "--verb=list", "--resource=ipujobs.graphcore.ai,pods")
    bench.kubectl("create", "rolebinding", "viewer", "-n", NAMESPACE, "--role=viewer", f"--group=system:serviceaccounts:{NAMESPACE}")
    for number in range(count):
        api.create("serviceaccounts", NAMESPACE, {"metadata": {"name": f"viewer-{number}"}})
        made = api.create("serviceaccounts", NAMESPACE, {"spec": {"expirationSeconds": 7200}}, "token", f"viewer-{number}")
        yield made["status"]["token"]


def serve(stack, options, bench, api, folder):
    """The programs that serve, their pages, and their memory before that."""
    count = -(-options.viewers // VIEWERS_EACH)
    if options.operator:
        operator = stack.enter_context(Program([BUILD / "operator/ipu-operator", "--kubeconfig", bench.kubeconfig, "--namespace", "default", "--health-port", "0",
                                                "--metrics", "off", "--live-page", "127.0.0.1", "--live-page-port", "0"], folder / "operator.log"))
        programs, port = [operator], int(operator.await_value(r"live_page_port=(\d+)"))
        operator.await_line("leading")
        doors = [(port, token) for token in tokens(bench, api, count)]
    else:
        programs = [stack.enter_context(Program([BUILD / "kubectl/kubectl-ipu", "ui", "-A", "--kubeconfig", bench.kubeconfig], folder / f"ui-{number}.log"))
                    for number in range(count)]
        urls = [urllib.parse.urlsplit(program.await_value(r"(http://\S+)")) for program in programs]
        doors = [(url.port, url.fragment) for url in urls]
    viewers = Viewers()
    stack.callback(viewers.close)
    alone = [program.resident_kib() for program in programs]
    for number, (port, token) in enumerate(doors):
        viewers.open(port, token, min(VIEWERS_EACH, options.viewers - number * VIEWERS_EACH), options.operator)
    return programs, viewers, alone


def report(options, programs, alone, opened_s, cpu_s, took):
    memory = [program.memory_kib() for program in programs]
    what, each = ("the operator", options.viewers) if options.operator else ("a command", min(VIEWERS_EACH, options.viewers))
    seconds = options.changes * CHANGE_EVERY_S
    say("")
    say(f"{options.viewers} viewers of {'the operator' if options.operator else f'{len(programs)} commands'}, {options.jobs} jobs, a change every {1000 * CHANGE_EVERY_S:.0f} ms, in one run")
    say(f"opening:    all viewers have all jobs after {opened_s:.1f} s")
    say(f"a change:   p50 {took[len(took) // 2]:.1f} ms, p99 {took[int(len(took) * 0.99)]:.1f} ms, most {took[-1]:.1f} ms from the news at another "
        f"watcher to the viewers, {len(took)} in all")
    say(f"memory:     {max(alone) / 1024:.1f} MiB resident of {what} without viewers, {max(now for now, _ in memory) / 1024:.1f} MiB with "
        f"{each}, {max(peak for _, peak in memory) / 1024:.1f} MiB peak")
    say(f"processor:  {100 * cpu_s / seconds:.1f} % of one core for all of it while jobs change, {1e6 * cpu_s / len(took):.0f} us for "
        "each change and viewer")


def job_of_others(bench):
    """The operator leaves its status to who changes it here."""
    job = bench.job(1)
    job["spec"]["managedBy"] = "example.com/tests-bench"
    return job


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build", "cluster")
    measure.build("ipu-operator" if options.operator else "kubectl-ipu", "api-load")
    options.workers = 1
    with measure.cluster(CLUSTER) as kubeconfig, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench, api = Bench(options, folder, kubeconfig), Api(kubeconfig)
        bench.kubectl("apply", "-f", TOP / "charts/ipu-operator/crds")
        bench.await_crd()
        bench.kubectl("create", "namespace", NAMESPACE)
        run_quietly(*bench.load("create", NAMESPACE, bench.write("job.json", job_of_others(bench)), options.jobs))
        say(f"opening {options.viewers} pages")
        begin = time.monotonic()
        programs, viewers, alone = serve(stack, options, bench, api, Path(folder))
        viewers.receive(re.compile(re.escape(SYNCED)), options.viewers, "not every viewer has got all jobs")
        opened_s = time.monotonic() - begin
        say(f"changing a job ({options.changes * CHANGE_EVERY_S:.0f} seconds)")
        used = sum(program.cpu_ticks() for program in programs)
        took = measure_changes(api, viewers, options.viewers, options)
        cpu_s = (sum(program.cpu_ticks() for program in programs) - used) * TICK_MS / 1000
        report(options, programs, alone, opened_s, cpu_s, took)
    return 0
