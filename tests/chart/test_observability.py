"""What watches the operator, as the chart renders it: every query asks for metrics that there are."""

import json
import re

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from conftest import CHART, ROOT
from pages import metrics
from renders import EVERYTHING, NAMESPACED, render
from values_table import merged

# What a family of this type puts behind its name.
SUFFIXES = {"gauge": [""], "counter": ["_total"], "info": ["_info"], "histogram": ["_bucket", "_sum", "_count"]}
MONITORED = {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}


def things(programs, values):
    found = [thing for thing in yaml.safe_load_all(render(programs / "helm", values)) if thing]
    return {(thing["kind"], thing["metadata"]["name"]): thing for thing in found}


def alerts(programs):
    rule = things(programs, {"metrics": MONITORED})["PrometheusRule", "ipu-operator"]
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


def dashboard():
    return json.loads((CHART / "dashboards" / "ipu-operator.json").read_text())


def panels():
    """Without the rows that they stand in."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def queries(programs):
    yield from (alert["expr"] for alert in alerts(programs))
    yield from (target["expr"] for panel in panels() for target in panel["targets"])


def selectors(node):
    """Every vector selector of a parsed query."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
        return
    for part in ("expr", "lhs", "rhs", "args", "vs", "vector_selector", "param"):
        child = getattr(node, part, None)
        for one in child if isinstance(child, list) else [child]:
            if one is not None and not isinstance(one, (str, int, float)):
                yield from selectors(one)


def parsed(query):
    """With what Grafana would put in."""
    return promql_parser.parse(query.replace("$__rate_interval", "5m").replace("$namespace", "ipus"))


def test_every_query_asks_for_what_there_is(programs):
    known = {name + suffix for name, kind, _, _ in metrics() for suffix in SUFFIXES[kind]}
    asked = set()
    for query in queries(programs):
        found = list(selectors(parsed(query)))
        assert len(found) == len(re.findall(r"(?:ipu_operator|process)_\w+", query)), query
        for selector in found:
            assert selector.name in known, query
            assert {"namespace"} <= {matcher.name for matcher in selector.matchers.matchers}, query
            asked.add(selector.name)
    assert len(asked) > 20


def test_rates_are_of_counters_alone(programs):
    counted = {name + suffix for name, kind, _, _ in metrics() for suffix in SUFFIXES[kind] if kind in ("counter", "histogram")}
    for query in queries(programs):
        assert set(re.findall(r"(?:rate|increase)\((\w+)", query)) <= counted, query
        assert not set(re.findall(r"(?<!rate\()(?<!increase\()\b(\w+_(?:total|bucket))\b", query)), f"a bare counter: {query}"


def test_names_follow_the_conventions():
    for name, kind, _, text in metrics():
        assert re.fullmatch("(ipu_operator|process)(_[a-z0-9]+)+", name)
        assert not name.endswith(("_total", "_info", "_count", "_sum", "_bucket")), "the type adds it"
        assert kind in SUFFIXES and not text[0].islower() and not text.endswith(".")
        assert not re.search("_(ms|millis|minutes|hours|kb|mb|percent)(_|$)", name), "base units"
        if kind == "histogram":
            assert name.endswith("_seconds")
    names = [name for name, _, _, _ in metrics()]
    assert len(names) == len(set(names)) > 25


def test_every_alert_says_what_and_how_bad(programs):
    found = alerts(programs)
    assert {alert["alert"] for alert in found} >= {
        "IPUOperatorNoLeader", "IPUControllerDown", "IPUQueueStuck", "IPUJobDeletionStuck", "IPUOperatorCertificateExpiring"}
    page = (ROOT / "docs" / "monitoring.md").read_text()
    for alert in found:
        assert alert["labels"]["severity"] in ("critical", "warning", "info")
        assert re.fullmatch(r"\d+[mh]", alert["for"])
        assert alert["annotations"]["summary"] and alert["annotations"]["description"].endswith(".")
        assert set(re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"])) <= set(
            re.findall(r"by \((\w+)\)", alert["expr"])), "the label survives the aggregation"
        assert f"| `{alert['alert']}` |" in page
        assert alert["annotations"]["runbook_url"] == f"docs/monitoring.md#{alert['alert'].lower()}"
        assert f"\n### {alert['alert']}\n" in page, "what to do about it"


def test_panels_stand_side_by_side():
    taken = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
    assert taken == {(x, y) for x in range(24) for y in range(1 + max(y for _, y in taken))}, "no gap is left"


