"""tests/bench schedule with small numbers: the workloads are those of the literature, traces are read, and the table is measured."""
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("BUILD_DIR", "build/release")
LOAD = ROOT / BUILD / "tests/benchmarks/schedule-load"


def load(*words):
    return subprocess.run([LOAD, *map(str, words)], capture_output=True, text=True, timeout=300)


def measured(*words):
    done = load(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def jobs_of(*words):
    """(arrival, run time, IPUs, deadline) of each."""
    done = load(*words, "--print")
    assert done.returncode == 0, done.stderr
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines() if not line.startswith(";")]
    return [(row[1], row[3], row[4], row[8]) for row in rows]


def write_trace(path, rows, head=""):
    """Rows of arrival, run time, processors and, if there is one, the requested time."""
    path.write_text(head + "".join(
        f"{number} {row[0]} -1 {row[1]} {row[2]} -1 -1 {row[2]} {row[3] if len(row) > 3 else -1} -1 1 1 1 1 -1 -1 -1 -1\n"
        for number, row in enumerate(rows, 1)))
    return path


def test_the_table_and_its_chart(tmp_path):
    svg = tmp_path / "chart.svg"
    done = subprocess.run([sys.executable, ROOT / "tests/bench", "schedule", "--workload", "mix", "--domains", "4", "--load", "0.7", "0.9",
                           "--seeds", "2", "--jobs", "300", "--svg", svg], capture_output=True, text=True,
                          env={**os.environ, "BUILD_DIR": BUILD}, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("this usually takes 1 min ")
    for share in ("0.70", "0.90"):
        table = done.stdout.split(f"mix: 4 domains, load {share}, 600 jobs\n")[1].splitlines()
        assert [line.split()[0] for line in table[1:5]] == ["strict", "bounded", "predicted", "easy"]
        assert all(re.fullmatch(r" +[a-z]+( +[\d.]+){7} .*", line) for line in table[1:5]), done.stdout
    assert len(xml.parse(svg).getroot().findall("{http://www.w3.org/2000/svg}circle")) == 4 + 2 * 4 * 2


def test_options_that_make_no_sense_are_rejected(tmp_path):
    for words, text in ((["--domains", "0"], "from 1 to 1024"), (["--load", "3"], "from 0.01 to 2"), (["--seeds", "0"], "must be positive"),
                        (["--swf", str(tmp_path / "none")], "there is no file"), (["--jobs", "9"], "from 10 to 1000000")):
        done = subprocess.run([sys.executable, ROOT / "tests/bench", "schedule", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and text in done.stderr, done.stderr


def test_the_mix_has_the_shares_and_the_spread_that_it_says():
    jobs = jobs_of("--domains", 16, "--load", 70, "--jobs", 20000)
    sizes = Counter(size for _, _, size, _ in jobs)
    for size, percent in {1: 10, 2: 5, 4: 30, 8: 15, 16: 20, 32: 8, 64: 8, 128: 3, 256: 1}.items():
        assert abs(100 * sizes.pop(size) / len(jobs) - percent) < 1
    assert not sizes
    logs = sorted(math.log(run) for _, run, _, _ in jobs)
    middle = logs[len(logs) // 2]
    assert abs(middle - math.log(600)) < 0.05
    assert abs(math.sqrt(sum((value - middle) ** 2 for value in logs) / len(logs)) - 2.2) < 0.1
    factors = [bound / run for _, run, _, bound in jobs if bound != -1 and run > 100]
    assert 0.48 < sum(bound != -1 for *_, bound in jobs) / len(jobs) < 0.52 and 1.19 < min(factors) and max(factors) <= 5


def test_lublin_and_feitelsons_sizes_run_times_and_days():
    # At 4 domains the machine has 256 nodes; the model's p falls with the share of the machine that a job has.
    jobs = jobs_of("--workload", "lublin", "--domains", 4, "--load", 70, "--jobs", 40000)
    sizes = Counter(size for _, _, size, _ in jobs)
    assert abs(sizes[1] / len(jobs) - 0.244) < 0.01
    # Powers below 2^5.5 by rounding x, which is even in [0.8, 5.5] with probability 0.86.
    for power in range(1, 6):
        share = 0.756 * 0.86 * (min(power + 0.5, 5.5) - max(power - 0.5, 0.8)) / (5.5 - 0.8)
        assert abs(sizes[2 ** power] / len(jobs) - share) < 0.01, power
    expected = sum((p := max(0, 0.78 - 0.0054 * size / 2)) * 4.2 * 0.94 + (1 - p) * 312 * 0.03 for _, _, size, _ in jobs) / len(jobs)
    assert abs(sum(math.log(run) for _, run, _, _ in jobs) / len(jobs) - expected) < 0.1


@pytest.mark.parametrize("policy", ["strict", "bounded", "easy"])
def test_a_printed_workload_is_the_same_trace(policy, tmp_path):
    words = ["--domains", 4, "--load", 80, "--jobs", 400, "--seed", 7]
    trace = tmp_path / "trace.swf"
    trace.write_text(load(*words, "--print").stdout)
    told = ("told", "inside", "below", "width_s", "inside_plain", "plain_width_s")  # kinds of jobs have other numbers

    def outcome(found):
        return {key: value for key, value in found.items() if not key.endswith("us") and key not in told}

    assert outcome(measured(*words, "--policy", policy)) == outcome(measured("--swf", trace, "--policy", policy))


def test_a_small_trace_by_hand(tmp_path):
    # 128 processors. 0: 64 for 100 s. 1: all for 10 s, so it waits until 100. 2: 64 for 50 s may pass, 64 for 300 s may not.
    trace = write_trace(tmp_path / "small.swf", [(0, 100, 64, 100), (1, 10, 128, 10), (2, 50, 60, 50), (3, 300, 33, 300)], "; MaxProcs: 128\n")
    waits = {policy: measured("--swf", trace, "--policy", policy) for policy in ("strict", "bounded", "easy")}
    assert waits["strict"]["domains"] == 2
    # Starts: strict 0, 100, 110, 110; the others 0, 100, 2, 110.
    assert waits["strict"]["wait_s"] == (0 + 99 + 108 + 107) / 4
    assert waits["bounded"]["wait_s"] == waits["easy"]["wait_s"] == (0 + 99 + 0 + 107) / 4
    assert waits["bounded"]["promised"] == 2 and waits["bounded"]["late"] == 0


def test_rows_that_are_no_jobs_are_left_out_and_counted(tmp_path):
    trace = tmp_path / "odd.swf"
    write_trace(trace, [(5, 10, 3), (0, 10, 200), (3, -1, 4), (4, 10, 0), (6, 0, 1), (9, 20, 65, 5)], "; Computer: x\n\n")
    trace.write_text(trace.read_text() + "7 1 2\nwords\n8 nan -1 5 1 -1 -1 1 -1 -1 1 1 1 1 -1 -1 -1 -1\n")
    found = measured("--swf", trace)
    # No MaxProcs: the machine holds the largest job, 200 processors on 4 domains. Of 9 rows, 3 are jobs that ran.
    why = ("no_row", "no_arrival", "no_run", "no_ipus", "too_large")
    assert (found["jobs"], found["domains"], found["unbounded"], *(found[key] for key in why)) == (3, 4, 2, 3, 0, 2, 1, 0)
    assert measured("--swf", trace, "--domains", 2)["too_large"] == 1
    # Rows come in order of arrival, whatever their order in the file; a deadline ends what it bounds.
    assert [row[:3] for row in jobs_of("--swf", trace)] == [(0, 10, 256), (5, 10, 4), (9, 5, 128)]


def test_a_trace_as_archives_have_it(tmp_path):
    """Comments, unknown numbers, runs of no time, unsorted arrivals, jobs that are wider than the machine."""
    rows = [(100 * number, (0, -1, 50, 700)[number % 4], 64, (-1, 100)[number % 2]) for number in range(2000)]
    rows[::50] = [(-1, 50, 64)] * 40
    rows[5::50] = [(7000, 60, 4096, 90)] * 40
    rows.sort(key=lambda row: hash(row))
    trace = write_trace(tmp_path / "archive.swf", rows, ";  Version: 2.2\n; MaxNodes: 8\n;   MaxProcs:  128\n;\n")
    done = subprocess.run([sys.executable, ROOT / "tests/bench", "schedule", "--swf", trace, "--policy", "bounded", "--svg", tmp_path / "a.svg"],
                          capture_output=True, text=True, env={**os.environ, "BUILD_DIR": BUILD}, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "archive.swf: 2 domains, load" in done.stdout
    assert ("left out of the file: 40 no submit time; 960 ran for less than a second, or did not start; 40 have more processors than "
            "the machine. 480 of the jobs have no requested time, and so no deadline.\n") in done.stdout, done.stdout


@pytest.mark.parametrize("text, problem", [
    ("", "there are no two jobs that ran"), ("1 0 -1 5 1 -1 -1 1 -1 -1 1 1 1 1 -1 -1 -1 -1\n" * 3, "all jobs arrive at the same time"),
    ("1 " * 4000, "line 1 is longer than 4096 bytes")], ids=["empty", "at once", "long line"])
def test_files_that_are_no_trace(text, problem, tmp_path):
    trace = tmp_path / "trace.swf"
    trace.write_text(text)
    done = load("--swf", trace)
    assert done.returncode == 1 and done.stderr.startswith(f"schedule-load: {trace}: {problem}"), done.stderr
    missing = load("--swf", tmp_path / "none")
    assert missing.returncode == 1 and missing.stderr == f"schedule-load: cannot open {tmp_path / 'none'}: No such file or directory\n"
