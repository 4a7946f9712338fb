"""tests/bench collectives: PopDist's host collectives beside plain MPI and others, from C and from Python."""
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from measure import BUILD, TOP, build, run_quietly, say

HERE = Path(__file__).resolve().parent
GOAL_LATENCY, GOAL_BANDWIDTH = 3.0, 0.9
BYTES = 64 << 20
OURS = "PopDist"
TORCH = "torch==2.15.0"


def read(printed):
    """{(operation, size): rounds}; a round holds the seconds of each contender."""
    rounds = {}
    for line in printed.splitlines():
        name, size, *seconds = line.split()
        rounds.setdefault((name, size), []).append([float(each) for each in seconds])
    return rounds


def ratios(rounds, one, other):
    """Of each round, so that what the machine does to both at once falls out: lower quarter, median, upper quarter."""
    found = [seconds[one] / seconds[other] for seconds in rounds]
    return statistics.quantiles(found, n=4) if len(found) > 1 else found * 3


def show(title, printed, contenders):
    """The first contender is what the others are compared with."""
    say(f"{title}; medians, and the ratio's quarters")
    for size, about, unit, shown in (("small", "8 B", "us", lambda seconds: seconds * 1e6),
                                     ("large", "64 MiB", "GB/s", lambda seconds: BYTES / seconds / 1e9)):
        say(f"  {about:12}" + "".join(f"{name:>12}" for name in contenders) +
            "".join(f"{name + '/' + contenders[0]:>24}" for name in contenders[1:]))
        for (name, its_size), rounds in read(printed).items():
            if its_size != size:
                continue
            values = [shown(statistics.median(column)) for column in zip(*rounds)]
            line = f"  {name:12}" + "".join(f"{value:7.2f} {unit:4}" for value in values)
            for number in range(1, len(contenders)):
                low, middle, high = ratios(rounds, *((number, 0) if size == "small" else (0, number)))
                line += f"{middle:10.2f} ({low:.2f}-{high:.2f})".rjust(24)
            say(line)


def mpirun(ranks, *words, **variables):
    exports = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("POPDIST_", "OMPI_"))}
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-np", str(ranks),
                           *exports, *map(str, words)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"mpirun ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def torch_folder(python):
    """Where torch is, installed when it is not there; None, and a word about it, when that fails."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ipu-operator"
    folder = cache / f"bench-{TORCH.replace('==', '-')}"
    if folder.exists():
        return folder
    say(f"installing {TORCH} (several GB, kept in {folder})")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as half:
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--target", f"{half}/site", TORCH],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            say(f"torch's gloo is left out, since pip cannot install {TORCH}: {done.stderr.strip().splitlines()[-1]}")
            return None
        Path(half, "site").rename(folder)
    return folder


def run(options) -> int:
    build("collectives-load", "popdist_mpi")
    python = Path(run_quietly(TOP / "deploy/prerequisites", "python").strip()) / "bin/python"
    torch = torch_folder(python) if options.beside == "torch" else None
    if not options.beside:
        say("torch's gloo is left out; --with torch installs it and compares")
    rounds = (options.rounds, options.large_rounds)
    say(f"{options.ranks} ranks on this host, {rounds[0]} and {rounds[1]} rounds; goals: at 8 B under {GOAL_LATENCY} times "
        f"MPI's time, at 64 MiB over {GOAL_BANDWIDTH} of its bandwidth")
    show("C, beside MPI's own functions", mpirun(options.ranks, BUILD / "tests/benchmarks/collectives-load", *rounds), ["MPI", OURS])
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "popdist"
        shutil.copytree(TOP / "popdist", copy)
        run_quietly(python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
                    "--target", f"{folder}/site", copy)
        paths = os.pathsep.join([f"{folder}/site", *([str(torch)] if torch else [])])
        words = [HERE / "collectives_load.py", *rounds, *(["torch"] if torch else [])]
        printed = mpirun(options.ranks, python, *words, PYTHONPATH=paths)
        show("Python, beside mpi4py", printed, ["mpi4py", OURS, *(["torch gloo"] if torch else [])])
    return 0
