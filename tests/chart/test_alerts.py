"""The alerts as Prometheus judges them: what the operator tells minute by minute, and what is made of it by then.

The rules and the engine are Prometheus' own (deploy/local/promql)."""

import json
import os
import subprocess
from dataclasses import dataclass, field

import pytest
import yaml

from local_cluster.go_programs import PROMQL
from pages import Reader, blocks_at
from renders import objects, render

PAGE = "https://example.com/monitoring"
# What a reader of each alert has before them; a case fills in what is in braces.
TEXTS = {
    "IPUOperatorNoLeader": ("critical", "The IPU operator has no leader",
                            "No operator in namespace ipus holds the lease, or no metrics can be read. Running jobs continue; no job is "
                            "started, stopped or restarted."),
    "IPUOperatorWatchStale": ("critical", "The IPU operator has a stale watch of {resource}",
                              "Lists or watches have failed for {time}. Running jobs continue, but their changes may be missed. The "
                              "leader's endpoint /readyz shows the cause."),
    "IPUControllerDown": ("critical", "V-IPU controller {controller} is unreachable",
                          "Its jobs continue to run, but no partition is created or released there. The operator's endpoint /controllers "
                          "shows the cause."),
    "IPUQueueStuck": ("warning", "Jobs wait for IPUs although all IPUs are free",
                      "All V-IPU controllers are reachable and no IPUs are held, but no job gets IPUs. The operator's endpoint /queue "
                      "shows what each job waits for."),
    "IPUQueueNotMoving": ("info", "Jobs wait for IPUs, {value} IPUs are free, and no job has started for half an hour",
                          "A job at the head of a queue may wait for more IPUs than are free. The operator's endpoint /queue shows what "
                          "it waits for, and which jobs hold it."),
    "IPUJobPendingTooLong": ("info", "A job has waited for IPUs for more than a day",
                             "The longest wait is {time}. The operator's endpoint /queue shows what the job waits for, and which jobs "
                             "hold it."),
    "IPUJobDeletionStuck": ("warning", "The deletion of a job has taken more than half an hour",
                            "It started {time} ago. kubectl get ij -A shows the job as Terminating, and its status shows what may still "
                            "use its IPUs."),
    "IPUOperatorCertificateExpiring": ("warning", "The operator's certificate for {use} expires within a week",
                                       "It expires in {time} and should have been renewed by now. The operator's log shows the cause."),
    "IPUOperatorHighErrorRate": ("warning", "More than half of the operator's reconciles fail",
                                 "Requests to the API server fail or are rejected. The operator's log and the events of jobs name them."),
}


@dataclass(frozen=True)
class Case:
    alert: str
    about: str
    series: dict  # -> its values, one for each minute, as promtool's tests write them
    silent_at: int  # the minute at which the alert does not fire yet, or at all
    fires_at: int = 0  # the minute at which it fires; 0: never
    labels: dict = field(default_factory=dict)  # of the alert, beside those that all have
    time: str = ""
    value: str = ""


def series(name, namespace="ipus", **labels):
    printed = {"namespace": namespace, "job": "ipu-operator-controller-manager-metrics"} | labels
    return f"ipu_operator_{name}{{" + ",".join(f'{label}="{value}"' for label, value in printed.items()) + "}"


def line(waiting="1x20", held="0x20", foreign="0x20", other_up="1x20"):
    """A line of jobs before two V-IPU controllers."""
    return {series("waiting_instances"): waiting, series("ipus", controller="vctl1", state="held"): held,
            series("ipus", controller="vctl2", state="foreign"): foreign, series("ipus", controller="vctl1", state="free"): "64x20",
            series("controller_up", controller="vctl1"): "1x20", series("controller_up", controller="vctl2"): other_up}


def waits(waiting="3x180", free="24x180", starts="7x180"):
    return {series("waiting_instances"): waiting, series("ipus", controller="vctl1", state="free"): free,
            series("phase_duration_seconds_count", phase="queued"): starts}


