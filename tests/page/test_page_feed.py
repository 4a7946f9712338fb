"""The connection of the page: what it does when it breaks, and what it says of rights that are missing."""

import json

from played import HEADERS, controller, job, site
from waiting import until


def without(errors, word):
    """Chromium itself reports each connection that fails."""
    errors[:] = [error for error in errors if word not in error]


def test_a_broken_connection_comes_back_and_what_is_gone_is_removed(server, viewer):
    site(server)
    one = viewer().open("#/jobs").sees("cv/resnet-3")
    del server.objects["job", "cv/resnet-3"]
    server.drop()
    one.sees("Live").sees_no("cv/resnet-3").sees("ml/digits")
    without(one.errors, "WebSocket")


def test_a_server_that_ends_and_starts_again_is_found(server, viewer):
    site(server)
    one = viewer().open("#/job/ml/digits")
    server.send(type="log", job="ml/digits", rank="0.0", attempt=0, lines=["before"])
    one.sees("before")
    server.stop()
    one.sees("Connection lost; next try in", "Retry now", "ml/digits", "OOMKilled")
    server.received.clear()
    server.start()
    one.page.evaluate("dispatchEvent(new Event('online'))")
    one.sees("Live").sees_no("before")
    until(lambda: server.received == [{"type": "logs", "job": "ml/digits"}], "the log is asked for again")
    without(one.errors, "WebSocket")


def test_the_reason_of_the_server_is_shown(server, viewer):
    one = viewer().open()
    one.page.evaluate("""() => { window.seen = []; new MutationObserver(() => seen.push(document.body.innerText)).observe(document.body, {subtree: true, childList: true, characterData: true}); }""")
    server.drop("your token has expired")
    until(lambda: "your token has expired; next try in" in json.dumps(one.page.evaluate("seen")), "the reason is shown")
    one.sees("Live")


def test_a_page_without_a_server_says_what_to_check(server, viewer):
    one = viewer()
    one.page.route_web_socket("**/live", lambda socket: socket.close())
    one.page.goto(server.url)
    one.sees("No connection: check that kubectl ipu ui is running, and open the address that it prints; next try in")
    without(one.errors, "WebSocket")


def test_the_state_of_the_api_server_and_missing_rights_are_shown(server, viewer):
    server.states = [{"type": "state", "kind": kind, "forbidden": True, "message": f"{kind}s is forbidden"} for kind in ("controller", "pod", "event")]
    server.put("job", job("ml/a"))
    one = viewer().open().sees("You may not list V-IPU controllers: controllers is forbidden").sees_no("There is no V-IPU controller")
    one.page.goto(server.url + "#/job/ml/a")
    one.sees("You may not list pods: pods is forbidden", "You may not list events: events is forbidden")
    server.send(type="state", connected=False, message="cannot reach the API server: timeout")
    one.sees("cannot reach the API server: timeout")
    server.send(type="state", connected=True)
    one.sees("Live")


def test_an_empty_cluster_says_so(server, viewer):
    viewer().open().sees("There is no V-IPU controller.", "No job waits for IPUs.", "0 jobs waiting", "namespace all, user ada")


def test_messages_of_later_versions_are_ignored(server, viewer):
    one = viewer().open()
    for message in ({"type": "future", "x": [1]}, {"type": "put", "kind": "secret", "key": "a/b", "object": {"metadata": {"name": "hidden-secret"}}}, {"type": "__proto__"}):
        server.send(**message)
    server.put("controller", controller("after"))
    one.sees("after").sees_no("hidden-secret")


def test_the_page_works_under_the_policy_that_forbids_everything_inline(server, viewer):
    """Viewer fails for every violation, and for a request to anywhere else; this shows that it would see one."""
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    one = viewer().open()
    one.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")
    until(lambda: one.page.evaluate("violations"), "the violation is noted")
    one.page.evaluate("violations.length = 0")
    assert one.errors
    one.errors.clear()
