"""/metrics of the operator, read by a parser that is not ours."""

import http.client
import itertools
import json
import math
import re
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from local_cluster.go_programs import PROMQL
from operator_program import ROOT, Operator
from pages import metrics
from ports import own_address
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from waiting import DEADLINE_S, until

LIFETIMES_S = itertools.count(3600)  # tokens of equal times are equal


def families(operator):
    status, text = operator.ask("/metrics")
    assert status == 200
    return list(text_string_to_metric_families(text))


def samples_of(text):
    """(Name, values of the labels in order of their names) -> value."""
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def samples(operator):
    status, text = operator.ask("/metrics")
    assert status == 200
    return samples_of(text)


def test_metrics_of_jobs_ipus_and_the_queue(world, vipu):
    operator = world.start_operator(vipu.address)
    vipu.client.create("theirs", size=8, reconfigurable=True)
    holds = world.job("holds", ipusPerJobInstance="32")
    pod = holds.run_pods(1)["holds-worker-0"]
    holds.wait("Running")
    world.job("waits", ipusPerJobInstance="64").wait("Pending", "InsufficientIPUs")
    until(lambda: samples(operator)["ipu_operator_foreign_partitions", vipu.address] == 1, "all is listed", tell=world.tell)
    reported = samples(operator)
    assert reported["ipu_operator_leader",] == 1 and reported["ipu_operator_controller_up", vipu.address] == 1
    assert reported["ipu_operator_jobs", "Running"] == 1 and reported["ipu_operator_jobs", "Pending"] == 1
    assert reported["ipu_operator_waiting_instances",] == 1 and reported["ipu_operator_pods",] == 1
    assert reported["ipu_operator_partition_records",] == 1
    assert reported["ipu_operator_ipus", vipu.address, "held"] == 32
    assert reported["ipu_operator_ipus", vipu.address, "foreign"] == 8
    assert reported["ipu_operator_ipus", vipu.address, "free"] == 24
    assert reported["ipu_operator_largest_free_block_ipus", vipu.address] == 16
    assert abs(reported["ipu_operator_fragmentation_ratio", vipu.address] - 1 / 3) < 0.001
    assert reported["ipu_operator_utilisation_ratio", vipu.address] == 40 / 64
    until(lambda: samples(operator)["ipu_operator_idle_ipus", "no_room"] == 24, "24 are free, 64 wanted", tell=world.tell)
    assert sum(value for key, value in samples(operator).items() if key[0] == "ipu_operator_idle_ipus") == 24
    assert reported["ipu_operator_wait_seconds_count", "32"] == 1 and reported["ipu_operator_wait_seconds_count", "64"] == 0
    assert all(reported["ipu_operator_promises_total", how] == 0 for how in ("kept", "backfill", "overrun")), "there was no promise"
    assert reported["ipu_operator_namespace_ipus", world.ns, "held"] == 32
    assert reported["ipu_operator_namespace_ipus", world.ns, "waiting"] == 64
    assert reported["ipu_operator_namespace_ipu_seconds_total", world.ns] > 0
    assert reported["ipu_operator_api_requests_total", "POST", "pods"] >= 2  # the question, and the pod
    assert reported["ipu_operator_reconciles_total", "acted"] > 0
    assert not any(name in label for key in reported for label in key for name in ("holds", "waits")), "none is a job's own"

    world.kubelet.succeed(pod)
    holds.wait("Completed")
    vipu.kill()
    until(lambda: samples(operator)["ipu_operator_controller_up", vipu.address] == 0, "its silence is told", tell=world.tell)
    assert operator.health("/readyz") == operator.health("/healthz") == 200, "a dead controller is no illness of the operator"
    vipu.start()


def test_how_jobs_ended_stays_counted_when_they_are_deleted(world, vipu):
    operator = world.start_operator(vipu.address)
    ended = lambda: {key[1:]: value for key, value in samples(operator).items()  # noqa: E731
                     if key[0] == "ipu_operator_finished_jobs_total"}
    assert ended() == {("Completed", "completed"): 0}
    good, bad = world.job("good"), world.job("bad")
    world.kubelet.succeed(good.run_pods(1)["good-worker-0"])
    world.kubelet.fail(bad.run_pods(1)["bad-worker-0"], 3)
    good.wait("Completed")
    reason = bad.wait("Failed")["reason"]
    bad.delete()
    until(lambda: ended() == {("Completed", "completed"): 1, (reason, "failed"): 1}, "both are counted", tell=world.tell)
    bad.wait_gone()
    assert ended() == {("Completed", "completed"): 1, (reason, "failed"): 1}
    operator.kill()
    operator = world.restart_operator()
    assert ended() == {("Completed", "completed"): 0}, "what ended before is not counted twice"


