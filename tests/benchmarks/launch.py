"""tests/bench launch: what poprun adds to mpirun, from start to end of a whole run."""
import os
import shutil
import statistics
import subprocess
import time

from measure import BUILD, DEADLINE_S, build, say

GOAL_MS = 30
PROGRAM = ["true"]


def clean_environment():
    """What a run around this one has set changes neither of the two; more instances than CPUs are allowed to both."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POPDIST_", "OMPI_", "PMIX_", "PRTE_"))}
    return kept | {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def time_of(command, environment):
    start = time.monotonic()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=DEADLINE_S)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return (time.monotonic() - start) * 1000


def measure(plain, ours, rounds):
    """Milliseconds of both in pairs: one right after the other, so that a busy machine slows both; each is first in turn."""
    environment, pairs = clean_environment(), []
    for number in range(rounds + 1):
        order = (plain, ours) if number % 2 else (ours, plain)
        first, second = (time_of(command, environment) for command in order)
        pairs.append((first, second) if number % 2 else (second, first))
    return pairs[1:]  # the first pair finds nothing in memory


def spread(values):
    return f"{min(values):6.1f} {statistics.median(values):6.1f} {max(values):6.1f}"


def run(options) -> int:
    if not shutil.which("mpirun"):
        raise SystemExit("there is no mpirun in PATH; deploy/prerequisites build installs it")
    build("poprun", "poprun_numa_wrapper")
    say(f"{' '.join(PROGRAM)}, {options.rounds} pairs of runs; goal: poprun adds less than {GOAL_MS} ms (median of the pairs)")
    say(f"{'':13}{'mpirun, ms':>20}   {'poprun, ms':>20}   {'poprun adds, ms':>20}   ratio")
    say(f"{'instances':13}{'min median    max':>20}   {'min median    max':>20}   {'min median    max':>20}  median")
    for count in options.instances:
        plain = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--tag-output", "-np", str(count), *PROGRAM]
        ours = [str(BUILD / "launcher/poprun"), "--offline-mode=on", "--executable-cache-path=",
                f"--num-instances={count}", f"--num-replicas={count}", *PROGRAM]
        pairs = measure(plain, ours, options.rounds)
        say(f"{count:<13}{spread([a for a, _ in pairs])}   {spread([b for _, b in pairs])}   "
            f"{spread([b - a for a, b in pairs])}  {statistics.median(b / a for a, b in pairs):6.2f}")
    return 0
