"""tests/bench collectives: PopDist's host collectives beside plain MPI, from C and from Python."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import BUILD, TOP, build, run_quietly, say

HERE = Path(__file__).resolve().parent
GOAL_LATENCY, GOAL_BANDWIDTH = 3.0, 0.9
BYTES = 64 << 20


def show(title, printed):
    say(title)
    say(f"  {'':12}{'8 B: MPI':>12}{'PopDist':>12}{'ratio':>8}   {'64 MiB: MPI':>12}{'PopDist':>14}{'ratio':>8}")
    found = {}
    for line in printed.splitlines():
        name, size, plain, ours = line.split()
        found.setdefault(name, {})[size] = (float(plain), float(ours))
    for name, sizes in found.items():
        (plain, ours), (slow, fast) = sizes["small"], sizes["large"]
        say(f"  {name:12}{plain * 1e6:9.2f} us{ours * 1e6:9.2f} us{ours / plain:8.2f}   "
            f"{BYTES / slow / 1e9:7.2f} GB/s{BYTES / fast / 1e9:9.2f} GB/s{slow / fast:8.2f}")


def mpirun(ranks, *words, **variables):
    exports = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("POPDIST_", "OMPI_"))}
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-np", str(ranks),
                           *exports, *map(str, words)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"mpirun ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run(options) -> int:
    build("collectives-load", "popdist_mpi")
    python = run_quietly(TOP / "deploy/prerequisites", "python").strip()
    say(f"{options.ranks} ranks on this host; goals: at 8 B under {GOAL_LATENCY} times MPI's time, "
        f"at 64 MiB over {GOAL_BANDWIDTH} of its bandwidth")
    show("C, beside MPI's own functions", mpirun(options.ranks, BUILD / "tests/benchmarks/collectives-load", options.rounds))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "popdist"
        shutil.copytree(TOP / "popdist", copy)
        run_quietly(f"{python}/bin/python", "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
                    "--target", f"{folder}/site", copy)
        show("Python, beside mpi4py", mpirun(options.ranks, f"{python}/bin/python", HERE / "collectives_load.py",
                                             options.rounds, PYTHONPATH=f"{folder}/site"))
    return 0