def work(retries, reconciles="0+10x60"):
    return {series("reconcile_retries_total"): retries, series("reconciles_total", result="acted"): reconciles,
            series("reconciles_total", result="settled"): "0x60"}


CASES = [
    Case("IPUOperatorNoLeader", "the leader stops and no replica takes over",
         {series("leader", pod="a"): "1x4 0x10", series("leader", pod="b"): "0x15"}, 6, 7),
    Case("IPUOperatorNoLeader", "a leader elsewhere does not count", {series("leader", namespace="other", pod="a"): "1x10"}, 1, 2),
    Case("IPUOperatorNoLeader", "the only one starts again and again, so that it can be read now and then",
         {series("leader", pod="a"): "1 0 stale 0 stale 0 stale 0"}, 2, 3),
    Case("IPUOperatorNoLeader", "one hands over to the other",
         {series("leader", pod="a"): "1x4 0x10", series("leader", pod="b"): "0x5 1x10"}, 10),
    Case("IPUOperatorWatchStale", "one of two kinds is not shown any more",
         {series("watch_stale_seconds", resource="pods"): "0x20", series("watch_stale_seconds", resource="nodes"): "0x5 0+60x10"}, 9, 10,
         labels={"resource": "nodes"}, time="4m 0s"),
    Case("IPUOperatorWatchStale", "it is shown again after two minutes", {series("watch_stale_seconds", resource="nodes"): "0x5 0+60x2 0x10"}, 18),
    Case("IPUControllerDown", "one of two falls silent",
         {series("controller_up", controller="vctl1"): "1x2 0x10", series("controller_up", controller="vctl2"): "1x12"}, 7, 8,
         labels={"controller": "vctl1"}),
    Case("IPUControllerDown", "it stays away while another begins to lead",
         {series("controller_up", controller="vctl1", pod="a"): "0x3 stale", series("controller_up", controller="vctl1", pod="b"): "_x4 0x8"},
         4, 5, labels={"controller": "vctl1"}),
    Case("IPUControllerDown", "it starts again", {series("controller_up", controller="vctl1"): "1x2 0x3 1x10"}, 8),
    Case("IPUQueueStuck", "all IPUs are free, and no job gets any", line(), 14, 15),
    Case("IPUQueueStuck", "a job holds some", line(held="4x20"), 20),
    Case("IPUQueueStuck", "foreign partitions use some", line(foreign="4x20"), 20),
    Case("IPUQueueStuck", "one V-IPU controller is down, and has its own alert", line(other_up="0x20"), 20),
    Case("IPUQueueStuck", "no job waits", line(waiting="0x20"), 20),
    Case("IPUQueueStuck", "the line moves now and then", line(held="0x8 4 0x20"), 20),
    Case("IPUQueueNotMoving", "the head waits for more IPUs than are free", waits(), 30, 31, value="24"),
    Case("IPUQueueNotMoving", "jobs start now and then", waits(starts="0x50 1x50 2x50 3x50"), 180),
    Case("IPUQueueNotMoving", "no IPU is free", waits(free="0x180"), 180),
    Case("IPUQueueNotMoving", "no job waits", waits(waiting="0x180"), 180),
    Case("IPUJobPendingTooLong", "a job waits for a day, and a quarter of an hour", {series("longest_wait_seconds"): "0+60x1500"}, 1455, 1456,
         time="1d 0h 16m 0s"),
    Case("IPUJobPendingTooLong", "it is another job each hour", {series("longest_wait_seconds"): " ".join(["0+60x59"] * 25)}, 1500),
    Case("IPUJobDeletionStuck", "a job stays for longer than half an hour", {series("longest_deletion_seconds"): "0+60x60"}, 35, 36,
         time="36m 0s"),
    Case("IPUJobDeletionStuck", "its last pod takes its grace period of ten minutes", {series("longest_deletion_seconds"): "0+60x10 0x50"}, 60),
    Case("IPUOperatorCertificateExpiring", "one of two is not renewed",
         {series("certificate_expiration_timestamp_seconds", use="webhooks"): f"{8 * 86400}x1600",
          series("certificate_expiration_timestamp_seconds", use="metrics"): f"{90 * 86400}x1600"}, 1500, 1501,
         labels={"use": "webhooks"}, time="6d 22h 59m 0s"),
    Case("IPUOperatorCertificateExpiring", "it is renewed",
         {series("certificate_expiration_timestamp_seconds", use="webhooks"): f"{8 * 86400}x1450 {90 * 86400}x200"}, 1600),
    Case("IPUOperatorHighErrorRate", "everything fails", work("0+10x60"), 30, 31),
    Case("IPUOperatorHighErrorRate", "half of it fails", work("0+5x60"), 60),
    Case("IPUOperatorHighErrorRate", "there is nothing to do", work("0x60", "0x60"), 60),
    Case("IPUOperatorHighErrorRate", "it fails for a while", work("0+10x9 100x50"), 60),
]


