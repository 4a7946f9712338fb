"""Progress: reported by a program in a job, and read by who waits for it."""

import os
import sys

import ipu_jobs
import pytest
from conftest import ROOT
from ipu_jobs import reporter
from scripted import job
from test_python_cluster import GET
from test_python_local import TIMEOUT_S, local  # noqa: F401
from waiting import until


@pytest.fixture
def launcher(tmp_path, monkeypatch):
    """An ipu-launch that notes its words, and ends as the file `result` says; this process is rank 0 of a job."""
    program = tmp_path / "ipu-launch"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/words\nexit $(cat {tmp_path}/result 2>/dev/null)\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_URL", "https://operator/")
    monkeypatch.setattr(reporter, "_child", None)
    monkeypatch.setattr(reporter, "_begun_at", None)
    return program


def words_of(launcher):
    noted = launcher.parent / "words"
    return noted.read_text().splitlines() if noted.exists() else []


def test_a_loop_sends_few_reports_and_the_last(launcher):
    for percent in range(101):
        assert ipu_jobs.progress(percent, eta=100.5 - percent, loss=0.25)
    assert words_of(launcher)[0] == "progress 0 --eta 100 loss=0.25" and words_of(launcher)[-1] == "progress 100 --eta 0 loss=0.25"
    assert len(words_of(launcher)) <= 3, "at most one in five seconds, and the last"


def test_a_report_that_does_not_arrive_is_told_of(launcher):
    (launcher.parent / "result").write_text("125")
    assert not ipu_jobs.progress(100)
    (launcher.parent / "result").write_text("0")
    assert ipu_jobs.progress(100)
    launcher.unlink()
    os.environ["PATH"] = str(launcher.parent)
    assert not ipu_jobs.progress(100)


def test_others_do_not_report(launcher, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    assert ipu_jobs.progress(100)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.delenv("KUBEFLOW_TRAINER_SERVER_URL")
    assert ipu_jobs.progress(100)
    with pytest.raises(ValueError, match="from 0 to 100 percent, got 101"):
        ipu_jobs.progress(101)
    assert words_of(launcher) == []


def test_who_waits_sees_it(server, cluster):
    server.on(GET, job(5), job(6, progress={"summary": "42% (stale)", "percentage": 42, "estimatedEndTime": "2026-11-26T22:00:00Z"},
                              trainerStatus={"metrics": [{"name": "loss", "value": "0.23"}]}))
    known = cluster.job("j")
    assert known.progress is None
    assert known.refresh().progress == ("42% (stale)", 42, "2026-11-26T22:00:00Z", {"loss": "0.23"})


def test_on_this_machine(local, tmp_path):  # noqa: F811
    code = ("import ipu_jobs, os, time\nipu_jobs.progress(42, eta=900, loss=0.23)\n"
            f"while not os.path.exists({str(tmp_path / 'end')!r}): time.sleep(0.05)\nipu_jobs.progress(100, loss='0.1')")
    one = local.submit([sys.executable, "-c", code], image="none", name="reports", env={"PYTHONPATH": str(ROOT / "python")})
    found = until(lambda: one.refresh().progress, "the progress is shown", tell=lambda: f"{one.object} {list(one.logs())}")
    assert (found.summary, found.percentage, found.metrics) == ("42%", 42, {"loss": "0.23"})
    assert one.state == "Running" and "Progress" not in [event.reason for event in one.events()]
    (tmp_path / "end").touch()
    assert one.wait(timeout=TIMEOUT_S).progress.percentage == 100
    assert one.progress.metrics == {"loss": "0.1"}


@pytest.mark.parametrize("printed, progress, metrics", [
    ("unknown (invalid): no JSON, at byte 1", {"summary": "unknown (invalid)", "problem": "no JSON, at byte 1"}, []),
    ("40% (invalid), loss 0.1: no JSON", {"summary": "40% (invalid)", "percentage": 40, "problem": "no JSON"},
     [{"name": "loss", "value": "0.1"}]),
])  # fmt: skip
def test_what_is_wrong_with_a_report_is_no_metric(printed, progress, metrics):
    assert ipu_jobs.local._progress([printed]) == {"progress": progress, "trainerStatus": {"metrics": metrics}}
