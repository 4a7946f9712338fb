"""The engine starts jobs when AccaSim does, where counting nodes and placing blocks come to the same."""
import json
from pathlib import Path

import pytest
from day import Day, Job
from engine import Engine
from traces import TRACES

STARTS = json.loads((Path(__file__).resolve().parents[1] / "golden/forecast/accasim.json").read_text())


@pytest.fixture(scope="module")
def engine():
    with Engine() as started:
        yield started


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: f"{trace.policy}-{trace.seed}")
def test_jobs_start_when_accasim_starts_them(engine, trace):
    jobs = [Job(uid, job.submit_s, job.run_s, job.size, job.run_s) for uid, job in enumerate(trace.jobs, 1)]
    day = Day(engine, trace.policy, trace.domains, jobs).run()
    assert [day.starts[job.uid] for job in jobs] == STARTS[str(trace.seed)]