def test_restarts_are_counted_by_reason(world, vipu):
    operator = world.start_operator(vipu.address)
    restarts = lambda: {key[1]: value for key, value in samples(operator).items()  # noqa: E731
                        if key[0] == "ipu_operator_restarts_total"}
    job = world.job("again", restartPolicy={"type": "OnFailure"})
    pod = job.run_pods(1)["again-worker-0"]
    job.wait("Running")
    assert restarts() == {}
    world.kubelet.fail(pod, 3)
    until(lambda: list(restarts().values()) == [1], "it is counted", tell=world.tell)
    failure = job.wait("Starting")["failures"][0]
    assert restarts() == {failure["reason"]: 1}


def test_the_duration_of_each_phase_is_reported_when_it_ends(world, vipu):
    operator = world.start_operator(vipu.address)
    counts = lambda: {key[1]: value for key, value in samples(operator).items()  # noqa: E731
                      if key[0] == "ipu_operator_phase_duration_seconds_count"}
    nothing = dict.fromkeys(("queued", "allocating", "scheduling", "pulling", "starting", "running"), 0)
    assert counts() == nothing
    job = world.job("timed")
    pod = job.wait_pods(1)["timed-worker-0"]
    until(lambda: counts() == nothing | {"queued": 1, "allocating": 1}, "it got its IPUs", tell=world.tell)
    world.kubelet.run(pod)
    until(lambda: counts() == nothing | dict.fromkeys(("queued", "allocating", "scheduling", "pulling", "starting"), 1),
          "it runs", tell=world.tell)
    world.kubelet.succeed(pod)
    job.wait("Completed")
    assert counts() == dict.fromkeys(nothing, 1)
    reported = samples(operator)
    assert reported["ipu_operator_vipu_request_duration_seconds_count", vipu.address, "CreatePartition"] == 1
    assert reported["ipu_operator_api_request_duration_seconds_count", "POST", "pods"] == 2
    assert reported["ipu_operator_reconcile_duration_seconds_count",] > 0
    operator.kill()
    world.restart_operator()
    assert counts() == nothing, "what ended before is not counted twice"


def test_series_do_not_grow_with_jobs(world, vipu):
    operator = world.start_operator(vipu.address)
    world.job("first", suspend=True).wait("Suspended")
    world.job("waits", ipusPerJobInstance="128").wait("Pending", "ExceedsCapacity")
    # One series for each kind of request, from the first of its kind on.
    series = lambda: {key for key in samples(operator) if not key[0].startswith("ipu_operator_api_")}  # noqa: E731
    before = series()
    for n in range(200):
        world.job(f"job-{n}", suspend=True)
    until(lambda: samples(operator)["ipu_operator_jobs", "Suspended"] == 201, "all are counted", tell=world.tell)
    assert series() == before
    reported = samples(operator)
    assert not any("job" in label for key in reported for label in key[1:] if label not in ("ipujobs", world.ns))
    assert reported["ipu_operator_waiting_instances",] == 1 and reported["ipu_operator_longest_wait_seconds",] >= 0


def test_a_deletion_that_does_not_end_shows(world, vipu):
    operator = world.start_operator(vipu.address)
    job = world.job("stuck")
    job.run_pods(1)
    job.wait("Running")
    assert samples(operator)["ipu_operator_longest_deletion_seconds",] == 0
    job.delete()
    until(lambda: samples(operator)["ipu_operator_longest_deletion_seconds",] > 0, "its age is told", tell=world.tell)


def test_the_page_of_the_docs_has_the_same_table(world, vipu):
    operator = world.start_operator(vipu.address)
    rows, reported = metrics(), families(operator)
    assert [(name, kind, text) for name, kind, _, text in rows] == [
        (family.name, family.type, family.documentation.rstrip(".")) for family in reported]
    for (name, _, labels, _), family in zip(rows, reported):
        assert not family.samples or labels == {label for sample in family.samples for label in sample.labels} - {"le"}, name


