"""Clients that flood a port: memory stays within a bound, and others are served. A page has the same size however long its list is."""

import concurrent.futures
import contextlib
import http.client
import json
import re
import socket
import ssl
import statistics
import threading
import time
import urllib.request
import uuid

import operator_program
import pytest
from test_admission import CANNOT_SAY, VALIDATE, Webhooks, job
from test_metrics import SecureMetrics, make_reader, token_of
from waiting import DEADLINE_S, until
from world import pod_template

PARTITIONS = 600
LONG_NAME = "x" * 200  # so that a page is larger than what the system sends ahead of its reader
POD_OF_1024 = "create-ms: 0\nclusters: [{id: cl1, ipulink-domains: 16}]\n"
PAGE_ITEMS = 500  # PAGE_ITEMS_MAX of operator/api/page.h
CONNECTIONS_PER_PEER = 16  # PAGES_CONNECTIONS_PER_PEER of operator/serve/pages/pages.h
WEBHOOK_CONNECTIONS_PER_PEER = 128  # CONNECTIONS_PER_PEER of operator/serve/webhooks/webhooks.c
CONNECTIONS = 240
STRANGERS = 32
DRY_RUNS = 4  # DRY_RUNS_MAX of operator/serve/webhooks/webhooks.c
BOUND_BYTES = 64 << 20  # docs/security.md says so
PROMPT_S = 1


def peak_bytes(operator):
    return int(re.search(r"VmHWM:\s+(\d+) kB", operator.of_process("status"))[1]) << 10


def forget_peak(operator):
    with open(f"/proc/{operator.process.pid}/clear_refs", "w") as file:
        file.write("5")
    return peak_bytes(operator)


def get(url):
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
        return json.loads(answer.read())


def is_prompt(ask):
    """One of several times: the machine may be busy with something else."""
    begin = time.monotonic()
    ask()
    return time.monotonic() - begin < PROMPT_S


@pytest.fixture(autouse=True)
def small_quarantine(monkeypatch):
    """What the sanitizer keeps of freed memory is no memory of the program."""
    plain = operator_program.environment()
    monkeypatch.setattr(operator_program, "environment", lambda: {**plain, "ASAN_OPTIONS": "exitcode=99:quarantine_size_mb=1"})


@pytest.fixture
def flooded(world):
    """An operator whose list of partitions is that long."""
    vipu = world.make_vipu(POD_OF_1024)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: vipu.client.create(f"flood-{i}-{LONG_NAME}", 1), range(PARTITIONS)))
    operator = world.start_operator(vipu.address)
    until(lambda: operator.is_alive() and count_of(operator) == PARTITIONS, "all are listed", 4 * DEADLINE_S, world.tell)
    return operator


def pages_of(operator):
    token = ""
    while token is not None:
        page = get(operator.page(f"/partitions?continue={token}"))
        yield page["partitions"]
        token = page.get("continue")


def count_of(operator):
    return sum(len(page) for page in pages_of(operator))


