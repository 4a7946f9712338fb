"""POST /whatif: when a job that does not exist would start. It changes nothing, names no job, and bad requests cost nobody else."""

import concurrent.futures
import json

from test_metrics import SecureMetrics, account, make_reader, own_address, samples_of, status_of
from waiting import until
from world import OPERATOR_NS

BODY_MAX = 64 * 1024


def ask(operator, body):
    status, text = operator.ask("/whatif", body if isinstance(body, str) else json.dumps(body))
    return status, json.loads(text) if status == 200 else text


def answer(operator, body):
    """Once the leader has seen all objects, and the queue is planned by what it has seen."""
    return until(lambda: (got := ask(operator, body))[0] == 200 and got[1], "it answers", tell=operator.tail)


def test_a_job_that_is_not_there(world, vipu):
    operator = world.start_operator(vipu.address)
    empty = until(lambda: (got := answer(operator, {"ipus": 64})).get("controller") and got, "the V-IPU controller is known", tell=operator.tail)
    assert {key: empty[key] for key in ("start", "cause", "basis", "instancesNow", "controller")} == {
        "start": "Now", "cause": "Starts", "basis": "Now", "instancesNow": 1, "controller": vipu.address}
    assert empty["blocks"] == [{"domain": 0, "domains": 1, "ipus": "f" * 16}]
    first = world.job("first", ipusPerJobInstance="32", activeDeadlineSeconds=7200)
    first.run_pods(1)
    first.wait("Running")
    head = world.job("head", ipusPerJobInstance="64")
    head.wait("Pending", "InsufficientIPUs")
    kept = until(lambda: json.loads(operator.ask("/queue")[1])["queue"][0].get("reservation"), "it has a reservation", tell=world.tell)
    partitions = vipu.partitions()

    short, long = answer(operator, {"ipus": 32, "for": "1h"}), answer(operator, {"ipus": 32, "for": "1d"})
    assert short["start"] == "Now" and short["instancesNow"] == 1, "it ends before the reservation begins"
    assert (long["start"], long["cause"], long["instancesNow"], long["blocks"]) == ("Open", "Reserved", 0, [])
    assert "kept for an earlier job" in long["message"]
    urgent = answer(operator, {"ipus": 64, "priority": 1000})
    assert (urgent["start"], urgent["position"], urgent["latest"]) == ("Later", 1, kept["start"]), "before the head"
    assert answer(operator, {"ipus": 128})["start"] == "Never"
    several = answer(operator, {"ipus": "16", "instances": 3, "for": 60})
    assert several["instancesNow"] == 2 and several["start"] != "Now"
    same = answer(operator, {**head.get(), "status": None})
    assert (same["ipus"], same["position"]) == (64, 2)
    for said in (short, long, urgent, several, same):
        assert "first" not in json.dumps(said).replace("first job that", "") and "head" not in json.dumps(said)
    assert vipu.partitions() == partitions and [item["job"] for item in json.loads(operator.ask("/queue")[1])["queue"]] == [f"{world.ns}/head"]


def test_run_times_of_the_past_count(world, vipu):
    history = "ipu-operator-what-if"
    world.api.create("configmaps", OPERATOR_NS, {"metadata": {"name": history}, "data": {"runs": "3600 64 1 2 3\n" * 20}})
    operator = world.start_operator(vipu.address, "--history", history)
    two = until(lambda: (got := answer(operator, {"ipus": 64, "instances": 2})).get("controller") and got, "the V-IPU controller is known",
                tell=operator.tail)
    world.api.delete("configmaps", OPERATOR_NS, history)
    assert (two["instancesNow"], two["start"], two["basis"]) == (1, "Later", "History"), "the second one follows the first"


def test_mistakes_are_told_at_once(world, vipu):
    operator = world.start_operator(vipu.address)
    answer(operator, {"ipus": 1})
    status, text = ask(operator, {"ipus": 3, "for": "soon", "priority": "high", "gpus\x1b[2J\n": 1})
    assert (status, len(text.splitlines())) == (400, 4) and "\x1b" not in text
    assert "ipus: Invalid value: 3: must be a power of two up to 64, or a multiple of 64" in text
    for body in ("{", "[]", "null", "{}", '{"spec": 1}', '{"kind": "IPUJob", "spec": {}}', "[" * 60000, '{"ipus": 1e999}', "\0\xff"):
        assert ask(operator, body)[0] == 400, body[:40]
    assert ask(operator, " " * BODY_MAX + "{}")[0] == 413
    assert operator.ask("/whatif")[0] == 405
    counts = samples_of(operator.ask("/metrics")[1])
    assert counts["ipu_operator_what_if_requests_total", "invalid"] == 10 and counts["ipu_operator_what_if_requests_total", "answered"] >= 1


def test_only_readers_of_the_pages_may_ask(world, vipu):
    reader, stranger = make_reader(world, "pages"), account(world, "stranger")
    operator = world.start_operator(vipu.address, "--metrics", "secure", "--metrics-port", "0")
    page, body = SecureMetrics(operator), b'{"ipus": 4}'

    def post(token):
        return page.ask(token, "/whatif", "POST", body)

    got = until(lambda: (got := post(reader))[0] == 200 and got, "the binding is in force", tell=world.tell)
    assert json.loads(got[1])["ipus"] == 4, "the body comes through the review"
    assert post(reader)[0] == 200, "and when the answer is remembered"
    assert post(None)[0] == post("no.such.token")[0] == 401 and post(stranger)[0] == 403
    assert page.ask(reader, "/whatif")[0] == 405
    outside = f"http://{own_address()}:{operator.page('').rpartition(':')[2]}/whatif"
    assert status_of(outside, data=body) == 403


def test_a_flood_is_rejected_and_delays_nobody(world, vipu):
    operator = world.start_operator(vipu.address)
    first = world.job("first", ipusPerJobInstance="64")
    first.run_pods(1)
    first.wait("Running")
    world.job("crowd", jobInstances=10000, ipusPerJobInstance="1").wait("Pending")
    answer(operator, {"ipus": 1})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: ask(operator, {"ipus": 1, "instances": 10000})[0], range(80)))
    assert set(got) == {200, 429}, "one at a time of a client"
    assert operator.health("/healthz") == 200 and answer(operator, {"ipus": 1})["ipus"] == 1
