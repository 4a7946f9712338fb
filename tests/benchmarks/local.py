"""tests/bench local: what ipu-run adds to the bare command, from start to end of a job, and its memory."""
import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import BUILD, build, say

GOALS_MS = {1: 150, 64: 1000}


def job(workers, command=("true",)):
    container = {"name": "main", "command": list(command)}
    return {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "bench"},
            "spec": {"jobInstances": 1, "ipusPerJobInstance": str(max(4, workers)), "workersPerJobInstance": str(workers),
                     "workers": {"template": {"spec": {"containers": [container]}}}}}


def time_of(command, printed):
    """Milliseconds from start to end."""
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, check=False)
    took = time.monotonic() - start
    if done.returncode:
        printed.seek(0)
        raise SystemExit(f"{' '.join(map(str, command))} ended with status {done.returncode}:\n{printed.read()}")
    return took * 1000


def memory_of(workers, folder):
    """The most memory of ipu-run, in MiB, when all workers have been started."""
    file, end = folder / "waiting.yaml", folder / "end"
    end.unlink(missing_ok=True)
    file.write_text(json.dumps(job(workers, ["sh", "-c", f"until [ -e {end} ]; do sleep 0.1; done"])))
    with subprocess.Popen([BUILD / "local/ipu-run", "--run-dir", folder / "run", file], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while " Running " not in (line := process.stdout.readline()):
            if not line:
                raise SystemExit("ipu-run ended before its workers ran")
        most = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1])
        end.touch()
        process.stdout.read()
    return most / 1024


def run(options) -> int:
    build("ipu-run")
    say(f"jobs of `true`, {options.rounds} pairs of runs; the bare command is a shell that starts as many at once. "
        f"Goals: {', '.join(f'{ms} ms for {count}' for count, ms in GOALS_MS.items())} (median of what is added)")
    say(f"{'workers':>8}{'bare, ms':>10}{'ipu-run, ms':>13}{'adds, ms':>10}{'most':>8}{'MiB':>8}")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as printed:
        for workers in options.workers:
            memory = memory_of(workers, Path(folder))
            file = Path(folder) / "job.yaml"
            file.write_text(json.dumps(job(workers)))
            ours = [BUILD / "local/ipu-run", "--run-dir", Path(folder) / "run", file]
            bare = ["sh", "-c", f"for n in $(seq {workers}); do true & done; wait"]
            pairs = [(time_of(bare, printed), time_of(ours, printed)) for _ in range(options.rounds + 1)][1:]
            added = [ms - bare_ms for bare_ms, ms in pairs]
            say(f"{workers:>8}{statistics.median(pair[0] for pair in pairs):>10.1f}{statistics.median(pair[1] for pair in pairs):>13.1f}"
                f"{statistics.median(added):>10.1f}{max(added):>8.1f}{memory:>8.1f}")
    return 0
