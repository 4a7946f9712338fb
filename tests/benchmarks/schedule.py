"""tests/bench schedule: the operator's queue on virtual time, beside strict order and the textbook's EASY."""
import concurrent.futures
import itertools
import json
import os
import subprocess
from pathlib import Path

from measure import BUILD, build, say
from schedule_chart import chart

POLICIES = ("strict", "bounded", "predicted", "easy")
WORKLOADS = ("mix", "recurring", "lublin")
JOBS_PER_DOMAIN, MOST_JOBS = 500, 32000
# What usually is simulated in a second, with forecasts for one waiting job in five.
JOBS_PER_S = 2000
# Of a trace, by the key of the count: what is told of it.
ROWS = {"no_row": "have no 18 numbers", "no_arrival": "no submit time", "no_run": "ran for less than a second, or did not start",
        "no_ipus": "have no processors", "too_large": "have more processors than the machine"}
SUMS = ("jobs", *ROWS, "unbounded", "promised", "late", "late_by_passer", "asked", "unfair", "told", "inside", "below", "inside_plain")
COLUMNS = (
    ("policy", 10, lambda r: r["policy"]),
    ("wait min", 9, lambda r: f"{r['wait_s'] / 60:.1f}"),
    ("p95", 8, lambda r: f"{r['wait_p95_s'] / 60:.0f}"),
    ("of >= 64", 9, lambda r: f"{r['large_wait_s'] / 60:.0f}"),
    ("slowdown", 9, lambda r: f"{r['slowdown']:.1f}"),
    ("used %", 7, lambda r: f"{100 * r['utilisation']:.1f}"),
    ("lost %:", 8, lambda r: f"{100 * r['fragmented']:.1f}"),
    ("kept", 6, lambda r: f"{100 * r['reserved']:.1f}"),
    ("order", 6, lambda r: f"{100 * r['order']:.1f}"),
    ("queue", 7, lambda r: f"x{r['queued_last'] / r['queued_middle']:.1f}" if r["queued_middle"] else "-"),
    ("heads late", 13, lambda r: f"{r['late']}/{r['promised']}" if r["promised"] else "-"),
    ("by min", 7, lambda r: f"{r['late_s'] / 60:.0f}" if r["late"] else "-"),
    ("passed", 7, lambda r: f"{r['late_by_passer']}" if r["promised"] else "-"),
    ("unfair %", 9, lambda r: f"{100 * r['unfair'] / r['asked']:.0f}" if r["asked"] else "-"),
    ("in band %", 10, lambda r: f"{100 * r['inside'] / r['told']:.0f}" if r["told"] else "-"),
    ("width min", 10, lambda r: f"{r['width_s'] / 60:.0f}" if r["told"] else "-"),
    ("plain %", 8, lambda r: f"{100 * r['inside_plain'] / r['told']:.0f}" if r["told"] else "-"),
    ("width min", 10, lambda r: f"{r['plain_width_s'] / 60:.0f}" if r["told"] else "-"),
    ("decision us", 12, lambda r: f"{r['decision_us']:.0f}" if r["policy"] != "easy" else "-"),
    ("p99", 6, lambda r: f"{r['decision_p99_us']:.0f}" if r["policy"] != "easy" else "-"),
    ("forecast ms", 12, lambda r: f"{r['forecast_us'] / 1000:.1f}" if r["told"] else "-"),
    ("p99", 6, lambda r: f"{r['forecast_p99_us'] / 1000:.0f}" if r["told"] else "-"),
)
LEGEND = """\
wait: from arrival to start, mean and 95th percentile of all jobs, mean of those of 64 IPUs and more. slowdown: bounded, runs
shorter than 10 s count as 10 s. used: of all IPU-seconds until the last arrival. lost: idle although somebody waited, because
no aligned block was free, because the free ones were kept for an earlier job, or because the order allowed nobody to pass.
queue: IPUs that are waited for, in the last third of the time by those in the second. heads late: jobs that started after the
time that was promised when a block was reserved, of those with a promise; by how much, and how many because of a job that
passed them. unfair: later by a minute and 5 % than if nobody had come after. in band: starts inside the band told at arrival,
of jobs that had to wait, and the band's median width; plain: the same for all run times at p10 and at p90.
easy counts IPUs without places and knows every run time beforehand, which no machine with aligned blocks can have."""


def job_count(options, domains):
    return options.jobs or min(MOST_JOBS, JOBS_PER_DOMAIN * domains)


def points(options):
    """What is simulated, once per policy: a name, and what schedule-load is told."""
    if options.swf:
        loads = [["--load", str(round(100 * load))] for load in options.load or []] or [[]]
        domains = [["--domains", str(count)] for count in options.domains or []] or [[]]
        return [((Path(options.swf).name, *size[1:], *load[1:]), [["--swf", options.swf, *size, *load]])
                for size, load in itertools.product(domains, loads)]
    return [((workload, domains, load),
             [["--workload", workload, "--domains", str(domains), "--load", str(round(100 * load)), "--seed", str(seed + 1),
               "--jobs", str(job_count(options, domains)), "--deadlines", str(options.deadlines)] for seed in range(options.seeds)])
            for workload, domains, load in itertools.product(options.workload, options.domains, options.load)]


def minutes(options):
    if options.swf:
        return Path(options.swf).stat().st_size / 100 * len(options.policy) / JOBS_PER_S / 60
    jobs = sum(job_count(options, domains) for domains in options.domains)
    return jobs * len(options.workload) * len(options.load) * options.seeds * len(options.policy) / JOBS_PER_S / 60


def simulate(words, policy):
    done = subprocess.run(["nice", BUILD / "tests/benchmarks/schedule-load", *words, "--policy", policy], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"schedule-load ended with status {done.returncode}")
    return json.loads(done.stdout)


def merged(found, policy):
    """Over the seeds: sums of what is counted, means of the rest."""
    row = {key: sum(f[key] for f in found) / (1 if key in SUMS else len(found)) for key in found[0]}
    if row["late"]:
        row["late_s"] = sum(f["late_s"] * f["late"] for f in found) / row["late"]
    return {key: round(value) if key in SUMS else value for key, value in row.items()} | {"policy": policy}


def left_out(row):
    """What a trace has that was not simulated as it is there."""
    rows = "; ".join(f"{row[key]} {why}" for key, why in ROWS.items() if row[key]) or "nothing"
    return f"left out of the file: {rows}. {row['unbounded']} of the jobs have no requested time, and so no deadline."


def show(name, rows, is_trace):
    first = rows[0]
    say(f"\n{name[0]}: {first['domains']:.0f} domains, load {first['load']:.2f}, {first['jobs']} jobs")
    if is_trace:
        say(left_out(first))
    say("".join(f"{title:>{width}}" for title, width, _ in COLUMNS))
    for row in rows:
        say("".join(f"{show_cell(row):>{width}}" for _, width, show_cell in COLUMNS))


def run(options) -> int:
    build("schedule-load")
    found = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [(name, {policy: [pool.submit(simulate, words, policy) for words in runs] for policy in options.policy})
                   for name, runs in points(options)]
        try:
            for name, by_policy in futures:
                rows = [merged([future.result() for future in runs], policy) for policy, runs in by_policy.items()]
                show(name, rows, options.swf)
                found += [(name, row) for row in rows]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    say("\n" + LEGEND)
    options.svg.parent.mkdir(parents=True, exist_ok=True)
    options.svg.write_text(chart(found))
    say(f"drawn in {options.svg}")
    return 0
