"""tests/bench vipu: our V-IPU server and client beside a generic gRPC server and client, placement decisions, memory."""
import json
import os
import statistics
import tempfile
from pathlib import Path

from measure import BUILD, TOP, Program, build, run_quietly, say

IN_FLIGHT = 32
LISTED = 100  # partitions in the list that the calls per second are measured with
IPUS_PER_DOMAIN = 64
GENERIC = Path(__file__).resolve().parent / "generic_peer.py"
OURS, OTHERS = "ours", "grpcio"


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = Path(folder)
        self.python = Path(run_quietly(TOP / "deploy/prerequisites", "python").strip()) / "bin/python"
        self.count = 0

    # ---- programs ----

    def our_server(self, partitions):
        """A vipu-server with at least so many IPUs, whose operations take no time."""
        self.count += 1
        config = self.folder / f"vipu{self.count}.yaml"
        domains = -(-partitions // IPUS_PER_DOMAIN)
        config.write_text(f"create-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters:\n  - id: cl1\n"
                          f"    ipulink-domains: {domains}\n    agents: {16 * domains}\n")
        return Program([BUILD / "vipu/vipu-server", "--config", config, "--listen", "127.0.0.1:0",
                        "--storage", self.folder / f"vipu{self.count}.db"], self.folder / f"vipu{self.count}.log")

    def generic_server(self, partitions):
        self.count += 1
        return Program([self.python, GENERIC, "serve", partitions], self.folder / f"generic{self.count}.log")

    def load(self, port, in_flight, count, *what):
        return json.loads(run_quietly(BUILD / "tests/benchmarks/vipu-load", "127.0.0.1", port, in_flight, count, *what))

    def call(self, client, port, count, *what):
        """Calls per second."""
        if client == OURS:
            reported = self.load(port, IN_FLIGHT, count, *what)
        else:
            reported = json.loads(run_quietly(self.python, GENERIC, "call", f"127.0.0.1:{port}", IN_FLIGHT, count, *what))
        return reported["count"] / reported["seconds"]

    # ---- calls per second ----

    def one_round(self, ports):
        """For each call: calls/s by (client, server). Where grpcio takes part, fewer calls take as long."""
        calls = {("status", "p0"): self.options.calls, ("list",): max(1, self.options.calls // 4)}
        reported = {}
        for what, count in calls.items():
            for client, server in ((OURS, OURS), (OURS, OTHERS), (OTHERS, OURS), (OTHERS, OTHERS)):
                more = 4 if client == server == OURS else 1
                reported[what[0], client, server] = self.call(client, ports[server], more * count, *what)
        return reported

    def calls(self):
        with self.our_server(LISTED) as ours, self.generic_server(LISTED) as others:
            ports = {OURS: ours.await_value(r"serving the V-IPU user API.* port=(\d+)"),
                     OTHERS: others.await_value(r"port=(\d+)")}
            self.load(ports[OURS], IN_FLIGHT, LISTED, "create", "p")
            rounds = []
            for number in range(self.options.rounds):
                rounds.append(self.one_round(ports))
                say(f"round {number + 1} of {self.options.rounds}: status calls/s "
                    f"{rounds[-1]['status', OURS, OURS]:.0f} ours, {rounds[-1]['status', OTHERS, OTHERS]:.0f} grpcio")
        say()
        say(f"calls/s over one connection, {IN_FLIGHT} in flight, median of {len(rounds)} rounds in one run")
        say(f"{'':24}{'status of one':>15}{f'list of {LISTED}':>15}")
        for client, server in ((OURS, OURS), (OURS, OTHERS), (OTHERS, OURS), (OTHERS, OTHERS)):
            cells = [statistics.median(r[what, client, server] for r in rounds) for what in ("status", "list")]
            say(f"{client + ' -> ' + server:24}" + "".join(f"{cell:15.0f}" for cell in cells))
        for name, above, below in (("server, to our client", (OURS, OURS), (OURS, OTHERS)),
                                   ("server, to grpcio", (OTHERS, OURS), (OTHERS, OTHERS)),
                                   ("client, of our server", (OURS, OURS), (OTHERS, OURS)),
                                   ("client, of grpcio", (OURS, OTHERS), (OTHERS, OTHERS))):
            cells = [statistics.median(r[what, *above] / r[what, *below] for r in rounds) for what in ("status", "list")]
            say(f"{'ratio ' + name:30}" + "".join(f"{f'{cell:.1f}':>{width}}" for cell, width in zip(cells, (9, 15))))

    # ---- placement ----

    def allocator(self):
        rounds = [run_quietly(BUILD / "tests/benchmarks/allocator-load", self.options.decisions, seed + 1,
                              *self.options.ipus).splitlines() for seed in range(self.options.rounds)]
        rows = {}
        for line in (json.loads(line) for reported in rounds for line in reported):
            rows.setdefault((line["kind"], line["ipus"], line["fill"]), []).append(line)
        levels = sorted({fill for _, _, fill in rows})
        say()
        say(f"placement: microseconds of processor time per decision (find, take, give back; or a rejection), "
            f"median of {len(rounds)} rounds")
        say(f"{'IPUs full to':36}" + "".join(f"{f'{level} %':>9}" for level in levels) + f"{'decisions/s':>14}")
        for kind, ipus in sorted({(kind, ipus) for kind, ipus, _ in rows}):
            cells = [statistics.median(line["us"] for line in rows[kind, ipus, level]) for level in levels]
            mean = statistics.mean(line["asked"] for level in levels for line in rows[kind, ipus, level])
            say(f"{f'{ipus} IPUs, {kind} (of {mean:.0f})':36}" + "".join(f"{cell:9.2f}" for cell in cells) +
                f"{1e6 / max(cells):>14,.0f}")
        say("(of N): IPUs of a partition on average; decisions/s at the slowest level")

    # ---- memory ----

    def server_memory(self):
        partitions = self.options.partitions
        with self.our_server(partitions) as server:
            port = server.await_value(r"serving the V-IPU user API.* port=(\d+)")
            empty = server.resident_kib()
            batch = max(1, min(4000, partitions // 4))
            first = self.cost_of_creates(server, port, batch, "first")
            made = self.load(port, IN_FLIGHT, partitions - 2 * batch, "create", "p")
            last = self.cost_of_creates(server, port, batch, "last")
            full = server.resident_kib()
            listed = self.load(port, 1, 1, "list")
            after = server.resident_kib()
        say()
        say(f"memory of vipu-server: {empty / 1024:.1f} MiB with room for {partitions:,} partitions of one IPU, {full / 1024:.1f} MiB "
            f"with all of them ({(full - empty) * 1024 / partitions:.0f} bytes each), "
            f"{after / 1024:.1f} MiB after listing {listed['partitions']:,} of them")
        say(f"made {made['count'] / made['seconds']:,.0f} partitions/s, each on disk before its caller heard of it")
        say(f"cost of one change: {first:.0f} us of processor time with up to {batch:,} partitions, {last:.0f} us with up to "
            f"{partitions:,}")

    def cost_of_creates(self, server, port, count, prefix):
        """Microseconds of the server's processor time."""
        before = server.cpu_ticks()
        self.load(port, IN_FLIGHT, count, "create", prefix)
        return (server.cpu_ticks() - before) * 1e6 / os.sysconf("SC_CLK_TCK") / count

    def client_memory(self):
        with self.generic_server(self.options.listed) as server:
            port = server.await_value(r"port=(\d+)")
            size = int(server.await_value(r"bytes=(\d+)"))
            reported = self.load(port, 1, 1, "list")
        grown = (reported["peak_kib"] - reported["before_kib"]) * 1024
        say(f"memory of a client that lists {reported['partitions']:,} partitions: {grown / 2**20:.1f} MiB more than before at "
            f"its peak, {grown / size:.1f} times the message of {size / 2**20:.1f} MiB; {reported['seconds']:.2f} s")


def run(options):
    run_quietly(TOP / "deploy/prerequisites", "build")
    build("vipu-server", "vipu-load", "allocator-load")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        bench.calls()
        bench.allocator()
        bench.server_memory()
        bench.client_memory()
    return 0
