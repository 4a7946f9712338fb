"""tests/bench page: the live page with many viewers, from the news of a change to each of them."""
import http.client
import json
import re
import selectors
import socket
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

    def open(self, url, count):
        server = urllib.parse.urlsplit(url)
        origin = {"Origin": f"http://{server.netloc}"}
        cookie = client.request(server.port, "POST", "/login", origin, server.fragment.encode()).headers["set-cookie"].split(";")[0]
        for _ in range(count):
            viewer = socket.create_connection((server.hostname, server.port), PATIENCE_S)
            viewer.sendall(client.upgrade(server.port, cookie))
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
                data, now = key.fileobj.recv(RECEIVE_BYTES), time.monotonic()
                if not data:
                    raise SystemExit("kubectl ipu ui has ended a connection")
                text = self.tails[key.fileobj] + data
                found = list(wanted.finditer(text))
                for match in found:
                    self.times.setdefault(match[0], []).append(now)
                self.tails[key.fileobj] = text[max(found[-1].end() if found else 0, len(text) - TAIL_BYTES):]
        return self.times

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


def serve(stack, options, kubeconfig, folder):
    """The commands, and their pages as soon as each has all jobs."""
    count = -(-options.viewers // VIEWERS_EACH)
    commands = [stack.enter_context(Program([BUILD / "kubectl/kubectl-ipu", "ui", "-A", "--kubeconfig", kubeconfig], folder / f"ui-{number}.log"))
                for number in range(count)]
    viewers = Viewers()
    stack.callback(viewers.close)
    urls = [command.await_value(r"(http://\S+)") for command in commands]
    alone = [command.resident_kib() for command in commands]
    for number, url in enumerate(urls):
        viewers.open(url, min(VIEWERS_EACH, options.viewers - number * VIEWERS_EACH))
    return commands, viewers, alone


def report(options, commands, alone, opened_s, cpu_s, took):
    memory = [command.memory_kib() for command in commands]
    seconds = options.changes * CHANGE_EVERY_S
    say("")
    say(f"{options.viewers} viewers of {len(commands)} commands, {options.jobs} jobs, a change every {1000 * CHANGE_EVERY_S:.0f} ms, in one run")
    say(f"opening:    all viewers have all jobs after {opened_s:.1f} s")
    say(f"a change:   p50 {took[len(took) // 2]:.1f} ms, p99 {took[int(len(took) * 0.99)]:.1f} ms, most {took[-1]:.1f} ms from the news at another "
        f"watcher to the viewers, {len(took)} in all")
    say(f"memory:     {max(alone) / 1024:.1f} MiB resident of a command without viewers, {max(now for now, _ in memory) / 1024:.1f} MiB with "
        f"{min(VIEWERS_EACH, options.viewers)}, {max(peak for _, peak in memory) / 1024:.1f} MiB peak")
    say(f"processor:  {100 * cpu_s / seconds:.1f} % of one core for all commands while jobs change, {1e6 * cpu_s / len(took):.0f} us for "
        "each change and viewer")


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build", "cluster")
    measure.build("kubectl-ipu", "api-load")
    options.workers = 1
    with measure.cluster(CLUSTER) as kubeconfig, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench, api = Bench(options, folder, kubeconfig), Api(kubeconfig)
        bench.kubectl("apply", "-f", TOP / "charts/ipu-operator/crds")
        bench.await_crd()
        bench.kubectl("create", "namespace", NAMESPACE)
        run_quietly(*bench.load("create", NAMESPACE, bench.write("job.json", bench.job(1)), options.jobs))
        say(f"opening {options.viewers} pages")
        begin = time.monotonic()
        commands, viewers, alone = serve(stack, options, kubeconfig, Path(folder))
        viewers.receive(re.compile(re.escape(SYNCED)), options.viewers, "not every viewer has got all jobs")
        opened_s = time.monotonic() - begin
        say(f"changing a job ({options.changes * CHANGE_EVERY_S:.0f} seconds)")
        used = sum(command.cpu_ticks() for command in commands)
        took = measure_changes(api, viewers, options.viewers, options)
        cpu_s = (sum(command.cpu_ticks() for command in commands) - used) * TICK_MS / 1000
        report(options, commands, alone, opened_s, cpu_s, took)
    return 0
