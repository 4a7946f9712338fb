"""What a job prints, and whatever else others write into objects, moves no cursor and hides nothing: kubectl ipu shows it as text."""

import re

import pytest
from test_kubectl_logs import Api, at, job, pod, prints
from test_kubectl_trouble import JOB, on_terminal, pods

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\x7f"  # clears, renames, colours, returns, deletes
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff]")  # also bytes that are not UTF-8
KEPT = {"kind", "name", "namespace", "uid", "launcherStatus", "reason", "phase", "type", "status", "continue"}  # what the situation follows from


def poisoned(value, key=""):
    if isinstance(value, dict):
        return {key: poisoned(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return value + HOSTILE if isinstance(value, str) and key not in KEPT and not key.startswith("graphcore.ai/") else value


FAILURE = {"instance": 0, "attempt": 0, "pod": "digits-worker-0", "node": "n1", "container": "main", "exitCode": 1, "reason": "ContainerFailed", "message": "no data",
           "time": "2026-01-01T00:00:00Z"}
STATUS = {"observedGeneration": 1, "launcherStatus": "Failed", "reason": "ContainerFailed", "lastMessage": "it failed", "failures": [FAILURE],
          "conditions": [{"type": "Failed", "status": "True", "reason": "ContainerFailed", "message": "it failed"}],
          "queue": {"position": 1, "message": "waits", "ahead": [{"namespace": "default", "name": "other"}]},
          "partitions": [{"name": "p-digits", "controller": "vipu", "state": "active", "ipus": 4}],
          "partitionCounts": {"total": 1, "active": 1}}
WAITING = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ErrImagePull", "message": "no image"}}}]}
EVENT = {"metadata": {"namespace": "default", "name": "e"}, "reason": "Failed", "note": "no image", "type": "Warning", "eventTime": "2026-01-01T00:00:00.000000Z",
         "regarding": {"kind": "IPUJob", "name": "digits", "namespace": "default"}, "reportingController": "kubelet"}


@pytest.fixture
def hostile(server):
    made = poisoned(JOB | {"status": STATUS, "spec": {"workers": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}}})
    made["metadata"]["labels"] = {"team": HOSTILE}

    def answer(exchange):
        kind = exchange.path.rsplit("/", 1)[-1]
        if kind == "digits":
            exchange.reply(200, made)
        elif kind == "ipujobs":
            exchange.reply(200, {"kind": "IPUJobList", "metadata": {}, "items": [made]})
        elif kind == "pods":
            exchange.reply(200, poisoned(pods(2, WAITING)))
        elif kind == "events":
            exchange.reply(200, {"kind": "EventList", "metadata": {}, "items": [poisoned(EVENT)]})
        else:
            exchange.status(404, "NotFound", "not found" + HOSTILE)

    server.always(answer)
    return server


VERBS = [["why", "digits"], ["why", "digits", "-o", "wide"], ["why", "digits", "-o", "json"], ["queue"], ["queue", "-A"], ["queue", "-o", "wide"],
         ["queue", "-o", "json"], ["top"], ["top", "-A"], ["top", "-o", "wide"], ["top", "-o", "json"], ["why", "other"]]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_texts_of_objects(hostile, ipu, words):
    done = ipu(hostile.kubeconfig, *words)
    assert not CONTROL.search(done.stdout) and not CONTROL.search(done.stderr), done
    assert "digits" in done.stdout or words[-1] == "other"


@pytest.mark.parametrize("words", [["why", "digits"], ["queue"], ["top"]], ids=" ".join)
def test_a_terminal_gets_only_the_programs_own_colours(hostile, program, words):
    printed = on_terminal(program, hostile.kubeconfig, *words).replace("\r\n", "\n")
    assert not CONTROL.search(re.sub(r"\x1b\[[0-9;]*m", "", printed)), (words, printed)
    assert "\x1b[2J" not in printed


def test_logs(server, ipu, program):
    """A pipe gets every byte of a log, a terminal only colours."""
    api = Api(server)
    api.job = job(restartCount=1, failures=[FAILURE | {"message": HOSTILE}])
    api.pods = [pod(0, "ended"), pod(1, "ended")]
    hostile = HOSTILE.replace("\r", "")  # what follows one is the last state of a progress bar
    text = hostile.encode("latin-1")  # \x9b alone is not UTF-8
    api.logs = {"digits-worker-0": prints(at(1, 0, "first ") + text + b"\n" + at(2, 0, hostile) + b"\n"), "digits-worker-1": prints(text)}
    for words in ([], ["--timestamps"], ["--rank", "0"], ["--previous"]):
        printed = on_terminal(program, server.kubeconfig, "logs", "digits", *words).replace("\r\n", "\n")
        assert "[0" in printed and not CONTROL.search(re.sub(r"\x1b\[[0-9;]*m", "", printed)), (words, printed)
    for words in (["-o", "json"], ["--previous"]):
        done = ipu(server.kubeconfig, "logs", "digits", *words)
        assert "[2J" in done.stdout and not CONTROL.search(done.stdout + done.stderr), done
    api.close()


def test_what_the_server_says(server, ipu):
    server.always(lambda exchange: exchange.status(403, "Forbidden", "pods is forbidden" + HOSTILE))
    for words in (["why", "digits"], ["queue"], ["top"], ["logs", "digits"], ["suspend", "digits"]):
        done = ipu(server.kubeconfig, *words)
        assert done.returncode == 1 and "forbidden" in done.stderr and not CONTROL.search(done.stdout + done.stderr), done


def test_a_name_that_no_object_can_have(server, ipu):
    done = ipu(server.kubeconfig, "why", "digits" + HOSTILE)
    assert done.returncode == 2 and not CONTROL.search(done.stderr) and server.seen == []
