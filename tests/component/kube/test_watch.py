"""The list-watch against a server that misbehaves."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from probe import number
from scripted import ScriptedServer, bookmark, config_map, kubeconfig_for, page

SELECTOR = ("--selector", "a=b")


@pytest.fixture
def watching(server, probe_of):
    """Watches ConfigMaps of a server that follows these steps."""
    def start(*steps):
        server.script(*steps)
        return probe_of(server, "watch", "configmaps")

    return start


def listed(*objects, version=10):
    """A streamed list that stays open as a watch."""

    def step(exchange):
        exchange.stream()
        for obj in objects:
            exchange.event("ADDED", obj)
        exchange.event("BOOKMARK", bookmark(version, end=True))
        exchange.hold()

    return step


def then(*events, end=None):
    """The same, followed by events and an end: a method of Exchange by name, or silence."""

    def step(exchange):
        exchange.stream().event("ADDED", config_map("a", 7)).event("BOOKMARK", bookmark(10, end=True))
        for kind, obj in events:
            exchange.event(kind, obj)
        getattr(exchange, end or "hold")()

    return step


def rejected(code, reason="", headers=(), message=""):
    return lambda exchange: exchange.status(code, reason, message, headers)


def is_list(exchange):
    return "watch" not in exchange.query or "sendInitialEvents" in exchange.query


def test_a_streamed_list_goes_over_into_a_watch(server, probe_of):
    server.script(then(("MODIFIED", config_map("a", 11, "y")), ("DELETED", config_map("a", 12, "last"))))
    probe = probe_of(server, *SELECTOR, "watch", "configmaps")
    probe.wait("change n/a uid-a - > x")
    probe.wait("synced 1")
    probe.wait("change n/a uid-a x > y")
    probe.wait("change n/a uid-a last > -$")
    query = server.wait_for(1).query
    assert query["sendInitialEvents"] == "true" and query["resourceVersionMatch"] == "NotOlderThan"
    assert query["labelSelector"] == "a=b" and query["allowWatchBookmarks"] == "true"
    assert 300 <= int(query["timeoutSeconds"]) <= 600
    output = probe.stop()
    assert number(output, "streams") == 1 and "sent WATCH configmaps 1" in output


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_are_cut_anywhere(watching, size):
    text = "".join(
        json.dumps({"type": kind, "object": obj}, ensure_ascii=False) + end
        for kind, obj, end in [
            ("ADDED", config_map("a", 7, "ä€𝄞"), "\r\n\n"),
            ("BOOKMARK", bookmark(10, end=True), "\n"),
            ("ADDED", config_map("b", 11, '}"]\\'), "\n"),
        ]
    ).encode()

    def step(exchange):
        exchange.stream()
        for at in range(0, len(text), size):
            exchange.raw(text[at : at + size])
        exchange.hold()

    probe = watching(step)
    probe.wait("change n/a uid-a - > ä€𝄞")
    probe.wait("synced 1")
    probe.wait(re.escape('change n/b uid-b - > }"]\\'))
    assert number(probe.stop(), "skipped") == 0


def test_an_expired_position_is_listed_again_and_the_vanished_are_named(server, watching):
    probe = watching(
        then(("ADDED", config_map("b", 11)), ("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})),
        listed(config_map("b", 11), config_map("c", 30), version=40),
    )
    probe.wait("synced")
    probe.wait("change n/c uid-c - > x")
    probe.wait("change n/a uid-a x > - unseen")
    assert "resourceVersion" not in server.wait_for(2).query
    output = probe.stop()
    assert output.count("change n/b") == 1  # the same version is no change
    assert number(output, "expired") == 1 and number(output, "lists") == 2 and output.count("synced") == 1


def test_a_recreated_object_is_two_changes(watching):
    probe = watching(then(("ADDED", config_map("a", 11, "new", uid="other"))))
    probe.wait("change n/a uid-a x > - unseen")
    probe.wait("change n/a other - > new")


@pytest.mark.parametrize("end", ["end", "cut"])
def test_the_end_of_a_stream_costs_no_list(server, watching, end):
    probe = watching(
        then(("BOOKMARK", bookmark(33)), end=end),
        lambda exchange: exchange.stream().event("ADDED", config_map("z", 34)).hold(),
    )
    probe.wait("change n/z")
    again = server.wait_for(2)
    assert again.query["resourceVersion"] == "33" and not is_list(again)
    assert number(probe.stop(), "lists") == 1


def test_half_a_line_at_the_end_is_not_an_event(server, watching):
    def step(exchange):
        exchange.stream().event("BOOKMARK", bookmark(10, end=True)).event("ADDED", config_map("a", 11))
        exchange.raw(b'{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"half","resourceVers').cut()

    probe = watching(step)
    probe.wait("change n/a")
    assert server.wait_for(2).query["resourceVersion"] == "11"
    assert "half" not in probe.stop()


def test_a_silent_peer_is_left(server, probe_of):
    server.script(then())
    probe = probe_of(server, "--silence-ms", "1000", "watch", "configmaps")
    probe.wait("synced")
    again = server.wait_for(2)
    assert again.at - server.seen[0].at >= 0.999  # the loop counts whole milliseconds
    assert again.query["resourceVersion"] == "10" and not is_list(again)
    assert number(probe.stop(), "silent") >= 1


def test_an_answer_without_an_event_ends_the_trouble_of_a_connection(server, watching):
    probe = watching(then(end="cut"), rejected(503), lambda exchange: exchange.stream().hold())
    probe.wait("^trouble")
    third = server.wait_for(3)
    probe.wait("^well")
    assert third.query["resourceVersion"] == "10" and number(probe.stop(), "lists") == 1


def test_an_answer_does_not_end_the_trouble_of_a_silence(server, probe_of):
    """What stands in between may answer, and hand nothing on."""
    server.script(then(("BOOKMARK", bookmark(11))), lambda exchange: exchange.stream().hold(),
                  lambda exchange: exchange.stream().event("BOOKMARK", bookmark(12)).hold())
    probe = probe_of(server, "--silence-ms", "6000", "watch", "configmaps")
    probe.wait("^trouble")
    server.wait_for(3)
    probe.wait("^well")
    assert re.findall("^(?:trouble|well)$", probe.stop(), re.M) == ["trouble", "well"]


def test_a_busy_server_is_given_the_time_it_asks_for(server, watching):
    probe = watching(then(end="cut"), rejected(429, "TooManyRequests", {"Retry-After": "2"}), listed())
    probe.wait("^trouble")
    third = server.wait_for(3)
    assert third.at - server.seen[1].at >= 1.999  # as above
    assert third.query["resourceVersion"] == "10" and not is_list(third)
    probe.wait("^well")
    assert number(probe.stop(), "lists") == 1


def test_many_rejections_lose_nothing_and_list_nothing(server, watching):
    probe = watching(then(end="cut"), *[rejected(503)] * 4, *[rejected(500)] * 2, listed(config_map("b", 11)))
    probe.wait("change n/b")
    assert not any(is_list(exchange) for exchange in server.seen[1:])
    gaps = [b.at - a.at for a, b in zip(server.seen[1:], server.seen[2:])]
    assert gaps[-1] > gaps[0]  # it grows patient
    assert "change n/a uid-a x > -" not in probe.stop()


def test_watches_resume_from_their_position_after_error_events_other_than_410(server, watching):
    probe = watching(
        then(("ERROR", {"kind": "Status", "code": 500, "message": "etcd is tired"})),
        lambda exchange: exchange.stream().event("ADDED", config_map("b", 11)).hold(),
    )
    probe.wait("etcd is tired")
    probe.wait("change n/b")
    assert server.wait_for(2).query["resourceVersion"] == "10" and not is_list(server.seen[1])


def test_unexpected_lines_are_skipped(watching):
    def step(exchange):
        exchange.stream().event("BOOKMARK", bookmark(10, end=True))
        exchange.event("ADDED", {"kind": "Node", "metadata": {"name": "x", "resourceVersion": "99"}})
        exchange.event("RENAMED", config_map("x", 99)).raw(b"<html>\n").raw(b'"\\u0000"\n')
        exchange.event("ADDED", config_map("a", 11)).hold()

    probe = watching(step)
    probe.wait("change n/a")
    output = probe.stop()
    assert number(output, "skipped") == 4 and output.count("change") == 1


def test_large_objects_pass_and_endless_ones_do_not(server, watching):
    def step(exchange):
        exchange.stream().event("BOOKMARK", bookmark(10, end=True))
        exchange.event("ADDED", config_map("large", 11, "x" * 3_000_000))
        try:
            while True:
                exchange.raw(b"x" * 65536)
        except OSError:
            pass

    probe = watching(step)
    probe.wait("change n/large")
    probe.wait("^trouble")
    assert server.wait_for(2).query["resourceVersion"] == "11"
    assert number(probe.stop(), "rss_kb") < 60_000


def test_a_web_page_instead_of_an_api_completes_nothing(server, probe_of):
    server.always(lambda exchange: exchange.reply(200, b"<html>log in</html>\n", content_type="text/html"))
    probe = probe_of(server, "watch", "configmaps")
    probe.wait("^trouble")
    server.wait_for(6)
    output = probe.stop()
    assert "synced" not in output and number(output, "lists") == 0


def test_a_server_without_streaming_lists_is_asked_for_pages(server, watching):
    probe = watching(
        rejected(422, "Invalid", message="sendInitialEvents is forbidden"),
        lambda exchange: exchange.reply(200, page(20, [config_map("a", 1), config_map("b", 2)], "t1")),
        lambda exchange: exchange.reply(200, page(20, [config_map("c", 3)])),
        lambda exchange: exchange.stream().event("DELETED", config_map("b", 21, "end")).hold(),
    )
    probe.wait("synced 3")
    probe.wait("change n/b uid-b end > -")
    first, second, watch = (server.wait_for(n).query for n in (2, 3, 4))
    assert first == {"limit": "500"}, "the most recent one"
    assert second == {"limit": "500", "continue": "t1"}
    assert watch["resourceVersion"] == "20" and "sendInitialEvents" not in watch
    output = probe.stop()
    assert number(output, "pages") == 2 and "watch failed" not in output


def test_pages_that_expire_are_read_in_one_piece(server, watching):
    probe = watching(
        rejected(400),
        lambda exchange: exchange.reply(200, page(20, [config_map("gone", 1)], "t1")),
        rejected(410, "Expired"),
        lambda exchange: exchange.reply(200, page(30, [config_map("a", 1)])),
    )
    probe.wait("change n/gone uid-gone x > - unseen")
    probe.wait("synced 1")
    assert server.wait_for(4).query == {}
    assert server.wait_for(5).query["resourceVersion"] == "30"


def test_a_page_that_breaks_off_is_asked_again(watching):
    whole = json.dumps(page(20, [config_map("a", 1), config_map("b", 2)])).encode()
    probe = watching(
        rejected(400),
        lambda exchange: exchange.stream().raw(whole[:200]).cut(),
        lambda exchange: exchange.reply(200, whole),
    )
    probe.wait("synced 2")
    assert number(probe.stop(), "pages") == 2


def test_a_list_without_a_version_is_asked_for_again(server, watching):
    nowhere = {**page(20, [config_map("a", 1)]), "metadata": {}}
    probe = watching(
        rejected(400),
        lambda exchange: exchange.reply(200, nowhere),
        lambda exchange: exchange.reply(200, page(30, [config_map("a", 1), config_map("b", 2)])),
        lambda exchange: exchange.stream().hold(),
    )
    probe.wait("^trouble")
    probe.wait("synced 2")
    assert server.wait_for(4).query["resourceVersion"] == "30"


def test_a_streamed_list_without_end_falls_back_to_pages(server, watching):
    probe = watching(
        lambda exchange: exchange.stream().event("ADDED", config_map("a", 1)).hold(),
        lambda exchange: exchange.reply(200, page(20, [config_map("a", 1)])),
    )
    probe.wait("no data from the API server")
    probe.wait("synced 1")
    assert server.wait_for(2).at - server.seen[0].at >= 9


def test_a_rejected_token_is_read_again(server, probe_of, tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")

    def reject(exchange):
        token.write_text("new\n")
        exchange.status(401, "Unauthorized")

    server.script(reject, listed(config_map("a", 1)))
    probe = probe_of(kubeconfig_for(server, tmp_path, f'tokenFile: "{token}"'), "watch", "configmaps")
    probe.wait("synced 1")
    assert [exchange.headers["Authorization"] for exchange in server.seen] == ["Bearer old", "Bearer new"]


def certificate(folder, name):
    """A key and its own certificate, for 127.0.0.1."""
    path = folder / name
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def test_a_new_ca_needs_no_restart(probe_of, tmp_path):
    old, new = certificate(tmp_path, "old"), certificate(tmp_path, "new")
    ca = tmp_path / "ca.crt"
    ca.write_text(Path(f"{old}.crt").read_text())

    def reject(exchange):
        ca.write_text(Path(f"{new}.crt").read_text())
        exchange.status(401, "Unauthorized")

    first = ScriptedServer(certificate=old)
    first.script(then(end="cut"), reject)
    probe = probe_of(kubeconfig_for(first, tmp_path, ca=ca), "watch", "configmaps")
    probe.wait("synced 1")
    first.wait_for(2)
    probe.wait("^trouble")  # the old certificate is no longer believed
    first.close()
    second = ScriptedServer(first.port, certificate=new)
    second.always(lambda exchange: exchange.stream().event("ADDED", config_map("b", 11)).hold())
    probe.wait("change n/b")
    assert second.wait_for(1).query["resourceVersion"] == "10"
    probe.stop()
    second.close()


@pytest.mark.parametrize("code, reason", [(403, "Forbidden"), (404, "NotFound")])
def test_what_may_be_repaired_later_is_asked_again_slowly(server, watching, code, reason):
    probe = watching(rejected(code, reason), rejected(code, reason), listed(config_map("a", 1)))
    probe.wait("^trouble")
    probe.wait("synced 1")
    probe.wait("^well")
    assert server.seen[2].at - server.seen[0].at >= 1
    assert len(server.seen) == 3


def test_a_server_that_comes_late_is_found(probe_of, tmp_path):
    reserved = ScriptedServer()
    port = reserved.port
    reserved.close()
    probe = probe_of(kubeconfig_for(port, tmp_path), "watch", "configmaps")
    probe.wait("^trouble")
    late = ScriptedServer(port)
    late.always(listed())
    probe.wait("synced 0")
    probe.stop()
    late.close()


def test_a_long_list_never_exists_as_a_whole_and_never_holds_the_loop(server, probe_of):
    padding = {f"key-{i}": "x" * 100 for i in range(32)}
    items = [dict(config_map(f"pod-{i}", i, str(i)), annotations=padding) for i in range(10_000)]
    whole = json.dumps(page(20_000, items)).encode()
    assert len(whole) > 30_000_000
    server.script(rejected(400), lambda exchange: exchange.reply(200, whole))
    probe = probe_of(server, "--quiet", "watch", "configmaps")
    probe.wait("synced 10000")
    output = probe.stop()
    assert number(output, "rss_kb") < 30_000
    assert number(output, "turn_ms") < 1000  # the lease waits so long at most; some milliseconds on a quiet machine
