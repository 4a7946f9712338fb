"""kubectl ipu before an API server, or somebody in its place, that answers without an end."""

import itertools
import json
import os
import subprocess

import pytest
from test_kubectl_logs import Api, Following, at, pod
from test_kubectl_trouble import JOB, serve

from process_memory import peak_kib

DEADLINE_S = 120
MANY = 50000  # objects that are kept
LISTS = {"queue": "ipujobs", "top": "ipujobs", "map": "vipucontrollers", "whatif": "vipucontrollers", "logs digits": "pods"}


def items(count):
    return [{"metadata": {"namespace": "default", "name": f"j{number}"}} for number in range(count)]


def answers(make_page):
    """An API server whose lists are pages that `make_page` makes, each with a token for the next one."""
    numbers = itertools.count()

    def answer(exchange):
        if exchange.path.endswith("/ipujobs/digits"):
            exchange.reply(200, JOB)
        elif exchange.path.endswith("/events"):
            serve()(exchange)
        else:
            exchange.reply(200, make_page(next(numbers)))

    return answer


def page(listed, more="more"):
    return {"kind": "List", "metadata": {"continue": more}, "items": listed}


@pytest.mark.parametrize("words", LISTS)
@pytest.mark.parametrize(("make_page", "told"), [
    (lambda number: page([]), "the list of {} has no end after 300 pages; check server and proxy of context t of {}"),
    (lambda number: page(items(MANY + 1), ""), f"there are more than {MANY} {{}}; choose a namespace with -n"),
    (lambda number: page([{"metadata": {"name": f"j{number}", "annotations": {"a": "x" * 7_000_000}}}]), "the {} have more than 128 MiB; choose a namespace with -n"),
    (lambda number: page([{"metadata": {"name": "j", "annotations": {"a": "x" * 100_000_000}}}], ""), "response is larger than 8388608 bytes"),
], ids=("pages", "objects", "bytes", "one object"))
def test_a_list_without_an_end(server, ipu, words, make_page, told):
    server.always(answers(make_page))
    done = ipu(server.kubeconfig, *words.split())
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"kubectl ipu: {told.format(LISTS[words], server.kubeconfig)}\n")


def test_pods_without_an_end_are_left_out(server, ipu):
    server.always(answers(lambda number: page([])))
    done = ipu(server.kubeconfig, "why", "digits")
    assert done.returncode == 0 and "digits runs" in done.stdout and "not read    some pods: the list of pods has no end" in done.stdout


def test_an_archive_of_lists_without_an_end(server, ipu):
    server.always(answers(lambda number: page([])))
    done = ipu(server.kubeconfig, "collect", "-f", "-", text=False, errors=None, input=b"")
    assert done.returncode == 0 and b"left out nodes.json: the list of nodes has no end" in done.stderr


def test_logs_of_an_operator_without_an_end(server, ipu):
    status = {"containerStatuses": [{"name": "main"}]}

    def answer(exchange):
        if exchange.path.endswith("/log"):
            exchange.reply(200, b"line\n")
        elif exchange.path.endswith("/pods"):
            exchange.reply(200, page([{"metadata": {"namespace": f"n{number % 15}", "name": f"p{number}"}, "status": status} for number in range(300)], ""))
        else:
            exchange.reply(200, page([], ""))

    server.always(answer)
    done = ipu(server.kubeconfig, "collect", "-f", "-", text=False, errors=None, input=b"")
    assert done.returncode == 0 and b"logs of more than 10 containers" in done.stderr
    paths = [exchange.path for exchange in server.seen]
    assert len([path for path in paths if path.endswith("/log")]) == 100 and len([path for path in paths if path.endswith("/leases")]) == 10


@pytest.mark.parametrize(("words", "flooded"), [("queue -w", "ipujobs"), ("top -w", "ipujobs"), ("logs digits -f", "pods"), ("ui", "ipujobs")])
def test_a_watch_without_an_end(server, program, words, flooded):
    events = b"".join(json.dumps({"type": "ADDED", "object": {"kind": {"pods": "Pod", "ipujobs": "IPUJob"}[flooded], **item}}).encode() + b"\n" for item in items(MANY + 1))

    def answer(exchange):
        plural = exchange.path.rsplit("/", 1)[-1]
        if "watch" in exchange.query:
            stream = exchange.stream()
            if plural == flooded:
                stream.raw(events)
            exchange.hold()
        elif plural == "digits":
            exchange.reply(200, JOB)
        else:
            exchange.reply(200, page([], ""))

    server.always(answer)
    done = subprocess.run([program, *words.split()], capture_output=True, text=True, timeout=DEADLINE_S,
                          env={"PATH": os.environ["PATH"], "KUBECONFIG": server.kubeconfig})
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(f"kubectl ipu: there are more than {MANY} {flooded}; choose ")


def test_unfinished_lines_of_many_ranks_have_a_limit(server, program):
    """Together, not each for itself."""
    api = Api(server)
    api.pods = [pod(number) for number in range(64)]

    def answer(exchange):
        exchange.stream().raw(at(1, 0, "x" * 1_000_000))
        exchange.hold()

    api.logs = {f"digits-worker-{number}": answer for number in range(64)}
    with Following(program, server.kubeconfig) as following:
        taken = 0
        while taken < 64 * 900_000:
            taken += following.line().count("x")
        most_kib = peak_kib(following.process.pid)
    api.close()
    if "asan" not in os.environ.get("BUILD_DIR", ""):
        assert most_kib < 80 * 1024
