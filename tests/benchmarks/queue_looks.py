"""tests/bench queue: how long the operator's loop is held by a look at the queue, a page of /queue and metrics, whatever waits."""
import json
import tempfile
from pathlib import Path

from measure import BUILD, Program, build, run_quietly, say

DOMAINS = 16


def run(options) -> int:
    build("queue-load", "vipu-server")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "vipu.yaml"
        config.write_text(f"create-ms: 0\nclusters: [{{id: cl1, ipulink-domains: {DOMAINS}, agents: {16 * DOMAINS}}}]\n")
        with Program([BUILD / "vipu/vipu-server", "--config", config, "--listen", "127.0.0.1:0", "--storage", Path(folder) / "vipu.db"],
                     Path(folder) / "vipu.log") as server:
            port = server.await_value(r"serving the V-IPU user API.* port=(\d+)")
            say(f"\n{'jobs that wait':>14}{'look':>8}{'longest':>9}{'page, longest':>15}{'metrics, longest':>18}{'longest turn of the loop':>26}   ms of the processor")
            for jobs in options.jobs:
                found = json.loads(run_quietly(BUILD / "tests/benchmarks/queue-load", f"127.0.0.1:{port}", jobs))
                say(f"{jobs:14,}{found['medianLookMs']:8.1f}{found['longestLookMs']:9.1f}{found['longestPageMs']:15.1f}"
                    f"{found['longestMetricsMs']:18.1f}{found['longestTurnMs']:26.1f}")
    return 0