def test_a_flood_of_readers_of_a_long_list_costs_little(flooded):
    """Sixteen readers at once; then 240 connections that ask and never read."""
    idle = forget_peak(flooded)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        pages = list(pool.map(get, [flooded.page("/partitions")] * 16))
    assert all(len(page["partitions"]) == PAGE_ITEMS and page["continue"] for page in pages)
    seen = {item["id"] for page in pages_of(flooded) for item in page}
    assert len(seen) == PARTITIONS, "each once, over all pages"
    with flood(address_of(flooded), [b"GET /partitions HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4] * CONNECTIONS) as sockets:
        assert flooded.health("/healthz") == 200
        until(lambda: is_prompt(lambda: get(flooded.page("/partitions?limit=3"))), "others are served", tell=flooded.tail)
        until(lambda: sum(map(is_open, sockets)) <= CONNECTIONS_PER_PEER, "one peer has few connections", tell=flooded.tail)
    assert peak_bytes(flooded) - idle < BOUND_BYTES


def address_of(operator):
    host, port = operator.page("").removeprefix("http://").split(":")
    return host, int(port)


def connect(address, text, context):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.settimeout(DEADLINE_S)
    with contextlib.suppress(OSError):  # it has been closed already
        one.connect(address)
        one = context.wrap_socket(one) if context else one
        one.sendall(text)
    return one


@contextlib.contextmanager
def flood(address, texts, context=None):
    """So many connections that send this, sixteen at a time, and read nothing."""
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(16) as pool:
        yield [stack.enter_context(one) for one in pool.map(lambda text: connect(address, text, context), texts)]


def is_open(one):
    """Without taking what waits in it: the connection's state, as the system tells it."""
    state = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state == 1  # TCP_ESTABLISHED


def large_review():
    """Of the largest size. It has few values: the sanitizer would need more for each than the program does."""
    spec = {"metadata": {"annotations": {f"a{i}": "x" * 10_000 for i in range(700)}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    request = {"uid": "u", "namespace": "default", "object": job(template=spec)}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (VALIDATE.encode(), len(body), body)


def status_of(one):
    """Of the response; None: the connection was closed."""
    try:
        return int(one.recv(12).split()[1])
    except (OSError, IndexError):
        return None


def test_a_flood_of_the_webhooks_costs_little(world, vipu):
    """Bodies without their end and silent connections; then whole requests, many at a time."""
    webhooks = Webhooks(world, controllers=vipu.address)
    try:
        operator, address = world.operator, ("127.0.0.1", webhooks.port)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        idle, large = forget_peak(operator), large_review()

        def others_are_served():
            return is_prompt(lambda: operator.health("/healthz")) and is_prompt(lambda: webhooks.verdict(job()))

        with flood(address, [large[:-1]] * 16 + [b""] * CONNECTIONS, context) as sockets:
            until(others_are_served, "others are served", tell=operator.tail)
            until(lambda: sum(map(is_open, sockets)) <= WEBHOOK_CONNECTIONS_PER_PEER, "one peer has half", tell=operator.tail)
        with flood(address, [large] * 16, context) as sockets:
            assert {status_of(one) for one in sockets} <= {200, 429, None}
            until(others_are_served, "others are served", tell=operator.tail)
        print("figure: MiB of the operator in a flood of its webhooks:", (peak_bytes(operator) - idle) >> 20)
        assert peak_bytes(operator) - idle < BOUND_BYTES
    finally:
        webhooks.remove()


def test_a_flood_of_strangers_does_not_delay_a_reader(world, vipu):
    """From four addresses, with a new token each time: whoever reads for the first time is served among them."""
    reader = make_reader(world)
    operator = world.start_operator(vipu.address, "--metrics", "secure", "--metrics-port", "0")
    page, over, asked = SecureMetrics(operator), threading.Event(), []
    until(lambda: page.ask(reader)[0] == 200, "the binding is in force", tell=world.tell)

    def flood(number):
        while not over.is_set():
            with contextlib.closing(page.connect(f"127.0.{1 + number % 4}.1")) as connection, contextlib.suppress(OSError, http.client.HTTPException):
                while not over.is_set():
                    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {uuid.uuid4()}"})
                    answer = connection.getresponse()
                    answer.read()
                    asked.append(answer.status)

    tokens = [token_of(world, "metrics-reader") for _ in range(20)]
    idle, durations = forget_peak(operator), []
    with concurrent.futures.ThreadPoolExecutor(STRANGERS) as pool:
        floods = [pool.submit(flood, number) for number in range(STRANGERS)]
        until(lambda: len(asked) > STRANGERS, "they ask", tell=world.tell)
        try:
            for token in tokens:
                begin = time.monotonic()
                assert page.ask(token)[0] == 200
                durations.append(time.monotonic() - begin)
        finally:
            over.set()
        for one in floods:
            one.result()
    assert statistics.median(durations) < PROMPT_S, durations
    assert set(asked) <= {401, 429}
    assert peak_bytes(operator) - idle < BOUND_BYTES


def test_a_flood_of_the_webhooks_costs_the_api_server_little(world):
    """One that has no time: whatever arrives, it gets a few dry runs, and no more until it has answered them."""
    api, answer = world.make_api_proxy(), threading.Event()
    arrived = []

    def before(seen):
        if "/podtemplates" in seen.path and not answer.is_set():
            arrived.append(seen)
            answer.wait(DEADLINE_S)
        return True

    webhooks = Webhooks(world, proxy=api)
    wrong = job(template=pod_template({"name": "train"}))
    try:
        api.before = before
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for _ in range(3):
                assert all(verdict["allowed"] for verdict in pool.map(webhooks.verdict, [wrong] * 16))
        assert 0 < len(arrived) <= DRY_RUNS
        warnings = [line for line in world.operator.log().splitlines() if CANNOT_SAY in line and line.startswith("warn")]
        assert 0 < len(warnings) <= 2, "one a minute"
        answer.set()
        until(lambda: not webhooks.verdict(wrong)["allowed"], "pods are judged again", tell=world.operator.tail)
    finally:
        answer.set()
        webhooks.remove()
