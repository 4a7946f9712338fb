"""Requests against a server that misbehaves."""

import json

import pytest

from probe import number
from scripted import kubeconfig_for

CREATED = {"kind": "ConfigMap", "metadata": {"name": "a", "uid": "1"}}
BODY = ("--body", '{"metadata":{"name":"a"}}')
JSON_PATCH = ("--type", "application/json-patch+json", "--body", "[]")
MERGE_PATCH = ("--type", "application/merge-patch+json", "--body", "{}")


def answer(code, body=CREATED, **headers):
    return lambda exchange: exchange.reply(code, body, headers)


def reject(code, reason="", headers=(), message="", **details):
    return lambda exchange: exchange.status(code, reason, message, headers, **details)


def cut(exchange):
    exchange.cut()


def test_a_request_carries_what_the_server_needs(server, probe_of):
    server.script(answer(201))
    output = probe_of(server, "-n", "a/b", *BODY, "send", "POST", "configmaps").end()
    seen = server.wait_for(1)
    assert (seen.method, seen.raw_path) == ("POST", "/api/v1/namespaces/a%2Fb/configmaps")
    assert seen.headers["Authorization"] == "Bearer first"
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["User-Agent"].startswith("kube_probe/")
    assert "Accept-Encoding" not in seen.headers  # the API server is near, and lists are long
    assert json.loads(seen.body) == {"metadata": {"name": "a"}}
    assert "http 201 kind none" in output


def test_429_is_repeated_even_for_a_post(server, probe_of):
    server.script(*[reject(429, headers={"Retry-After": "1"})] * 2, answer(201))
    output = probe_of(server, "-n", "n", *BODY, "send", "POST", "configmaps").end()
    assert "http 201 kind none" in output and number(output, "configmaps") == 3
    assert server.seen[1].at - server.seen[0].at >= 0.999  # the loop counts whole milliseconds


def test_patience_has_an_end(server, probe_of):
    server.always(reject(429, headers={"Retry-After": "1"}))
    output = probe_of(server, "-n", "n", "--timeout-ms", "2500", *BODY, "send", "POST", "configmaps").end()
    assert "http 429 kind busy" in output
    assert 2 <= len(server.seen) <= 3


@pytest.mark.parametrize(
    "words, sent",
    [
        ((*BODY, "send", "POST", "configmaps"), 1),
        ((*BODY, "--retry-post", "send", "POST", "configmaps"), 3),
        (("send", "GET", "configmaps", "a"), 3),
        (("send", "DELETE", "configmaps", "a"), 3),
        ((*BODY, "send", "PUT", "configmaps", "a"), 3),
        ((*MERGE_PATCH, "send", "PATCH", "configmaps", "a"), 3),
        ((*JSON_PATCH, "send", "PATCH", "configmaps", "a"), 1),
    ],
)
def test_only_what_may_be_done_twice_is_repeated_over_a_broken_connection(server, probe_of, words, sent):
    server.always(cut)
    output = probe_of(server, "-n", "n", *words).end()
    assert "http 0 kind input/output" in output
    assert len(server.seen) == sent


def test_a_write_that_was_done_but_not_answered_is_found_by_its_name(server, probe_of):
    server.script(cut, reject(409, "AlreadyExists", message="there is one"))
    output = probe_of(server, "-n", "n", *BODY, "--retry-post", "send", "POST", "configmaps").end()
    assert "http 409 kind exists" in output and len(server.seen) == 2


def test_an_event_whose_creation_was_not_answered_is_not_counted_twice(server, probe_of):
    server.script(cut, reject(409, "AlreadyExists", message="there is one"))
    output = probe_of(server, "-n", "n", "event", "job", "Waiting", "no IPUs").end()
    assert "dropped 0" in output and [seen.method for seen in server.seen] == ["POST", "POST"]


def test_an_answer_that_does_not_come_is_an_unknown_outcome(server, probe_of):
    probe = probe_of(server, "-n", "n", "--timeout-ms", "1200", *BODY, "send", "POST", "configmaps")
    assert "http 0 kind timeout" in probe.end()
    assert len(server.seen) == 1


def test_a_rejected_token_is_read_again_once(server, probe_of, tmp_path):
    token = tmp_path / "token"
    token.write_text("old")

    def reject_old(exchange):
        token.write_text("new")
        exchange.status(401, "Unauthorized", "who are you")

    kubeconfig = kubeconfig_for(server, tmp_path, f'tokenFile: "{token}"')
    server.script(reject_old, answer(200))
    assert "http 200" in probe_of(kubeconfig, "-n", "n", "send", "GET", "configmaps", "a").end()
    assert server.seen[1].headers["Authorization"] == "Bearer new"
    server.always(reject_old)
    output = probe_of(kubeconfig, "-n", "n", "send", "GET", "configmaps", "a").end()
    assert "http 401 kind denied denial credentials" in output and len(server.seen) == 4