def test_the_pages_of_the_vendors_proxy(world, vipu):
    """Recorded: 4 IPUs of 32 in use in `default`; 28 are left, 14 partitions of 2 fit, and none of 64."""
    operator = world.start_operator(world.make_vipu("clusters: [{id: c, agents: 8}]\n", "small").address)
    world.job("uses").run_pods(1)
    until(lambda: json.loads(operator.ask("/stats")[1])["total"]["used"] == 4, "it is counted", tell=world.tell)
    assert json.loads(operator.ask("/stats")[1]) == {
        world.ns: {"used": 4, "available": 28}, "total": {"used": 4, "available": 28}}
    query = lambda size: json.loads(operator.ask("/query", json.dumps({"size": size}))[1])  # noqa: E731
    assert query(2) == {"available": True, "numOfPartitions": 14, "message": "", "largestPartition": 16}
    assert query(64) == {"available": True, "numOfPartitions": 0, "message": "", "largestPartition": 16}
    (controller,) = json.loads(operator.ask("/controllers")[1])["controllers"]
    controller.pop("name")
    assert controller == {"up": True, "secureMode": False, "ipus": 32, "freeIpus": 28, "largestPartition": 16}
    assert operator.ask("/health")[0] == 200
    assert operator.ask("/stats", "{}") == (405, "method not allowed, use GET, HEAD\n")
    for body, status in (('{"size": 0}', 400), ("nonsense", 400), ('{"size": "2"}', 400), ("x" * 2000, 413), (None, 405)):
        assert operator.ask("/query", body)[0] == status, body


