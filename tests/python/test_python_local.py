"""Jobs on this machine by the real ipu-run."""

import os
import signal
import subprocess
import sys

import ipu_jobs
import pytest
from conftest import ROOT
from waiting import until

TIMEOUT_S = 120  # reached only when something is wrong


@pytest.fixture
def local(tmp_path, monkeypatch, ipu_run):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    local = ipu_jobs.Local(program=str(ipu_run))
    yield local
    for job in local.jobs():
        job.delete().wait("Deleted", TIMEOUT_S)


def greet(name, count):
    import os

    for number in range(count):
        print(f"hello {name} {number} from {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")


# Writes a line, and runs until it is told to end.
UNTIL_TOLD = ["sh", "-c", 'echo started; trap "echo asked; exit 0" TERM; while [ ! -e "$1" ]; do sleep 0.05; done; echo over', "sh"]


def test_a_function_with_two_workers(local):
    job = local.submit(greet, "IPU", count=2, image="none", ipus=4, workers=2)
    assert list(job.logs(worker=1, follow=True)) == ["hello IPU 0 from 1 of 2", "hello IPU 1 from 1 of 2"]
    job.wait(timeout=TIMEOUT_S)
    assert (job.state, job.message) == ("Completed", "All instances done")
    assert list(job.logs(tail=1)) == ["hello IPU 1 from 0 of 2"]
    assert list(job.logs(follow=True, tail=1)) == ["hello IPU 1 from 0 of 2"]
    assert job.object["status"]["workersStatus"]["succeeded"] == 2
    assert [event.reason for event in job.events()][-1] == "Completed"


def test_the_functions_of_the_package_run_here_within_a_block(local):
    with local:
        job = ipu_jobs.submit(["echo", "here"], image="none")
        assert ipu_jobs.jobs()[0].name == ipu_jobs.job(job.name).name == job.name
    assert list(job.wait(timeout=TIMEOUT_S).logs()) == ["here"]


def test_a_failure_has_its_cause(local):
    job = local.submit(["sh", "-c", "echo last words; exit 3"], image="none", name="fails")
    with pytest.raises(ipu_jobs.JobFailed, match="default/fails is Failed: .*code 3") as caught:
        job.wait(timeout=TIMEOUT_S)
    assert (caught.value.failure["exitCode"], caught.value.failure["message"].strip()) == (3, "last words")


def test_a_running_job_is_seen_by_another_python_and_deleted(local, tmp_path):
    job = local.submit([*UNTIL_TOLD, str(tmp_path / "end")], image="none", name="long").wait("Running", TIMEOUT_S)
    other = ("import ipu_jobs, sys\n"
             "job = ipu_jobs.Local(program='none').job('long')\n"
             "print(job.state, next(job.logs(follow=True)))\n"
             "job.delete().wait('Deleted', 60)\n")
    done = subprocess.run([sys.executable, "-c", other], env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True,
                          text=True, check=False, timeout=TIMEOUT_S)
    assert done.stdout == "Running started\n", done.stdout + done.stderr
    assert job.refresh().state == "Deleted" and local.jobs() == []


def test_a_deleted_job_may_end_in_order_however_often_it_is_deleted(local, tmp_path):
    script = 'trap "echo asked; sleep 1; touch $1; exit 0" TERM; echo started; while :; do sleep 0.05; done'
    job = local.submit(["sh", "-c", script, "sh", str(tmp_path / "orderly")], image="none", name="twice")
    lines = job.logs(follow=True)
    assert next(lines) == "started"
    assert job.delete().state == "Terminating" and "asked" in lines
    job.delete()
    job.wait("Deleted", TIMEOUT_S)
    assert (tmp_path / "orderly").exists()


