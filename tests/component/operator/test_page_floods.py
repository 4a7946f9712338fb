"""Clients that flood a port: memory stays within a bound, and others are served. A page has the same size however many instances
wait."""

import concurrent.futures
import contextlib
import json
import re
import socket
import ssl
import time
import urllib.request

import operator_program
import pytest
from test_admission import Webhooks
from waiting import DEADLINE_S, until

JOBS, INSTANCES = 10, 1_000
PAGE_ITEMS = 500  # PAGE_ITEMS_MAX of operator/api/page.h
CONNECTIONS_PER_PEER = 16  # PAGES_CONNECTIONS_PER_PEER of operator/serve/pages/pages.h
CONNECTIONS = 240
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
def flooded(world, vipu):
    """An operator whose queue is that long."""
    operator = world.start_operator(vipu.address)
    world.job("first", ipusPerJobInstance="64").wait_pods(1)
    for i in range(JOBS):
        world.job(f"flood-{i}", jobInstances=INSTANCES, ipusPerJobInstance="64")

    until(lambda: operator.is_alive() and count_of(operator) == JOBS * INSTANCES, "all wait", 4 * DEADLINE_S, world.tell)
    return operator


def pages_of(operator):
    token = ""
    while token is not None:
        page = get(operator.page(f"/queue?continue={token}"))
        yield page["queue"]
        token = page.get("continue")


def count_of(operator):
    return sum(len(page) for page in pages_of(operator))


def test_a_flood_of_readers_of_a_long_queue_costs_little(flooded):
    """Sixteen readers at once; then 240 connections that ask and never read."""
    idle = forget_peak(flooded)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        pages = list(pool.map(get, [flooded.page("/queue")] * 16))
    assert all(len(page["queue"]) == PAGE_ITEMS and page["continue"] for page in pages)
    seen = {(item["job"], item["instance"]) for page in pages_of(flooded) for item in page}
    assert len(seen) == JOBS * INSTANCES, "each once, over all pages"
    with flood(address_of(flooded), [b"GET /queue HTTP/1.1\r\nHost: x\r\n\r\n" * 4] * CONNECTIONS) as sockets:
        assert flooded.health("/healthz") == 200
        until(lambda: is_prompt(lambda: get(flooded.page("/queue?limit=3"))), "others are served", tell=flooded.tail)
        until(lambda: sum(map(is_open, sockets)) <= CONNECTIONS_PER_PEER, "one peer has few connections", tell=flooded.tail)
    assert peak_bytes(flooded) - idle < BOUND_BYTES


def address_of(operator):
    host, port = operator.page("").removeprefix("http://").split(":")
    return host, int(port)


@contextlib.contextmanager
def flood(address, texts, context=None):
    """So many connections that send this and read nothing."""
    with contextlib.ExitStack() as stack:
        sockets = []
        for text in texts:
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(DEADLINE_S)
            one.connect(address)
            with contextlib.suppress(OSError):  # it has been closed already
                if context:
                    one = stack.enter_context(context.wrap_socket(one))
                one.sendall(text)
            sockets.append(one)
        yield sockets


def is_open(one):
    """Without taking what waits in it: the connection's state, as the system tells it."""
    state = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state == 1  # TCP_ESTABLISHED