def test_grafana_opens_the_dashboard_without_a_question():
    """What it has no default for that anybody would choose."""
    made = dashboard()
    assert made["schemaVersion"] == 39, "Grafana 10.3; newer ones bring it up to date as they read it"
    ids = [panel["id"] for panel in made["panels"]]
    assert len(ids) == len(set(ids))
    first, second = made["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert (second["name"], second["type"], second["multi"], second["includeAll"]) == ("namespace", "query", False, False)
    assert second["query"]["query"] == "label_values(ipu_operator_leader, namespace)" and second["refresh"] == 2
    asked = {json.dumps(thing["datasource"]) for thing in [*panels(), second]}
    assert asked == {'{"type": "prometheus", "uid": "${datasource}"}'}


def as_grafana_has_it(thing):
    """A dashboard with what Grafana's published model of it knows."""
    return json.loads(json.dumps(Dashboard.from_json(thing), cls=JSONEncoder))


def lost(before, after, at=""):
    """Where what was there is missing, or is another."""
    if isinstance(before, dict):
        for name, part in before.items():
            yield from lost(part, after[name], f"{at}.{name}") if name in after else [f"{at}.{name}"]
    elif isinstance(before, list):
        assert len(before) == len(after), at
        for number, (part, kept) in enumerate(zip(before, after, strict=True)):
            yield from lost(part, kept, f"{at}[{number}]")
    elif before != after:
        yield at


# Grafana writes it for its own list of variables.
UNPUBLISHED = [".templating.list[1].definition"]


def test_grafana_knows_all_that_the_dashboard_says():
    plugins.register_default_plugins()  # of panels and data sources
    made = dashboard()
    assert list(lost(made, as_grafana_has_it(made))) == UNPUBLISHED
    first = made["panels"].index(panels()[0])
    for path, name in ((), "refersh"), (("options",), "textmode"), (("fieldConfig", "defaults"), "units"), (("targets", 0), "legend"):
        made = dashboard()
        part = made["panels"][first]
        for step in path:
            part = part[step]
        part[name] = "mistyped"
        assert len(list(lost(made, as_grafana_has_it(made)))) == len(UNPUBLISHED) + 1, name


def test_every_panel_can_be_read():
    """Its numbers have a unit, its lines a name, and nothing is red that is well."""
    for panel in panels():
        look = panel["fieldConfig"]["defaults"]
        assert panel["description"] and panel["type"] in ("stat", "timeseries")
        assert look["unit"] in ("none", "s", "percentunit", "reqps", "ops", "bytes"), panel["title"]
        if panel["type"] == "stat":
            steps = look["thresholds"]["steps"]
            assert steps[0]["value"] is None and steps == sorted(steps, key=lambda step: step["value"] or 0), panel["title"]
        for target in panel["targets"]:
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            kept = set(re.findall(r"\w+", "".join(re.findall(r"by \(([^)]*)\)", target["expr"])))) - {"le"}
            assert shown == kept or (not kept and shown == {"pod"}), f"{panel['title']}: {target['legendFormat']}"


def test_the_monitor_finds_the_service_and_no_other(programs):
    made = things(programs, merged(EVERYTHING, {"fullnameOverride": "ipu-operator"}))
    monitor = made["ServiceMonitor", "ipu-operator-controller-manager-metrics"]["spec"]
    wanted = monitor["selector"]["matchLabels"].items()
    (service,) = [thing for (kind, _), thing in made.items() if kind == "Service" and wanted <= thing["metadata"]["labels"].items()]
    (port,), (endpoint,) = service["spec"]["ports"], monitor["endpoints"]
    assert service["metadata"]["name"] == "ipu-operator-controller-manager-metrics" and endpoint["port"] == port["name"]
    pod = made["Deployment", "ipu-operator"]["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    assert {"name": port["targetPort"], "containerPort": 8443} in container["ports"]
    assert endpoint["tlsConfig"]["serverName"] == "ipu-operator-controller-manager-metrics.ipus.svc"
    assert endpoint["authorization"] == {"credentials": {"name": "prometheus-token", "key": "token"}}
    assert endpoint["tlsConfig"]["ca"] == {"secret": {"name": "metrics-tls", "key": "ca.crt"}}


@pytest.mark.parametrize("values, scheme", [({}, "https"), ({"metrics": {"mode": "plain"}}, "http"),
                                            ({"metrics": {"mode": "off"}}, None), ({"metrics": {"mode": False}}, None),
                                            (NAMESPACED, None)])
def test_metrics_are_served_as_the_values_say(programs, values, scheme):
    made = things(programs, merged(values, {"metrics": MONITORED} if scheme else {}))
    text = json.dumps(list(made.values()))
    service = made.get(("Service", "ipu-operator-controller-manager-metrics"))
    assert (service and service["spec"]["ports"][0]["name"]) == scheme
    assert ("tokenreviews" in text) == ("metrics-reader" in text) == (scheme == "https")
    assert (("ServiceMonitor", "ipu-operator-controller-manager-metrics") in made) == bool(scheme)
    assert (("PrometheusRule", "ipu-operator") in made) == bool(scheme)


def test_labels_that_others_select_by_may_replace_the_charts(programs):
    chosen = {"labels": {"app.kubernetes.io/instance": "prometheus"}}
    everything = merged(EVERYTHING, {"metrics": {"serviceMonitor": chosen, "prometheusRule": chosen, "dashboard": chosen}})
    text = render(programs / "helm", everything)
    assert text.count("app.kubernetes.io/instance: prometheus\n") == 3
    for thing in text.split("\n---\n"):
        for metadata in re.findall(r"^metadata:\n((?: .*\n)+)", thing, re.M):
            assert metadata.count("  app.kubernetes.io/instance:") == 1, "no key is there twice"


def test_a_prometheus_sends_its_own_token_by_default(programs):
    made = things(programs, {"metrics": MONITORED})
    (endpoint,) = made["ServiceMonitor", "ipu-operator-controller-manager-metrics"]["spec"]["endpoints"]
    assert endpoint["bearerTokenFile"].startswith("/var/run/secrets/") and "authorization" not in endpoint


def test_the_readers_role_has_the_vendors_label(programs):
    made = things(programs, {})
    (role,) = [thing for thing in made.values() if thing["metadata"]["labels"].get("component") == "metrics-reader"]
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
