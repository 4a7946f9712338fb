"""The operator's own live page: who sees what of it, and for how long."""

import re
import socket

import pytest
import websocket_client as client
from operator_program import run
from test_metrics import account
from waiting import until
from world import OPERATOR_NS

COOKIE = "__Host-ipu-live"
POLICY = 1008
PAGES_EACH = 16  # PAGE_VIEWERS_MAX of operator/serve/live/page_server.h
CONNECTIONS = 256  # CONNECTIONS_MAX of operator/serve/live/live_page.c
REVIEWED_AGAIN_S = 90  # GRANTS_ALLOWED_MS of operator/serve/live/grants.h, and some time


class Page:
    """A browser's side of an operator's page."""

    def __init__(self, operator):
        operator.until_logged(r"live_page_port=\d+")
        self.port = int(re.search(r"live_page_port=(\d+)", operator.log_of_this_start())[1])
        self.origin = {"Origin": f"https://127.0.0.1:{self.port}"}

    def ask(self, method, path, headers=(), body=b""):
        return client.request(self.port, method, path, headers, body, tls=True)

    def login(self, token, **headers):
        return self.ask("POST", "/login", {**self.origin, **headers}, token.encode())

    def open(self, token, **headers):
        return client.WebSocket(self.port, f"{COOKIE}={token}", tls=True, **headers)

    def seen(self, token):
        """What a page has when it is complete."""
        with self.open(token) as viewer:
            return viewer.until(is_synced)


def is_synced(message):
    return message["type"] == "synced"


def is_put(key):
    return lambda message: message["type"] == "put" and message["key"] == key


def keys(messages, kind="job"):
    return {message["key"] for message in messages if message["type"] == "put" and message["kind"] == kind}


def forbidden(messages):
    return {message["kind"] for message in messages if message.get("forbidden")}


def bind(world, name, rules, ns=None):
    """Binds the account of the world's namespace; without a namespace, in all."""
    roles, bindings, kind = ("roles", "rolebindings", "Role") if ns else ("clusterroles", "clusterrolebindings", "ClusterRole")
    full = f"{world.ns}-{name}"
    world.api.create(roles, ns, {"metadata": {"name": full}, "rules": [
        {"apiGroups": ["graphcore.ai" if resource != "pods" else ""], "resources": [resource], "verbs": ["list"]} for resource in rules]})
    world.api.create(bindings, ns, {
        "metadata": {"name": full}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": full},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": world.ns}]})
    if not ns:
        world.keep(None, lambda: world.api.delete(roles, None, full))
        world.keep(None, lambda: world.api.delete(bindings, None, full))
    return lambda: world.api.delete(bindings, ns, full)


@pytest.fixture
def page(world, vipu):
    return Page(world.start_operator(vipu.address, "--live-page", "localhost,127.0.0.1", "--live-page-port", "0", "--log-level", "debug",
                                     "--vipu-controllers-visibility", "sizes"))


def test_a_tenant_sees_one_namespace_and_no_name_of_another(world, page):
    other = world.make_namespace(f"{world.ns}-hidden")
    world.job("own").run_pods(1)
    world.job("secret", other).run_pods(1)
    tenant = account(world, "tenant")
    unbind = bind(world, "tenant", ["ipujobs", "pods"], world.ns)
    until(lambda: f"{world.ns}/own" in keys(page.seen(tenant)), "the binding is in force", tell=world.tell)
    with page.open(tenant) as viewer:
        seen = viewer.until(is_synced)
        assert seen[0]["type"] == "hello" and seen[0]["user"] == f"system:serviceaccount:{world.ns}:tenant" and seen[0]["filtered"]
        assert keys(seen) == {f"{world.ns}/own"} and keys(seen, "pod") == {f"{world.ns}/own-worker-0"}
        world.job("secret-2", other)
        world.job("own-2")
        seen += viewer.until(is_put(f"{world.ns}/own-2"))
        viewer.send({"type": "logs", "job": f"{other}/secret"})
        seen += viewer.until(lambda message: message.get("forbidden"))
        assert not [message for message in seen if "secret" in str(message) or other in str(message)]
        unbind()
        viewer.connection.settimeout(REVIEWED_AGAIN_S)
        assert viewer.close_code() == POLICY
    assert keys(page.seen(tenant)) == set()
    assert tenant not in world.operator.log()


def test_an_admin_sees_all_and_new_namespaces_at_once(world, page):
    admin, nobody = account(world, "admin"), account(world, "nobody")
    bind(world, "admin", ["ipujobs", "pods", "vipucontrollers"])
    world.job("first")

    def sees_all():
        seen = page.seen(admin)
        return f"{world.ns}/first" in keys(seen) and keys(seen, "controller")
    until(sees_all, "the binding is in force, and the operator has reported its controller", tell=world.tell)
    with page.open(admin) as viewer:
        assert forbidden(viewer.until(is_synced)) == set()
        later = world.make_namespace(f"{world.ns}-later")
        world.job("late", later)
        viewer.until(is_put(f"{later}/late"))
    assert forbidden(page.seen(nobody)) >= {"job"} and keys(page.seen(nobody)) == set()