def scraped(operator):
    """Series -> value, with the labels that Prometheus would add."""
    status, text = operator.ask("/metrics")
    assert status == 200
    where = {"namespace": "ipus", "job": "ipu-operator-controller-manager-metrics", "pod": "a"}
    return {sample.name + json.dumps(sample.labels | where): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def series(key):
    """As Prometheus writes one."""
    name, _, labels = key.partition("{")
    return name + "{" + ",".join(f"{label}={json.dumps(value)}" for label, value in json.loads("{" + labels).items()) + "}"


def test_what_the_dashboard_asks_for_is_there(world, vipu):
    """By Prometheus' own engine, of two looks at the operator, five minutes apart for it; the webhooks are off here."""
    operator = world.start_operator(vipu.address)
    before = scraped(operator)
    shown = world.job("shown")
    world.kubelet.succeed(shown.run_pods(1)["shown-worker-0"])
    shown.wait("Completed")
    history = {series(key): (f"{before[key]:f}x4" if key in before else "_x5") + f" {value:f}x5" for key, value in scraped(operator).items()}
    panels = json.loads((ROOT / "charts/ipu-operator/dashboards/ipu-operator.json").read_text())["panels"]
    asked = [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]
    queries = [query.replace("$namespace", "ipus").replace("$__rate_interval", "5m") for _, query in asked]
    done = subprocess.run([PROMQL.path()], input=json.dumps({"series": history, "minutes": [7], "queries": queries}),
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (moment,) = json.loads(done.stdout)
    assert [answer["warnings"] for answer in moment["answers"]] == [[]] * len(queries)
    reported = [(title, answer["values"]) for (title, query), answer in zip(asked, moment["answers"], strict=True) if not query.endswith("> 0")]
    assert {title for title, values in reported if not values} == {"Certificates", "Admission, p99", "Denied and failed"}
    (median,) = [values for title, values in reported if title == "Phase duration, median"]
    assert len(median) == 6 and not any(math.isnan(float(value)) for value in median)


class SecureMetrics:
    """Asks for /metrics over TLS, with a token."""

    def __init__(self, operator):
        operator.until_logged(r"metrics_port=\d+")
        self._port = re.search(r"metrics_port=(\d+)", operator.log_of_this_start())[1]
        self._context = ssl._create_unverified_context()

    def ask(self, token=None, path="/metrics", method="GET", body=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://localhost:{self._port}{path}", body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def connect(self, source):
        return http.client.HTTPSConnection("127.0.0.1", int(self._port), source_address=(source, 0), timeout=DEADLINE_S, context=self._context)

    def certificate(self):
        return ssl.get_server_certificate(("localhost", int(self._port)))


def status_of(url, token=None, data=None):
    request = urllib.request.Request(url, data, headers={} if token is None else {"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def account(world, name):
    world.api.create("serviceaccounts", world.ns, {"metadata": {"name": name}})
    return token_of(world, name)


def token_of(world, name):
    """A new one each time."""
    made = world.api.request("POST", world.api.path("serviceaccounts", world.ns, name, "token"), {"spec": {"expirationSeconds": next(LIFETIMES_S)}})
    return made["status"]["token"]


def make_reader(world, what="metrics"):
    """The token of an account that may read the metrics, or the pages that name jobs."""
    (role,) = world.api.list("clusterroles", None, f"component={what}-reader")
    world.api.create("clusterrolebindings", None, {
        "metadata": {"name": f"{world.ns}-reads-{what}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": f"{what}-reader", "namespace": world.ns}]})
    world.keep(None, lambda: world.api.delete("clusterrolebindings", None, f"{world.ns}-reads-{what}"))
    return account(world, f"{what}-reader")


def test_pages_that_name_jobs_ask_who_is_there(world, vipu):
    """Over TLS by the account, in the clear only from the pod itself."""
    reader, stranger = make_reader(world, "pages"), account(world, "stranger")
    operator = world.start_operator(vipu.address, "--metrics", "secure", "--metrics-port", "0")
    job = world.job("named")
    job.run_pods(1)
    page = SecureMetrics(operator)
    for path in ("/queue", "/controllers", "/partitions"):
        until(lambda path=path: page.ask(reader, path)[0] == 200, "the binding is in force", tell=world.tell)
        assert page.ask(path=path)[0] == 401 and page.ask(stranger, path)[0] == 403
        assert "component=pages-reader" in page.ask(stranger, path)[1]
    until(lambda: f"{world.ns}/named" in page.ask(reader, "/partitions")[1], "it names the job", tell=world.tell)
    assert page.ask(reader, "/partitions?limit=x") == (400, "limit must be a number from 1 to 4294967295, got 'x'\n")
    assert page.ask(reader, "/queue?continue=x")[0] == 400
    assert page.ask(reader)[0] == 403, "this account may not read the metrics"
    outside = f"http://{own_address()}:{operator.page('').rpartition(':')[2]}"
    for path, status in (("/queue", 403), ("/controllers", 403), ("/partitions", 403), ("/stats", 200), ("/health", 200)):
        assert status_of(outside + path) == status, path
    assert operator.ask("/partitions")[0] == 200


def test_only_readers_read_over_tls(world, vipu):
    reader, stranger = make_reader(world), account(world, "stranger")
    operator = world.start_operator(vipu.address, "--metrics", "secure", "--metrics-port", "0", "--log-level", "debug",
                                    "--live-page", "localhost", "--live-page-port", "0")
    page = SecureMetrics(operator)
    until(lambda: page.ask(reader)[0] == 200, "the binding is in force", tell=world.tell)
    reported = {family.name: family for family in text_string_to_metric_families(page.ask(reader)[1])}
    ends = {end.labels["use"]: end.value for end in reported["ipu_operator_certificate_expiration_timestamp_seconds"].samples}
    assert ends.keys() == {"metrics", "live page"} and min(ends.values()) > time.time() + 30 * 86400

    def sent():
        counts = samples_of(page.ask(reader)[1])
        return sum(counts["ipu_operator_api_requests_total", "POST", kind] for kind in ("tokenreviews", "subjectaccessreviews"))

    before = sent()
    assert page.ask(stranger)[0] == 403 and page.ask("no.such.token")[0] == 401
    assert sent() == before + 3, "two questions about the stranger, one about nobody"

    def nobody_is_asked():
        asked = sent()
        for _ in range(5):
            assert page.ask(stranger)[0] == 403 and page.ask("no.such.token")[0] == 401
        assert page.ask()[0] == 401 and page.ask(reader, "/queue")[0] == 403 and page.ask(reader, "/stats")[0] == 404 and page.ask(reader, method="DELETE")[0] == 405
        return sent() == asked

    until(nobody_is_asked, "answers are remembered, if only for a while", tell=world.tell)
    assert operator.ask("/metrics")[0] == 404, "and not in the clear"
    log = operator.log()
    assert reader not in log and stranger not in log and "no.such.token" not in log


def test_a_standby_serves_its_metrics_and_authenticates_readers(world, vipu):
    world.start_operator(vipu.address)
    (world.folder / "second").mkdir()
    second = Operator(world.folder / "second", *world.operator.flags, "--metrics", "secure", "--metrics-port", "0")
    world.keep(second.start(), second.kill)
    page = SecureMetrics(second)
    until(lambda: second.health("/readyz") == 200, "the standby is ready", tell=second.tail)
    reader = make_reader(world)
    until(lambda: page.ask(reader)[0] == 200, "the binding is in force", tell=second.tail)
    reported = samples_of(page.ask(reader)[1])
    assert reported["ipu_operator_leader",] == 0 and not [key for key in reported if key[0] == "ipu_operator_jobs"]
    second.end()
    second.check_sanitizers()


def test_a_certificate_in_files_is_taken_over_when_it_changes(world, vipu):
    folder = world.folder / "tls"
    folder.mkdir()

    def put():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=x", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"], check=True, capture_output=True)
        return (folder / "tls.crt").read_text()

    first = put()
    operator = world.start_operator(vipu.address, "--metrics", "secure", "--metrics-port", "0", "--metrics-certificate", folder)
    page = SecureMetrics(operator)
    assert page.certificate() == first
    (folder / "tls.crt").write_text("nonsense")
    operator.until_logged("cannot load the certificate of a server.*/metrics", DEADLINE_S)
    assert page.certificate() == first
    second = put()
    until(lambda: page.certificate() == second, "the new one is shown", tell=world.tell)


def each_once(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def test_web_pages_read_no_jobs_and_change_nothing(world, vipu):
    """A page that an admin reads can send requests to a forwarded port, or get a name that leads to it (DNS rebinding)."""
    operator = world.start_operator(vipu.address)
    until(lambda: operator.ask("/queue")[0] == 200, "it is the leader", tell=world.tell)

    def statuses(headers):
        for path, options in (("/queue", {}), ("/partitions", {}), ("/whatif", {"data": b'{"ipus": 1}'}),
                              ("/loglevel", {"data": b"info", "method": "PUT"}), ("/healthz", {})):
            try:
                yield urllib.request.urlopen(urllib.request.Request(operator.page(path), headers=headers, **options), timeout=30).status
            except urllib.error.HTTPError as error:
                yield error.code

    for headers in ({}, {"Host": "localhost:8081"}, {"Host": "[::1]:8081"}):
        assert list(statuses(headers)) == [200] * 5
    for headers in ({"Host": "evil.example.com:8081"}, {"Origin": "http://evil.example.com"}, {"Origin": "null"}):
        assert list(statuses(headers)) == [403] * 4 + [200]


def test_the_log_level_changes_at_run_time(world, vipu):
    operator = world.start_operator(vipu.address, "--log-format", "json")
    port = re.search(r'health_port":"(\d+)', operator.log_of_this_start())[1]

    def put(level, host="127.0.0.1", method="PUT"):
        request = urllib.request.Request(f"http://{host}:{port}/loglevel", data=level.encode(), method=method)
        try:
            return urllib.request.urlopen(request, timeout=30).status
        except urllib.error.HTTPError as error:
            return error.headers["Allow"] or error.code

    assert operator.ask("/loglevel") == (200, "info\n")
    world.job("quiet").run_pods(1)
    operator.until_logged(f'"level":"info","msg":"job event","job":"{world.ns}/quiet","reason":"Running"')
    assert '"level":"debug"' not in operator.log()
    assert put("loud") == 400 and put("debug" * 10) == 413 and put("debug", method="POST") == "GET, HEAD, PUT"
    assert operator.ask("/loglevel")[1] == "info\n"
    assert put("debug\n") == 200 and operator.ask("/loglevel")[1] == "debug\n"
    job = world.job("loud")
    operator.until_logged(f'"level":"debug","msg":"plan","job":"{world.ns}/loud"')
    job.run_pods(1)
    here = socket.gethostbyname(socket.gethostname())
    if not here.startswith("127."):
        assert put("error", here) == 403
    lines = [json.loads(line, object_pairs_hook=each_once) for line in operator.log().splitlines()]
    (change,) = [line for line in lines if line["msg"] == "log level changed"]
    assert change["level"] == "warn" and change["least"] == "debug"


def test_a_standby_asks_the_leader_what_only_it_knows(world, vipu):
    leader = world.start_operator(vipu.address, "--pod-address", "127.0.0.1")
    world.job("uses").run_pods(1)
    until(lambda: json.loads(leader.ask("/stats")[1])["total"]["used"] == 4, "it is counted", tell=world.tell)
    (world.folder / "second").mkdir()
    standby = Operator(world.folder / "second", *leader.flags)
    world.keep(standby.start(), standby.kill)
    until(lambda: standby.ask("/stats") == leader.ask("/stats"), "it knows whom to ask", tell=standby.tail)
    for name in ("waits-a", "waits-b"):
        world.job(name, ipusPerJobInstance="64").wait("Pending")
    for page, body in (("/queue", None), ("/queue?limit=1", None), ("/queue?limit=x", None), ("/query", '{"size": 4}'), ("/query", '{"size": 0}')):
        # Patience with a slow leader has an end.
        until(lambda page=page, body=body: standby.ask(page, body) == leader.ask(page, body) != (0, ""), page, tell=standby.tail)
    (_, key) = world.lease()["metadata"]["annotations"]["graphcore.ai/leader-note"].split(" ")
    for one in (leader, standby):
        outside = f"http://{own_address()}:{one.page('').rpartition(':')[2]}/controllers"
        assert [status_of(outside, token) for token in (None, "", key[:-1], key)] == [403, 403, 403, 200]
    assert standby.ask("/stats?from=standby")[0] == 503, "what was handed on once is not handed on again"
    leader.kill()
    assert standby.ask("/stats")[0] == 503
    standby.end()
    standby.check_sanitizers()