def test_a_job_continues_when_its_python_ends(local, tmp_path):
    begin = ("import ipu_jobs, sys\n"
             f"ipu_jobs.Local(program={local._program!r}).submit(sys.argv[1:], image='none', name='left').wait('Running', 60)\n")
    subprocess.run([sys.executable, "-c", begin, *UNTIL_TOLD, str(tmp_path / "end")], check=True, timeout=TIMEOUT_S,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    job = local.job("left")
    assert job.state == "Running"
    (tmp_path / "end").touch()
    assert list(job.logs(follow=True))[-1] == "over" and job.wait(timeout=TIMEOUT_S).state == "Completed"


def test_a_killed_run_has_failed(local, tmp_path):
    job = local.submit([*UNTIL_TOLD, str(tmp_path / "end")], image="none", name="killed").wait("Running", TIMEOUT_S)
    os.kill(int((tmp_path / "ipu-jobs/default/killed/pid").read_text()), signal.SIGKILL)
    until(lambda: job.refresh().state == "Failed", "the job has failed")
    assert (job.reason, job.message) == ("Killed", "ipu-run was killed")


def test_a_run_that_could_not_go_on_has_its_cause(local, tmp_path):
    program = tmp_path / "ipu-run"
    program.write_text("#!/bin/sh\nprintf 'ipu-run: %s\\n' 'what differs on this machine:' 'warning: w' 'cannot go on: cause' "
                       "'logs and final state are in /x' >&2\nexit 1\n")
    program.chmod(0o755)
    job = ipu_jobs.Local(program=str(program)).submit(["true"], image="none", name="stops")
    assert (job.state, job.message) == ("Failed", "ipu-run: cannot go on: cause")


def test_a_rejected_job_leaves_nothing(local, tmp_path):
    with pytest.raises(ipu_jobs.IpuJobsError, match="^spec.ipusPerJobInstance: "):
        local.submit(["true"], image="none", ipus=3, name="odd")
    with pytest.raises(ipu_jobs.IpuJobsError, match=r"the simulated system has 64 IPUs; use Local\(ipus=128\)$"):
        local.submit(["true"], image="none", ipus=128, name="large")
    assert local.jobs() == [] and list((tmp_path / "ipu-jobs/default").iterdir()) == []


def test_a_file_is_applied_again_after_its_end(local, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("apiVersion: graphcore.ai/v1alpha1\nkind: IPUJob\nmetadata: {name: applied}\nspec:\n  jobInstances: 1\n"
                    "  ipusPerJobInstance: 4\n  workers: {template: {spec: {containers: [{name: c, image: i, command: [echo, 'yes']}]}}}\n")
    first = local.apply(path).wait(timeout=TIMEOUT_S)
    second = local.apply(path)
    assert first.refresh().state == "Deleted" and list(second.wait(timeout=TIMEOUT_S).logs()) == ["yes"]
    with pytest.raises(ipu_jobs.IpuJobsError, match="an IPUJob applied exists already on this machine"):
        local.submit(["true"], image="none", name="applied")


def test_what_ipu_run_cannot_do(local):
    job = local.submit(["true"], image="none")
    with pytest.raises(ipu_jobs.IpuJobsError, match="ipu-run cannot suspend or resume a job; delete it, and submit it again"):
        job.suspend()
    job.wait(timeout=TIMEOUT_S)


def test_names_stay_below_the_folder(local):
    with pytest.raises(ipu_jobs.IpuJobsError, match="a name has lower case letters"):
        local.submit(["true"], image="none", name="../../x")


def test_a_missing_program_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    local = ipu_jobs.Local(program="ipu-run-missing")
    sentence = "cannot run ipu-run-missing: No such file or directory; install it, or add its folder to PATH"
    with pytest.raises(ipu_jobs.IpuJobsError, match=sentence):
        local.submit(["true"], image="none")
    assert local.jobs() == []


def test_a_home_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(ipu_jobs.IpuJobsError, match=f"cannot keep a job in {tmp_path}/file/ipu-jobs/default/x: Not a directory"):
        ipu_jobs.Local().submit(["true"], image="none", name="x")
