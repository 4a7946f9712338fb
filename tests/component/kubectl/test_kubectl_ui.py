"""kubectl ipu ui: what the page gets from an API server, and what an attacker on this machine or in a browser does not get."""

import concurrent.futures
import gzip
import itertools
import json
import os
import queue
import re
import signal
import socket
import subprocess
import time

import pytest
import websocket_client as client
from websocket_client import WebSocket

from process_memory import peak_kib
from waiting import until

DEADLINE_S = 60
UPDATE_S = 0.25
ANSWER_S = 5  # under load
versions = itertools.count(1)
PLURALS = ("ipujobs", "vipucontrollers", "pods", "events")


def item(kind, name, ns="ml", **fields):
    metadata = {"name": name, "uid": f"{kind}-{name}", "resourceVersion": str(next(versions)), "managedFields": [{"manager": "x"}], **({"namespace": ns} if ns else {})}
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata, **fields}


def job(name="digits", status="Running", **fields):
    return item("IPUJob", name, spec={"workers": {"replicas": 2, "template": {"spec": {"containers": [{"env": "SECRET"}]}}}},
                status={"launcherStatus": status, **fields})


def pod(number, **fields):
    made = item("Pod", f"digits-worker-{number}", spec={"nodeName": "n1", "containers": [{"name": "main"}]},
                status={"containerStatuses": [{"name": "main", "state": {"running": {}}}]}, **fields)
    made["metadata"] |= {"labels": {"graphcore.ai/instance": "0", "graphcore.ai/worker": str(number), "graphcore.ai/role": "worker"},
                         "annotations": {"graphcore.ai/run": "2", "secret": "SECRET"}}
    return made


