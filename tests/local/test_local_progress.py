"""Progress that programs report to ipu-run, as they would in a cluster."""

import json

import pytest
from conftest import job

CURL = 'curl -sS -m 20 --cacert "$KUBEFLOW_TRAINER_SERVER_CA_CERT" -o /dev/null -w "%{http_code}\\n"'
URL = '"$KUBEFLOW_TRAINER_SERVER_URL"'
BEARER = '-H "Authorization: Bearer $(cat $KUBEFLOW_TRAINER_SERVER_TOKEN)"'


def progress_lines(done):
    return [line.split(maxsplit=3)[3] for line in done.out.splitlines() if line.split()[2:3] == ["Progress"]]


def test_a_report_is_shown_and_kept(run):
    done = run(job("ipu-launch progress 42 --eta 900 loss=0.23 && ipu-launch progress 100 --eta 0 loss=0.1 step=7"))
    assert done.code == 0, done.out + done.err
    assert progress_lines(done)[-1] == "100%, loss 0.1", "also what came just before the end"
    assert done.out.splitlines()[-1].split()[2] == "Completed"
    status = json.loads((done.dir / "hello.json").read_text())["status"]
    assert (status["progress"]["summary"], status["progress"]["instancesReporting"]) == ("100%", 1)
    assert status["trainerStatus"]["metrics"] == [{"name": "loss", "value": "0.1"}, {"name": "step", "value": "7"}]


def test_a_job_that_reports_nothing_has_no_progress(run):
    done = run(job("sleep 1.5"))  # longer than the second after which a job that runs is looked at
    assert done.code == 0, done.out + done.err
    assert progress_lines(done) == []
    assert not {"progress", "trainerStatus"} & json.loads((done.dir / "hello.json").read_text())["status"].keys()


def test_an_invalid_report_is_kept_without_another(run):
    done = run(job(f"{CURL} {BEARER} -d nonsense {URL} && sleep 1.5"))
    assert done.code == 0, done.out + done.err
    assert "problem" in json.loads((done.dir / "hello.json").read_text())["status"]["progress"]


def test_progress_is_shown_while_the_job_runs(run, prints):
    process = run.start(job("ipu-launch progress 7 && while :; do sleep 0.1; done"))
    prints(process, "Progress    7%")
    process.terminate()
    assert "7%" in run.finish(process).out


def test_instances_are_told_apart(run):
    done = run(job("ipu-launch progress $((20 + 40 * IPU_JOB_INSTANCE_INDEX))", jobInstances=2), options=["-o", "json"])
    assert done.code == 0, done.err
    progress = done.final["status"]["progress"]
    assert progress["percentage"] == 40 and [item["percentage"] for item in progress["instances"]] == [20, 60]


@pytest.mark.parametrize("request_of, status", [
    (f"{BEARER} -d '{{}}' {URL}", "200"),
    (f"{BEARER} -d nonsense {URL}", "200"),
    (f"-d '{{}}' {URL}", "401"),
    (f"-H 'Authorization: Bearer guessed' -d '{{}}' {URL}", "401"),
    (f"{BEARER} {URL}", "405"),
    (f"{BEARER} --data-binary @- {URL}", "413"),
])
def test_requests_are_answered_as_in_a_cluster(run, request_of, status):
    done = run(job(f"head -c 65537 /dev/zero | {CURL} {request_of}"))
    assert done.lines == [f"[0.0] {status}"]


def test_the_users_own_server_is_left_alone(run, monkeypatch):
    """And that of the shell's own job is not the job's."""
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_TOKEN", "/of-another-job")
    mine = {"env": [{"name": "KUBEFLOW_TRAINER_SERVER_URL", "value": "https://mine"}]}
    done = run(job("env | grep ^KUBEFLOW", container=mine))
    assert done.lines == ["[0.0] KUBEFLOW_TRAINER_SERVER_URL=https://mine"]