@pytest.fixture(scope="module")
def groups(programs):
    """What the chart gives to Prometheus."""
    values = {"metrics": {"prometheusRule": {"enabled": True, "runbookUrl": PAGE}}}
    (rule,) = [thing for thing in objects(render(programs / "helm", values)) if thing["kind"] == "PrometheusRule"]
    return rule["spec"]["groups"]


@pytest.fixture
def ask(tmp_path):
    """What Prometheus says to these groups of rules, or to a file of them, at these minutes of a history."""

    def judged(rules, history, minutes):
        file = tmp_path / "judged.yaml"
        file.write_text(rules if isinstance(rules, str) else yaml.safe_dump({"groups": rules}))
        asked = {"rules": str(file), "series": history, "minutes": minutes}
        return subprocess.run([PROMQL.path()], input=json.dumps(asked), capture_output=True, text=True, timeout=300)

    return judged


def expected(case):
    """What a reader of the alert has before them."""
    severity, summary, description = TEXTS[case.alert]
    words = case.labels | {"time": case.time, "value": case.value}
    return {"labels": {"alertname": case.alert, "severity": severity, "namespace": "ipus"} | case.labels,
            "annotations": {"summary": summary.format(**words), "description": description.format(**words),
                            "runbook_url": f"{PAGE}#{case.alert.lower()}"}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.about}")
def test_an_alert_fires_when_it_should(ask, groups, case):
    own = [group | {"rules": [rule for rule in group["rules"] if rule["alert"] == case.alert]} for group in groups]
    minutes = [case.silent_at, case.fires_at] if case.fires_at else [case.silent_at]
    done = ask(own, case.series, minutes)
    assert done.returncode == 0, done.stderr
    firing = [moment["firing"] for moment in json.loads(done.stdout)]
    assert firing == ([[], [expected(case)]] if case.fires_at else [[]])


def test_every_alert_is_seen_to_fire_and_to_be_silent(groups):
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    assert alerts == TEXTS.keys()
    assert alerts == {case.alert for case in CASES if case.fires_at} == {case.alert for case in CASES if not case.fires_at}


def test_prometheus_rejects_what_is_no_rule(ask, groups):
    for right, wrong in (("== 1", "== 1)"), ("for: 2m", "for: soon"), ("{{ $value", "{{ $worth"), ("labels:", "label:")):
        text = yaml.safe_dump({"groups": groups})
        assert right in text
        assert ask(text.replace(right, wrong), {}, [0]).returncode == 1, wrong


def test_the_page_makes_a_file_of_rules(programs, ask, tmp_path):
    types = Reader(tmp_path, os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"})
    for block in blocks_at("docs/monitoring.md", "chart"):
        types(block)
    text = (tmp_path / "rules.yaml").read_text()
    assert [rule["alert"] for rule in yaml.safe_load(text)["groups"][0]["rules"]] == list(TEXTS)
    (moment,) = json.loads(ask(text, {}, [2]).stdout)
    assert [one["labels"]["alertname"] for one in moment["firing"]] == ["IPUOperatorNoLeader"]