class Api:
    """An API server of a few objects. `rejects` are statuses by plural, and for "*" of every request."""

    def __init__(self, server):
        self.items = {plural: [] for plural in PLURALS}
        self.watches, self.rejects, self.logs = {plural: [] for plural in PLURALS}, {}, {}
        self.asked = []
        server.always(self.answer)

    def answer(self, exchange):
        parts = exchange.path.split("/")
        plural = parts[-1]
        self.asked.append((exchange.path, exchange.query))
        reject = self.rejects.get("*") or self.rejects.get(plural if parts[-2] != "v1alpha1" or plural == "vipucontrollers" else f"all {plural}")
        if reject:
            exchange.status(reject, "Forbidden", f"{plural} \x1b[31mare not for you")
        elif plural == "log":
            self.logs[parts[-2]](exchange)
        elif "watch" in exchange.query:
            self.watch(exchange, plural)
        else:
            exchange.reply(200, {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": self.items[plural]})

    def watch(self, exchange, plural):
        stream, changes = exchange.stream(), queue.Queue()
        self.watches[plural].append(changes)
        kind = {"ipujobs": "IPUJob", "vipucontrollers": "VIPUController", "pods": "Pod", "events": "Event"}[plural]
        if "sendInitialEvents" in exchange.query:
            for each in self.items[plural]:
                stream.event("ADDED", each)
            stream.event("BOOKMARK", {"kind": kind, "metadata": {"resourceVersion": str(next(versions)),
                                                                 "annotations": {"k8s.io/initial-events-end": "true"}}})
        while change := changes.get(timeout=DEADLINE_S):
            if change == "cut":
                exchange.cut()
                return
            stream.event(*change)

    def change(self, plural, event, changed):
        for changes in self.watches[plural]:
            changes.put((event, changed))

    def cut(self):
        for changes in itertools.chain(*self.watches.values()):
            changes.put("cut")
        self.watches = {plural: [] for plural in PLURALS}

    def close(self):
        for changes in itertools.chain(*self.watches.values()):
            changes.put(None)


@pytest.fixture
def api(server):
    made = Api(server)
    made.items["ipujobs"] = [job()]
    yield made
    made.close()


class Ui:
    def __init__(self, program, kubeconfig, *words):
        self.process = subprocess.Popen([program, "ui", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={"PATH": os.environ["PATH"], "KUBECONFIG": kubeconfig})
        self.url = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://(?:127\.0\.0\.1|\[::1\]):(\d+)/login#([0-9a-f]{64})", self.url)
        assert found, (self.url, self.process.stderr.read() if self.process.poll() is not None else "")
        self.port, self.token = int(found[1]), found[2]
        self.cookie = None

    def login(self, token=None, **headers):
        return client.request(self.port, "POST", "/login", {"Origin": f"http://127.0.0.1:{self.port}", **headers}, (token or self.token).encode())

    def open(self, **options):
        if not self.cookie:
            self.cookie = self.login().headers["set-cookie"].split(";")[0]
        return WebSocket(self.port, self.cookie, **options)

    def live(self):
        """A WebSocket after the first lists, and what came before."""
        socket_ = self.open()
        return socket_, socket_.until(lambda message: message["type"] == "synced")

    def end(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        return self.process.communicate(timeout=DEADLINE_S)

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def serve(api, server, program):
    """Starts the command before the scripted API server."""
    started = []

    def start(*words):
        started.append(Ui(program, server.kubeconfig, *words))
        return started[-1]

    yield start
    for ui in started:
        ui.close()


# What the page gets


def test_the_feed_is_what_the_person_may_see(api, serve):
    api.items["vipucontrollers"] = [item("VIPUController", "pod64", None, status={"ipus": {"total": 64}})]
    api.items["pods"] = [pod(0)]
    about = {"kind": "IPUJob", "name": "digits"}
    api.items["events"] = [item("Event", "e1", regarding=about, note="Running"), item("Event", "e2", regarding={"kind": "Pod", "name": "web-0"})]
    live, seen = serve("-n", "ml").live()
    assert seen[0]["type"] == "hello" and seen[0]["namespace"] == "ml" and seen[0]["version"]
    puts = {(message["kind"], message["key"]): message["object"] for message in seen if message["type"] == "put"}
    assert set(puts) == {("job", "ml/digits"), ("controller", "pod64"), ("pod", "ml/digits-worker-0"), ("event", "ml/e1")}
    assert "SECRET" not in json.dumps(seen) and "managedFields" not in json.dumps(seen)
    assert puts["job", "ml/digits"]["spec"]["workers"] == {"replicas": 2, "template": {}}
    assert puts["pod", "ml/digits-worker-0"]["spec"] == {"nodeName": "n1"}
    assert {query.get("labelSelector") for path, query in api.asked if path.endswith("/pods")} == {"graphcore.ai/job-name"}
    live.connection.close()


def test_the_page_learns_how_wrong_the_clock_is(server, api, serve):
    server.clock_ahead_s = 3600
    _, seen = serve("-A").live()
    assert abs(seen[0]["clockAheadSeconds"] + 3600) < 60


def test_changes_arrive_at_once_also_after_a_broken_watch(api, serve):
    live, _ = serve("-A").live()
    for event, want in (("MODIFIED", "put"), ("DELETED", "delete"), ("ADDED", "put")):
        began = time.monotonic()
        api.change("ipujobs", event, job())
        message = live.message()
        assert (message["type"], message["key"]) == (want, "ml/digits") and time.monotonic() - began < UPDATE_S
    api.cut()
    api.items["ipujobs"] = [job("second")]
    until(lambda: api.watches["ipujobs"], "a new watch")
    api.change("ipujobs", "ADDED", job("second"))
    assert live.until(lambda message: message["type"] == "put")[-1]["key"] == "ml/second"


def test_a_kind_that_may_not_be_listed_is_told_and_left_out(api, serve):
    api.rejects["vipucontrollers"] = 403
    live, seen = serve().live()
    [state] = [message for message in seen if message["type"] == "state"]
    assert state["kind"] == "controller" and state["forbidden"] and "\x1b" not in state["message"]
    assert any(message["type"] == "put" for message in seen)


def test_it_says_what_the_address_is_for(serve):
    assert serve().end()[1] == "kubectl ipu: open this address in your browser; Ctrl-C ends it\n"


def test_without_the_right_to_see_all_namespaces_one_is_shown(api, serve):
    api.rejects["all ipujobs"] = 403
    ui = serve()
    _, seen = ui.live()
    assert seen[0]["namespace"] == "default"
    assert "only namespace default is shown" in ui.end()[1]


def test_the_api_server_goes_and_comes_back(api, serve):
    live, _ = serve("-A").live()
    api.rejects["*"] = 503
    api.cut()
    assert live.until(lambda message: message["type"] == "state")[-1]["connected"] is False
    api.rejects.clear()
    assert live.until(lambda message: message["type"] == "state")[-1] == {"type": "state", "connected": True, "message": ""}


def test_logs_are_merged_and_made_visible(api, serve):
    api.items["pods"] = [pod(0), pod(1)]

    def prints(exchange):
        stream = exchange.stream()
        stream.raw(b"2026-11-26T17:20:01.000000000Z first \x1b[31mred\xff\x00\n2026-11-26T17:20:03.000000000Z <script>\n")
        exchange.hold()

    def prints_between(exchange):
        exchange.stream().raw(b"2026-11-26T17:20:02.000000000Z second\n")
        exchange.hold()

    api.logs = {"digits-worker-0": prints, "digits-worker-1": prints_between}
    live, _ = serve("-A").live()
    live.send({"type": "logs", "job": "ml/absent"})
    live.send({"type": "logs", "job": "ml/digits"})
    lines = []
    while len(lines) < 3:
        [message] = live.until(lambda message: message["type"] == "log")
        assert message["job"] == "ml/digits" and message["attempt"] == 2
        lines += [(message["rank"], line) for line in message["lines"]]
    assert sorted(lines) == sorted([("0.0", "first \\x1b[31mred\\xff\\x00"), ("0.1", "second"), ("0.0", "<script>")])
    asked = [query for path, query in api.asked if path.endswith("/log")]
    assert all(query["follow"] == "true" and query["tailLines"] == "500" for query in asked) and len(asked) == 2
    live.send({"type": "logs", "job": None})
    api.change("ipujobs", "MODIFIED", job())
    assert live.message()["type"] == "put"


def test_a_job_that_prints_fast_freezes_nothing(api, serve):
    ranks = 64
    api.items["pods"] = [pod(number) for number in range(ranks)]
    lines = "".join(f"2026-11-26T17:20:01.{number:09d}Z line {number}\n" for number in range(2000))
    api.logs = {f"digits-worker-{number}": lambda exchange: exchange.stream().flood(lines) for number in range(ranks)}
    ui = serve("-A")
    live, _ = ui.live()
    live.send({"type": "logs", "job": "ml/digits"})
    left_out = live.until(lambda message: message["type"] == "log-dropped")[-1]
    assert left_out["lines"] > 0
    for number in range(5):
        began = time.monotonic()
        api.change("ipujobs", "MODIFIED", job(message=str(number)))
        assert client.request(ui.port, "GET", "/").status == 200
        live.until(lambda message: message["type"] == "put" and message["object"]["status"].get("message") == str(number))
        assert time.monotonic() - began < ANSWER_S
    if "asan" not in os.environ.get("BUILD_DIR", ""):
        assert peak_kib(ui.process.pid) < 100 * 1024


def test_names_from_the_cluster_are_made_visible(api, serve):
    api.items["ipujobs"] = [job(reason="\x1b]0;title\x07 \x9b31m </script>")]
    _, seen = serve("-A").live()
    [put] = [message for message in seen if message["type"] == "put"]
    assert put["object"]["status"]["reason"] == "\\x1b]0;title\\x07 \\u009b31m </script>"


# Who gets it


def test_the_page_is_served_with_headers_that_keep_others_out(serve):
    ui = serve()
    for path in ("/", "/app.js", "/app.css", "/login", "/login.js"):
        got = client.request(ui.port, "GET", path)
        assert got.status == 200 and got.headers["content-encoding"] == "gzip" and gzip.decompress(got.body)
        policy = got.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:")
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert (got.headers["x-content-type-options"], got.headers["cache-control"]) == ("nosniff", "no-store")
    head = client.request(ui.port, "HEAD", "/")
    assert head.status == 200 and int(head.headers["content-length"]) > 0 and head.body == b""
    assert client.request(ui.port, "GET", "/../etc/passwd").status == 404


def is_listening(ip, port):
    with socket.socket() as connection:
        return connection.connect_ex((ip, port)) == 0


def test_it_listens_on_loopback_only(serve):
    ui = serve("--address", "::1")
    assert client.request(ui.port, "GET", "/", host="::1").status == 200
    assert not is_listening("127.0.0.1", ui.port)
    ui = serve()
    assert is_listening("127.0.0.1", ui.port) and not is_listening("127.0.0.2", ui.port)


def test_the_token_works_once(serve):
    ui = serve()
    assert ui.login("0" * 64).status == 403
    first = ui.login()
    assert first.status == 204 and re.search(r"; Path=/; HttpOnly; SameSite=Strict$", first.headers["set-cookie"])
    second = ui.login()
    assert second.status == 403 and b"used already" in second.body and "set-cookie" not in second.headers


def test_a_get_changes_nothing(serve):
    ui = serve()
    for path in (f"/login?{ui.token}", f"/login?token={ui.token}", "/login"):
        got = client.request(ui.port, "GET", path, {"Origin": f"http://127.0.0.1:{ui.port}"})
        assert "set-cookie" not in got.headers
    assert client.request(ui.port, "GET", "/login", body=ui.token.encode()).status == 400
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert client.request(ui.port, method, "/").status == 405
    assert ui.login().status == 204  # it is still unused


@pytest.mark.parametrize(("headers", "status"), [
    ({"Host": "evil.example.com:{port}"}, 403),  # DNS rebinding
    ({"Host": "127.0.0.1"}, 403),
    ({"Host": None}, 403),
    ({"Host": "localhost:{port}"}, 403),  # the origin is another one then
    ({"Origin": "http://evil.example.com"}, 403),
    ({"Origin": "http://127.0.0.1:1"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": None}, 403),
    ({"Cookie": None}, 401),
    ({"Cookie": "ipu-live-{port}=" + "0" * 64}, 401),
    ({"Sec_WebSocket_Version": "8"}, 426),
    ({"Upgrade": "h2c"}, 426),
    ({"Sec_WebSocket_Key": "short"}, 426),
])
def test_a_websocket_that_is_not_the_pages_is_rejected(serve, headers, status):
    ui = serve()
    with ui.open() as good:
        assert good.status == 101
    made = {key: value and value.replace("{port}", str(ui.port)) for key, value in headers.items()}
    with ui.open(**made) as live:
        assert live.status == status


def test_a_login_of_another_page_is_rejected(serve):
    ui = serve()
    for headers in ({"Origin": "http://evil.example.com"}, {"Origin": None}, {"Host": f"evil.example.com:{ui.port}"}):
        assert ui.login(**headers).status == 403
    assert ui.login().status == 204


# What it endures


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.0\r\n\r\n", b"\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"POST /login HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n",
], ids=("version", "empty", "no version", "line end", "two hosts", "blank in a name", "chunked", "negative length", "two lengths", "too long"))
def test_a_malformed_request_is_rejected(serve, data):
    assert client.exchange(serve().port, data).status == 400


@pytest.mark.parametrize(("data", "code"), [
    (client.frame(b"x" * 4097), 1009),
    (bytes([0x81, 0xFF]) + b"\xff" * 8, 1009),
    (client.frame(b"x", masked=0), 1002),
    (client.frame(b"x", first=0xC0), 1002),
    (client.frame(b"x", first=0), 1003),
    (client.frame(b"x", opcode=2), 1003),
    (client.frame(b"x" * 126, opcode=client.PING), 1002),
    (client.frame(b"", opcode=client.CLOSE), 1000),
], ids=("too long", "64-bit length", "not masked", "reserved bit", "fragment", "binary", "long ping", "close"))
def test_a_frame_that_no_page_sends_ends_the_websocket(serve, data, code):
    with serve().open() as live:
        live.connection.sendall(data)
        assert live.close_code() == code


def test_messages_without_a_meaning_are_ignored(serve):
    live, _ = serve("-A").live()
    for text in (b"", b"{", b"[]", b'{"type":"logs"}', b'{"type":"logs","job":1}', b'{"type":"logs","job":"../x"}', b'{"type":"put"}', b"\xff\xfe"):
        live.connection.sendall(client.frame(text))
    live.connection.sendall(client.frame(b"still there?", opcode=client.PING))
    assert live.receive() == (client.PONG, b"still there?")


def test_a_flood_of_connections_locks_nobody_out(serve):
    ui = serve("-A")
    live, _ = ui.live()
    flood = [socket.create_connection(("127.0.0.1", ui.port), DEADLINE_S) for _ in range(200)]
    assert client.request(ui.port, "GET", "/").status == 200
    pages = [ui.open() for _ in range(20)]
    assert [page.status for page in pages] == [101] * 15 + [503] * 5
    live.connection.sendall(client.frame(b"", opcode=client.PING))
    assert live.receive()[0] == client.PONG
    for connection in flood:
        connection.close()
    for page in pages:
        page.connection.close()


@pytest.mark.parametrize("payload", (b"x" * 100, b""))
def test_a_flood_of_frames_is_ended(serve, payload):
    ui = serve("-A")
    live, _ = ui.live()
    with ui.open() as flood:
        pings = client.frame(payload, opcode=client.PING) * 1000
        with pytest.raises(OSError):  # it is closed: its answers are not read
            while True:
                flood.connection.sendall(pings)
    assert client.request(ui.port, "GET", "/").status == 200
    live.connection.sendall(client.frame(b"", opcode=client.PING))
    assert live.receive()[0] == client.PONG
    if "asan" not in os.environ.get("BUILD_DIR", ""):
        assert peak_kib(ui.process.pid) < 100 * 1024


def test_a_request_that_is_not_finished_is_closed(serve):
    with socket.create_connection(("127.0.0.1", serve().port), DEADLINE_S) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert slow.recv(1) == b""


def test_a_page_that_does_not_read_is_closed(api, serve):
    """A slow reader costs the others nothing, and its bytes do not pile up."""
    ui = serve("-A")
    live, _ = ui.live()
    with ui.open(receive_buffer=4096) as slow:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            reading = pool.submit(live.until, lambda message: message.get("key") == "ml/last")
            for number in range(300):
                api.change("ipujobs", "MODIFIED", job(message=f"{number:06}" * 20000))
            api.change("ipujobs", "ADDED", job("last"))
            assert len(reading.result(DEADLINE_S)) == 301
        ended = []
        with pytest.raises((ValueError, OSError)):  # the end of the stream
            while True:
                ended.append(slow.receive())
        assert len(ended) < 250
    if "asan" not in os.environ.get("BUILD_DIR", ""):
        assert peak_kib(ui.process.pid) < 100 * 1024


# Its end


def test_websockets_end_when_the_credentials_are_rejected(api, serve):
    ui = serve("-A")
    live, _ = ui.live()
    api.rejects["*"] = 401
    api.cut()
    assert live.close_code() == 1008
    out, err = ui.process.communicate(timeout=DEADLINE_S)
    assert ui.process.returncode == 1 and "rejects the credentials of" in err and ui.token not in out + err


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_websockets_end_with_the_command(serve, signum):
    ui = serve("-A")
    live, _ = ui.live()
    ui.end(signum)
    assert ui.process.returncode == 0 and live.close_code() == 1001


def test_it_says_why_it_cannot_start(api, serve, ipu, server):
    port = serve().port
    taken = ipu(server.kubeconfig, "ui", "--port", str(port))
    assert taken.returncode == 1 and f"127.0.0.1 port {port}" in taken.stderr and "choose another --port" in taken.stderr
    api.rejects["*"] = 401
    rejected = ipu(server.kubeconfig, "ui")
    assert (rejected.returncode, rejected.stdout) == (1, "") and "rejects the credentials" in rejected.stderr
