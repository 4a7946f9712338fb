"""tests/bench local: what ipu-run adds to the bare command, from start to end of a job, and its memory."""
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import BUILD, build, say

GOALS_MS = {1: 150, 64: 1000}


def job(workers):
    container = {"name": "main", "command": ["true"]}
    return {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "bench"},
            "spec": {"jobInstances": 1, "ipusPerJobInstance": str(max(4, workers)), "workersPerJobInstance": str(workers),
                     "workers": {"template": {"spec": {"containers": [container]}}}}}


def time_of(command, printed):
    """Milliseconds from start to end, and the most memory in MiB that one of its processes had."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - start
    if status:
        printed.seek(0)
        raise SystemExit(f"{' '.join(map(str, command))} ended with status {process.returncode}:\n{printed.read()}")
    return took * 1000, usage.ru_maxrss / 1024


def run(options) -> int:
    build("ipu-run")
    say(f"jobs of `true`, {options.rounds} pairs of runs; the bare command is a shell that starts as many at once. "
        f"Goals: {', '.join(f'{ms} ms for {count}' for count, ms in GOALS_MS.items())} (median of what is added)")
    say(f"{'workers':>8}{'bare, ms':>10}{'ipu-run, ms':>13}{'adds, ms':>10}{'most':>8}{'MiB':>8}")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as printed:
        for workers in options.workers:
            file = Path(folder) / "job.yaml"
            file.write_text(json.dumps(job(workers)))
            ours = [BUILD / "local/ipu-run", "--run-dir", Path(folder) / "run", file]
            bare = ["sh", "-c", f"for n in $(seq {workers}); do true & done; wait"]
            pairs = [(time_of(bare, printed)[0], *time_of(ours, printed)) for _ in range(options.rounds + 1)][1:]
            added = [ms - bare_ms for bare_ms, ms, _ in pairs]
            say(f"{workers:>8}{statistics.median(pair[0] for pair in pairs):>10.1f}{statistics.median(pair[1] for pair in pairs):>13.1f}"
                f"{statistics.median(added):>10.1f}{max(added):>8.1f}{max(pair[2] for pair in pairs):>8.1f}")
    return 0
