"""tests/bench vipu with small numbers: it still measures what it says."""

import os
import re
import subprocess
import sys

import programs

SMALL = ["--rounds", "1", "--calls", "40", "--decisions", "100", "--ipus", "64", "128", "--partitions", "200",
         "--listed", "500"]


def test_the_benchmark_measures():
    build = os.environ.get("BUILD_DIR", "build/dev")
    done = subprocess.run([sys.executable, programs.ROOT / "tests/bench", "vipu", *SMALL], capture_output=True, text=True,
                          env={**os.environ, "BUILD_DIR": build}, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for pair in ("ours -> ours", "ours -> grpcio", "grpcio -> ours", "grpcio -> grpcio"):
        rates = re.search(rf"^{pair} +(\d+) +(\d+)$", done.stdout, re.M)
        assert rates and all(int(rate) > 0 for rate in rates.groups()), done.stdout
    assert re.search(r"^128 IPUs, several domains \(of \d+\)( +\d+\.\d\d){7} ", done.stdout, re.M), done.stdout
    assert "after listing 200 of them" in done.stdout
    assert re.search(r"^cost of one change: \d+ us of processor time with up to 50 partitions, \d+ us with up to 200$", done.stdout,
                     re.M), done.stdout
    assert "a client that lists 500 partitions" in done.stdout


def test_numbers_that_are_none_are_rejected():
    for option, value in (("--ipus", "65"), ("--ipus", "32"), ("--rounds", "0"), ("--listed", "-1"),
                          ("--partitions", "65537")):
        done = subprocess.run([sys.executable, programs.ROOT / "tests/bench", "vipu", option, value],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 2, done.stdout
        assert re.search("--ipus takes powers of two|must be positive|at most 65536 IPUs", done.stderr)
