"""tests/bench launch: what poprun adds to mpirun, from start to end of a whole run; and how fast the lines of ranks pass."""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from measure import BUILD, build, say

GOAL_MS = 30
PROGRAM = ["true"]
GOAL_MB_PER_S = 100
LINES, WRITES, RANKS = 400, 2500, 2  # of 100 bytes: 100 MB of each rank
WRITER = f"import os; text = (b'x' * 99 + b'\\n') * {LINES}\nfor _ in range({WRITES}): os.write(1, text)"


def clean_environment():
    """What a run around this one has set changes neither of the two; more instances than CPUs are allowed to both."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POPDIST_", "OMPI_", "PMIX_", "PRTE_"))}
    return kept | {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def time_of(command, environment):
    """Milliseconds from start to end, and of CPU, of all its processes."""
    with tempfile.TemporaryFile("w+") as printed:
        start = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            printed.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}:\n{printed.read()}")
    return took * 1000, (usage.ru_utime + usage.ru_stime) * 1000


def measure(plain, ours, rounds):
    """Both in pairs: one right after the other, so that a busy machine slows both; each is first in turn."""
    environment, pairs = clean_environment(), []
    for number in range(rounds + 1):
        order = (plain, ours) if number % 2 else (ours, plain)
        first, second = (time_of(command, environment) for command in order)
        pairs.append((first, second) if number % 2 else (second, first))
    return pairs[1:]  # the first pair finds nothing in memory


def spread(values):
    return f"{min(values):9.1f} {statistics.median(values):6.1f} {max(values):6.1f}"


def rate_of(command, environment):
    """MB of lines per second, of all ranks together; mpirun's tags are not counted."""
    start, lines = time.monotonic(), 0
    process = subprocess.Popen([*command, "python3", "-ISc", WRITER], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    while chunk := process.stdout.read(1 << 20):
        lines += chunk.count(b"\n")
    status = process.wait()
    took = time.monotonic() - start
    if status or lines != LINES * WRITES * RANKS:
        raise SystemExit(f"{' '.join(command)} ended with status {status} after {lines:,} of {LINES * WRITES * RANKS:,} lines")
    return lines / 1e4 / took


def measure_lines(rounds):
    """A terminal keeps no lines whole; poprun and launcher pods use pipes, as ipu-launch does for mpirun here."""
    mpirun = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-np", str(RANKS)]
    rows = {"mpirun": mpirun, "whole lines": [str(BUILD / "launcher/ipu-launch"), "exec", "--", *mpirun]}
    say(f"{RANKS} ranks write {LINES * WRITES * RANKS / 1e4:,.0f} MB in lines of 100 bytes; goal: {GOAL_MB_PER_S} MB/s with whole lines")
    say(f"{'':12}{'MB/s, min median    max':>24}")
    for name, command in rows.items():
        say(f"{name:12}{spread([rate_of(command, clean_environment()) for _ in range(rounds)]):>24}")


def run(options) -> int:
    if not shutil.which("mpirun"):
        raise SystemExit("there is no mpirun in PATH; deploy/prerequisites build installs it")
    build("poprun", "poprun_numa_wrapper", "ipu-launch")
    measure_lines(min(options.rounds, 5))
    say(f"{' '.join(PROGRAM)}, {options.rounds} pairs of runs; goal: poprun adds less than {GOAL_MS} ms (median of the pairs). "
        "CPU is that of all processes, and does not depend on how busy the machine is")
    say(f"{'':10}{'mpirun, ms':>23}{'poprun, ms':>23}{'poprun adds, ms':>23}{'ratio':>8}{'adds CPU, ms':>14}")
    say(f"{'instances':10}" + f"{'min median    max':>23}" * 3 + f"{'median':>8}{'median':>14}")
    for count in options.instances:
        plain = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--tag-output", "-np", str(count), *PROGRAM]
        ours = [str(BUILD / "launcher/poprun"), "--offline-mode=on", "--executable-cache-path=",
                f"--num-instances={count}", f"--num-replicas={count}", *PROGRAM]
        pairs = measure(plain, ours, options.rounds)
        walls, cpus = [(a, b) for (a, _), (b, _) in pairs], [(a, b) for (_, a), (_, b) in pairs]
        say(f"{count:<10}{spread([a for a, _ in walls])}{spread([b for _, b in walls])}{spread([b - a for a, b in walls])}"
            f"{statistics.median(b / a for a, b in walls):8.2f}{statistics.median(b - a for a, b in cpus):14.1f}")
    return 0
