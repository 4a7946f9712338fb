"""When AccaSim starts the jobs of traces.py, as tests/golden/forecast/accasim.json. Its results do not change, so the suite only
compares with them. To compute them again:

    python3 -m venv VENV && VENV/bin/pip install --no-deps accasim==1.1.3 psutil sortedcontainers
    VENV/bin/python tests/forecast/accasim_starts.py
"""
import collections
import collections.abc
import contextlib
import io
import json
import re
import tempfile
from datetime import datetime
from pathlib import Path

import traces

collections.Mapping = collections.abc.Mapping  # which AccaSim 1.1.3 imports from where it was before Python 3.10

from accasim.base.allocator_class import FirstFit  # noqa: E402
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut  # noqa: E402
from accasim.base.simulator_class import Simulator  # noqa: E402

GOLDEN = Path(__file__).resolve().parents[1] / "golden/forecast/accasim.json"


class Protecting(FirstFit):
    """Its EASY asks the allocator to keep no nodes for the head, so that everybody passes; here whoever would not have ended by
    the reserved time may not. That is EASY without the rule for the nodes that the head leaves over, and it leaves none here."""

    def _compute_reservation_overlaps(self, event, now, reserved_time, reserved_nodes):
        return [0] if reserved_time and now + event.expected_duration > reserved_time else []


def starts_of(trace):
    with tempfile.TemporaryDirectory() as folder:
        workload, system = Path(folder) / "jobs.swf", Path(folder) / "system.json"
        # Arrivals begin at 1: AccaSim takes 0 for no time.
        workload.write_text("".join(
            f"{number} {job.submit_s + 1} -1 {job.run_s} {job.size // trace.node} -1 -1 {job.size // trace.node} {job.run_s} "
            "-1 1 1 1 1 1 1 -1 -1\n" for number, job in enumerate(trace.jobs, 1)))
        system.write_text(json.dumps({"groups": {"g0": {"core": 1}}, "resources": {"g0": 64 * trace.domains // trace.node},
                                      "equivalence": {}, "start_time": 0}))
        dispatcher = FirstInFirstOut(FirstFit()) if trace.policy == "strict" else EASYBackfilling(Protecting())
        with contextlib.redirect_stdout(io.StringIO()):
            Simulator(str(workload), str(system), dispatcher, RESULTS_FOLDER_PATH=folder).start_simulation()
        ended = dict(end_of(line) for line in next(Path(folder).rglob("sched-*")).read_text().splitlines())
    return [ended[number] - 1 - job.run_s for number, job in enumerate(trace.jobs, 1)]


def end_of(line):
    """Number of the job, and the second of its end: the last field that is only a time."""
    fields = line.split(";")
    end = [field for field in fields if re.fullmatch(r"\d+-\d+-\d+ \d+:\d+:\d+", field)][-1]
    return int(fields[0]), int(datetime.fromisoformat(end + "+00:00").timestamp())


if __name__ == "__main__":
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    rows = [f'"{trace.seed}": {json.dumps(starts_of(trace))}' for trace in traces.TRACES]
    GOLDEN.write_text("{" + ",\n ".join(rows) + "}\n")
