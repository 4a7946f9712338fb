"""What a job prints, and whatever else others write into objects, moves no cursor and hides nothing: kubectl ipu shows it as text."""

import re

import pytest
from test_kubectl_logs import Api, at, job, pod, prints
from test_kubectl_trouble import JOB, on_terminal, pods

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\x7f"  # clears, renames, colours, returns, deletes
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff]")  # also bytes that are not UTF-8
KEPT = {"kind", "name", "namespace", "uid", "launcherStatus", "reason", "phase", "type", "status", "continue"}  # what the situation follows from


def poisoned(value, key="", poison=HOSTILE):
    if isinstance(value, dict):
        return {key: poisoned(item, key, poison) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, poison=poison) for item in value]
    return value + poison if isinstance(value, str) and key not in KEPT and not key.startswith("graphcore.ai/") else value


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


FORGED = "\nFORGED \u202edrow\u2028\u200b"
CONTROLLER = {"metadata": {"name": "pod4"}, "status": {
    "conditions": [{"type": "Reachable", "status": "True"}], "ipus": {"total": 4, "free": 2, "largestFree": 2}, "version": "1.2",
    "domains": [{"name": "ild0", "size": 4, "free": "c"}], "cordon": {"state": "Draining"},
    "starts": [{"ipus": 4, "state": "Open", "startsNowWithin": 600}],
    "partitions": [{"size": 2, "state": "ACTIVE", "ours": True, "job": "ml/digits", "places": [{"domain": "ild0", "ipus": "3"}]}]}}


@pytest.mark.parametrize("words", [["why", "digits"], ["why", "digits", "-o", "wide"], ["eta", "digits"], ["queue"], ["queue", "-o", "wide"], ["queue", "-o", "name"], ["top"],
                                   ["top", "-o", "wide"], ["top", "-o", "name"], ["map"], ["release", "digits"], ["whatif", "digits"], ["whatif", "-o", "wide"], ["why", "digits", "-o", "json"], ["map", "-o", "json"]], ids=" ".join)
def test_a_field_is_one_line_and_reorders_nothing(server, ipu, words):
    held = STATUS | {"partitions": [{"id": "p-0", "controller": "vipu", "state": "Held", "ipus": 4}]}
    kept = KEPT - {"name", "namespace", "launcherStatus", "reason", "job"} if words[0] in ("queue", "top", "map", "whatif") else KEPT
    made = poisoned(JOB | {"status": held}, poison=FORGED)
    if kept != KEPT:
        made["metadata"]["name"] += FORGED
        made["status"]["launcherStatus"] += FORGED
    if words[0] == "release":
        made["status"]["partitions"][0]["state"] = "Held"

    def answer(exchange):
        kind = exchange.path.rsplit("/", 1)[-1]
        lists = {"ipujobs": [made], "pods": poisoned(pods(2, WAITING), poison=FORGED)["items"], "events": [poisoned(EVENT, poison=FORGED)],
                 "vipucontrollers": [poisoned(CONTROLLER, "name", FORGED) | {"metadata": {"name": "pod4" + FORGED}}]}
        exchange.reply(200, made if kind == "digits" else {"kind": "List", "metadata": {}, "items": lists[kind]})

    server.always(answer)
    done = ipu(server.kubeconfig, *words)
    assert "FORGED" in done.stdout + done.stderr or words[0] == "eta", done
    assert not re.search("^FORGED|[\u200b-\u200f\u2028-\u202e]", done.stdout + done.stderr, re.MULTILINE), done