def test_a_warning_is_logged_once(server, probe_of):
    deprecated, other = '299 - "x is deprecated"', '299 - "y is unknown"'
    server.script(answer(201, Warning=deprecated), answer(201, Warning=other))
    server.always(answer(201, Warning=deprecated))
    output = probe_of(server, "-n", "n", "--count", "20", "create", "configmaps", "c").end()
    assert "created 20 failed 0" in output
    assert [output.count(text) for text in ("x is deprecated", "y is unknown")] == [1, 1]


def test_a_connection_that_ended_while_idle_costs_nothing(server, probe_of):
    def leave(exchange):
        exchange.reply(201, CREATED)
        exchange.leave()

    server.always(leave)
    output = probe_of(server, "-n", "n", "--count", "100", "create", "configmaps", "c").end()
    assert "created 100 failed 0" in output
    assert len({json.loads(exchange.body)["metadata"]["name"] for exchange in server.seen}) == 100


def test_without_the_lease_nothing_is_written(server, probe_of):
    server.always(answer(200))
    output = probe_of(server, "-n", "n", "--no-lease", *BODY, "send", "POST", "configmaps").end()
    assert "http 0 kind denied denial lease" in output and "is not the leader" in output
    assert server.seen == []
    assert "http 200" in probe_of(server, "-n", "n", "--no-lease", "send", "GET", "configmaps", "a").end()


def test_answers_that_are_not_json_are_reported_by_their_status(server, probe_of):
    server.script(*[lambda e: e.reply(502, b"<html>bad gateway</html>", content_type="text/html")] * 3)
    output = probe_of(server, "-n", "n", "send", "GET", "configmaps", "a").end()
    assert "http 502 kind input/output" in output and "status 502" in output


def test_a_garbled_success_is_an_unknown_outcome(server, probe_of):
    server.script(answer(201, b'{"kind":"Conf'))
    output = probe_of(server, "-n", "n", *BODY, "send", "POST", "configmaps").end()
    assert "http 201 kind input/output" in output


def test_an_endless_answer_is_rejected(server, probe_of):
    def flood(exchange):
        exchange.stream()
        while True:
            exchange.raw(b"x" * 65536)

    server.always(flood)
    output = probe_of(server, "-n", "n", "send", "GET", "configmaps", "a").end()
    assert "kind invalid" in output and len(server.seen) == 1


def test_every_cause_reaches_the_user(server, probe_of):
    causes = [{"field": f"spec.f{i}", "message": f"cause {i} is bad"} for i in range(20)]
    server.script(reject(422, "Invalid", message="is invalid", causes=causes))
    output = probe_of(server, "-n", "n", *BODY, "send", "POST", "configmaps").end()
    assert "spec.f0: cause 0 is bad" in output and "spec.f19: cause 19 is bad" in output


def test_more_than_a_window_waits_its_turn(server, probe_of):
    server.always(answer(201))
    output = probe_of(server, "-n", "n", "--count", "500", "create", "configmaps", "c").end(seconds=60)
    assert "created 500 failed 0" in output
    names = {json.loads(exchange.body)["metadata"]["name"] for exchange in server.seen}
    assert len(names) == 500 == len(server.seen)


def test_an_event_is_written_once_however_often_it_happens(server, probe_of):
    server.always(answer(201))
    output = probe_of(server, "-n", "n", "--count", "100", "event", "job", "Waiting", "no IPUs").end()
    assert "dropped 0" in output and len(server.seen) == 1
    body = json.loads(server.seen[0].body)
    assert server.seen[0].path == "/apis/events.k8s.io/v1/namespaces/n/events"
    assert body["note"] == "no IPUs" and body["regarding"]["name"] == "job"


def test_an_event_from_before_a_restart_becomes_a_series(server, probe_of):
    server.script(reject(409, "AlreadyExists"), answer(200))
    output = probe_of(server, "-n", "n", "event", "job", "Waiting", "no IPUs").end()
    assert "dropped 0" in output
    post, patch = server.seen
    assert patch.method == "PATCH" and patch.path.endswith("/" + json.loads(post.body)["metadata"]["name"])
    assert json.loads(patch.body)["series"]["count"] == 2