def test_a_tenant_sees_the_first_job_of_a_new_namespace(world, page):
    tenant = account(world, "tenant")
    later = world.make_namespace(f"{world.ns}-later")
    bind(world, "tenant", ["ipujobs"], later)
    with page.open(tenant) as viewer:
        viewer.until(is_synced)
        world.job("late", later)
        viewer.until(is_put(f"{later}/late"))


def test_a_token_is_needed(world, page):
    stranger = account(world, "stranger")
    assert page.ask("GET", "/live", page.origin).status == 401
    home = page.ask("GET", "/")
    assert (home.status, home.headers["location"]) == (303, "/login")
    assert page.ask("GET", "/", {"Cookie": f"{COOKIE}=no.such.token"}).status == 303
    assert page.ask("GET", "/login").status == page.ask("GET", "/app.js").status == 200
    with page.open("no.such.token") as viewer:
        assert viewer.status == 401
    answer = page.login("no.such.token")
    assert answer.status == 401 and answer.body == b"the API server does not know this token, or it has expired\n"
    assert page.login("no token").status == page.login("no;token").status == 400
    assert page.login("a" * 5000).status == 413
    answer = page.login(stranger)
    assert answer.status == 204 and answer.headers["set-cookie"] == f"{COOKIE}={stranger}; Path=/; HttpOnly; SameSite=Strict; Secure"
    answer = page.ask("GET", "/", {"Cookie": f"{COOKIE}={stranger}"})
    assert answer.status == 200 and "'unsafe" not in answer.headers["content-security-policy"] and "default-src 'none'" in answer.headers["content-security-policy"]
    assert page.login("").headers["set-cookie"] == f"{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0"
    assert stranger not in world.operator.log() and "no.such.token" not in world.operator.log()


def test_other_sites_get_nothing(world, page):
    token = account(world, "somebody")
    with page.open(token) as viewer:
        assert viewer.status == 101
    for headers in ({"Origin": "https://evil.example.com"}, {"Origin": f"http://127.0.0.1:{page.port}"}, {"Origin": None}, {"Host": f"evil.example.com:{page.port}"},
                    {"Origin": "null"}):
        with page.open(token, **headers) as viewer:
            assert viewer.status == 403, headers
        assert page.login(token, **headers).status == 403, headers
    assert page.ask("POST", "/live", page.origin).status == 405
    assert page.ask("GET", f"/login?token={token}").headers.get("set-cookie") is None
    with socket.create_connection(("127.0.0.1", page.port), client.DEADLINE_S) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            assert not plain.recv(1), "in the clear, there is nothing"
        except ConnectionResetError:
            pass


def test_neither_pages_nor_connections_use_up_the_operator(world, page):
    token, other = account(world, "many"), account(world, "other")
    viewers = [page.open(token) for _ in range(PAGES_EACH)]
    assert {viewer.status for viewer in viewers} == {101}
    with page.open(token) as viewer:
        assert viewer.status == 503
    idle = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(CONNECTIONS + 50)]
    assert page.login(other).status == 204
    with page.open(other) as viewer:
        viewer.until(is_synced)
    assert world.operator.health("/healthz") == 200
    for connection in idle:
        connection.close()
    for viewer in viewers:
        viewer.until(is_synced)
        viewer.__exit__()


def test_a_standby_serves_the_page_too_and_pages_survive_the_leader(world, page):
    """Each replica has watches of its own; the cookie is the token, which all of them can have reviewed."""
    tenant = account(world, "tenant")
    bind(world, "tenant", ["ipujobs"], world.ns)
    world.job("own")
    leader = world.operator
    standby = world.make_operator([], "--live-page", "localhost,127.0.0.1", "--live-page-port", "0").start()
    other = Page(standby)
    until(lambda: f"{world.ns}/own" in keys(other.seen(tenant)), "the standby shows it", tell=world.tell)
    with other.open(tenant) as viewer:
        viewer.until(is_synced)
        leader.end()
        world.job("later")
        viewer.until(is_put(f"{world.ns}/later"))


def test_what_the_page_needs_is_said_at_the_start():
    for words, why in ((("--live-page", "a", "--watch-namespace", "b"), "--live-page: checks tokens, which needs permissions in the cluster"),
                       (("--live-page", ""), "--live-page: must name at least one host")):
        done = run("--namespace", OPERATOR_NS, *words)
        assert done.returncode == 2 and why in done.stderr
