"""Ctrl-Z suspends a job as `spec.suspend` does, and `fg` resumes it."""

import signal
from pathlib import Path

import pytest
from conftest import job
from test_local_faults import marked, with_mark
from waiting import until

TWICE = 'if [ -e {0} ]; then echo again; else echo up; touch {0}; trap "" TERM; while :; do sleep 0.05; done; fi'


def is_stopped(process):
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.fixture
def suspended(run, prints, tmp_path):
    """A run whose job was running, and has been suspended: it is stopped, and has no processes."""
    mark = str(tmp_path)
    process = run.start(job(TWICE.format(tmp_path / "first"), ipus=8), job("true", name="short"), options=["--ipus", "64", "-o", "text"],
                        env=with_mark(mark))
    prints(process, "[hello 0.0] up")
    prints(process, "short  Completed")
    process.send_signal(signal.SIGTSTP)
    until(lambda: is_stopped(process), "ipu-run stops", tell=lambda: process.output.read_text())
    assert marked(mark) == [process.pid]
    return process


def test_a_suspended_job_has_no_processes_and_runs_again(run, suspended):
    text = suspended.output.read_text()
    assert "Suspended; no IPUs held\n" in text and "spec.suspend" not in text
    suspended.send_signal(signal.SIGCONT)
    done = run.finish(suspended)
    assert done.code == 0, done.out + done.err
    assert "[hello 0.0] again" in done.lines
    assert f"ipu-run: suspending the job; resume it with fg, or kill -CONT {suspended.pid}: its program then starts again" in done.err


def test_a_suspended_job_can_be_deleted(run, suspended):
    suspended.send_signal(signal.SIGINT)
    suspended.send_signal(signal.SIGCONT)
    assert run.finish(suspended).code == 130


def test_a_job_that_ends_by_itself_is_not_waited_for(run, prints):
    process = run.start(job("trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done"))
    prints(process, "up")
    process.send_signal(signal.SIGTSTP)
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    assert run.finish(process).code == 130
