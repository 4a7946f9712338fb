"""A real Prometheus finds all replicas by docs/monitoring.md, answers the dashboard, and alerts."""

import json
import math
import re

import kube
import pytest
from jobs import UNTIL_TOLD, job
from local_cluster.go_programs import PROMETHEUS
from pages import metrics
from prometheus import allowed, started
from stack import CHART, SYSTEM

LEADERS = f'ipu_operator_leader{{namespace="{SYSTEM}"}}'
ENDED = f'sum by (phase) (ipu_operator_phase_duration_seconds_count{{namespace="{SYSTEM}"}})'
VIPU = "deployment/ipu-operator-vipu-server"
NOTICED_S = 180

pytestmark = pytest.mark.usefixtures("replicas")


@pytest.fixture
def prometheus(stack, image, namespace, reader):
    """One that an admin has set up by the page. It tells at once what the chart has it tell after minutes: how long it waits is
    judged in tests/chart/test_alerts.py."""
    with allowed(stack, namespace, reader):
        (rule,) = [thing for thing in stack.rendered("metrics.prometheusRule.enabled=true") if thing["kind"] == "PrometheusRule"]
        (group,) = rule["spec"]["groups"]
        impatient = group | {"rules": [each | {"for": "2s"} for each in group["rules"]]}
        yield started(namespace, image(PROMETHEUS), {"groups": [impatient]})


def dashboard_queries():
    """What Grafana would ask for each panel."""
    for panel in json.loads((CHART / "dashboards" / "ipu-operator.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$__rate_interval", "1m").replace("$namespace", SYSTEM)


def wait_until_read(prometheus):
    kube.wait_for("both replicas are read", lambda: sorted(value for _, value in prometheus.query(LEADERS)) == [0, 1])


def test_both_replicas_are_read_over_tls_and_the_dashboard_is_answered(prometheus, start):
    wait_until_read(prometheus)
    made = start(job("read", UNTIL_TOLD))
    made.wait_for_state("Running")
    made.let_end()
    made.wait_for_state("Completed")
    ended = lambda: prometheus.query(ENDED)  # noqa: E731
    kube.wait_for(lambda: f"each phase of a job is told: {ended()}", lambda: all(count for _, count in ended()))
    targets = prometheus.ask("targets")["activeTargets"]
    assert [(target["health"], target["lastError"], target["scrapeUrl"][:8]) for target in targets] == [("up", "", "https://")] * 2
    for query in dashboard_queries():
        found = prometheus.query(query)
        if query.endswith("> 0"):  # which tells of trouble alone: of some, there is no series before
            continue
        assert found, query
        for name in re.findall(r"(?:ipu_operator|process)_\w+", query):
            assert prometheus.query(f'{name}{{namespace="{SYSTEM}"}}'), name
    median = next(query for query in dashboard_queries() if query.startswith("histogram_quantile(0.5"))
    kube.wait_for("a median is a number", lambda: [value for _, value in prometheus.query(median) if not math.isnan(value)])


def test_prometheus_knows_types_and_texts_of_the_page(prometheus):
    wait_until_read(prometheus)
    output = {name: (rows[0]["type"], rows[0]["help"].rstrip(".")) for name, rows in prometheus.ask("metadata").items()}
    rows = {name: (kind, text) for name, kind, _, text in metrics() if name.startswith("ipu_operator_")}
    assert len(rows) > 20
    assert rows.items() <= output.items()


@pytest.mark.timeout(900)
def test_an_alert_fires_while_a_controller_is_away_and_clears(stack, prometheus):
    wait_until_read(prometheus)
    states = lambda: {(rule["health"], rule["state"]) for rule in prometheus.rules()}  # noqa: E731
    kube.wait_for(lambda: f"all rules are judged, and no alert is out: {states()}", lambda: states() == {("ok", "inactive")})
    stack.system("scale", VIPU, "--replicas=0")
    try:
        (output,) = kube.wait_for("an alert fires", prometheus.firing, NOTICED_S)
        assert (output["alertname"], output["severity"], output["namespace"]) == ("IPUControllerDown", "critical", SYSTEM)
        up = f'max by (controller) (ipu_operator_controller_up{{namespace="{SYSTEM}"}})'
        assert prometheus.query(up) == [({"controller": output["controller"]}, 0)]
    finally:
        stack.system("scale", VIPU, "--replicas=1")
    stack.system("rollout", "status", VIPU, "--timeout=90s")
    kube.wait_for(lambda: f"no alert is out: {states()}", lambda: states() == {("ok", "inactive")}, NOTICED_S)
