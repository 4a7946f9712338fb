"""kubectl ipu logs before an API server that breaks streams, replaces pods and sends what containers may print."""

import itertools
import json
import os
import queue
import subprocess
import threading

import pytest

from process_memory import peak_kib
from waiting import until

DEADLINE_S = 120
MEMORY_KIB = 200 * 1024
versions = itertools.count(1)
T = "2026-11-26T17:20:{:02d}.{:03d}000000Z "


def at(second, millisecond, text):
    return (T.format(second, millisecond) + text).encode()


def job(status="Running", **fields):
    return {"kind": "IPUJob", "metadata": {"namespace": "default", "name": "digits", "uid": "j", "resourceVersion": str(next(versions))},
            "spec": {}, "status": {"launcherStatus": status, **fields}}


def pod(number, state="running", uid=None, role="worker", instance=0):
    labels = {"instance": str(instance), "worker": str(number), "role": role}
    state = {"running": {}} if state == "running" else {"terminated": {"exitCode": 0, "containerID": "c"}}
    return {"kind": "Pod",
            "metadata": {"namespace": "default", "name": f"digits-{role}-{number}", "uid": uid or f"{role}{number}",
                         "resourceVersion": str(next(versions)),
                         "labels": {f"graphcore.ai/{key}": value for key, value in labels.items()}},
            "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
            "status": {"containerStatuses": [{"name": "main", "state": state}]}}


class Api:
    """One job and its pods; `logs` are functions of the exchange by the pod's name."""

    def __init__(self, server):
        self.job, self.pods, self.logs = job(), [], {}
        self.changes = {"pods": queue.Queue(), "ipujobs": queue.Queue()}
        self.requests, self._lock = [], threading.Lock()
        self.open = self.most_open = 0
        server.always(self.answer)

    def answer(self, exchange):
        parts = exchange.path.split("/")
        if parts[-1] == "log":
            self._log(exchange, parts[-2])
        elif "watch" in exchange.query:
            self._watch(exchange, parts[-1])
        elif parts[-1] == "pods":
            exchange.reply(200, {"kind": "PodList", "metadata": {}, "items": self.pods})
        else:
            exchange.reply(200, self.job)

    def _log(self, exchange, name):
        with self._lock:
            self.requests.append((name, exchange.query))
            self.open += 1
            self.most_open = max(self.open, self.most_open)
        try:
            self.logs[name](exchange)
        finally:
            with self._lock:
                self.open -= 1

    def _watch(self, exchange, plural):
        kind = "Pod" if plural == "pods" else "IPUJob"
        stream = exchange.stream()
        for item in self.pods if plural == "pods" else [self.job]:
            stream.event("ADDED", item)
        stream.event("BOOKMARK", {"kind": kind, "metadata": {"resourceVersion": str(next(versions)), "annotations": {"k8s.io/initial-events-end": "true"}}})
        while event := self.changes[plural].get(timeout=DEADLINE_S):
            stream.event(*event)

    def change(self, event, item):
        self.changes["pods" if item["kind"] == "Pod" else "ipujobs"].put((event, item))

    def finish(self):
        self.change("MODIFIED", job("Completed"))

    def close(self):
        for changes in self.changes.values():
            changes.put(None)


@pytest.fixture
def api(server):
    made = Api(server)
    yield made
    made.close()


def prints(*pieces):
    """A whole log."""

    def answer(exchange):
        stream = exchange.stream()
        for piece in pieces:
            stream.raw(piece)
        stream.end()

    return answer


class Following:
    """kubectl ipu logs -f as a process, whose lines are waited for."""

    def __init__(self, program, kubeconfig, *words):
        self.process = subprocess.Popen([program, "logs", "digits", "-f", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={"PATH": os.environ["PATH"], "KUBECONFIG": kubeconfig})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        """What it printed last, on standard output and standard error, and its status."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return out, err, self.process.returncode


def test_ranks_are_merged_in_the_order_of_their_times(api, server, ipu):
    api.pods = [pod(11, "ended"), pod(2, "ended"), pod(0, "ended", role="launcher")]
    api.logs = {"digits-worker-2": prints(at(1, 0, "first\n"), at(3, 0, "third\n")),
                "digits-worker-11": prints(at(2, 0, "second\nno time\n")),
                "digits-launcher-0": prints(at(4, 0, "without an end"))}
    done = ipu(server.kubeconfig, "logs", "digits")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("[0.2]        first\n[0.11]       second\n[0.11]       no time\n[0.2]        third\n"
                           "[0.launcher] without an end\n")
    done = ipu(server.kubeconfig, "logs", "digits", "--rank", "2", "--timestamps")
    assert done.stdout.splitlines()[0] == "[0.2] 2026-11-26T17:20:01.000000000Z first"
    lines = [json.loads(line) for line in ipu(server.kubeconfig, "logs", "digits", "-o", "json", "--instance", "0").stdout.splitlines()]
    assert lines[0] == {"rank": "0.2", "pod": "digits-worker-2", "time": "2026-11-26T17:20:01.000000000Z", "line": "first"}
    assert ipu(server.kubeconfig, "logs", "digits", "--instance", "1").returncode == 1


def test_what_is_asked_of_the_api_server(api, server, ipu):
    api.pods = [pod(0, "ended")]
    api.logs = {"digits-worker-0": prints()}
    ipu(server.kubeconfig, "logs", "digits", "--tail", "7", "--since", "1h30m")
    assert api.requests == [("digits-worker-0", {"container": "main", "timestamps": "true", "tailLines": "7", "sinceSeconds": "5400"})]


def test_a_broken_stream_continues_without_loss_or_repetition(api, server, program):
    sends = iter([
        (at(1, 0, "a\n"), at(1, 5, "b\n"), at(1, 5, "c\n"), at(1, 6, "half of")),
        (at(1, 0, "a\n"), at(1, 5, "b\n")),  # it breaks again, while it repeats
        (at(1, 0, "a\n"), at(1, 5, "b\n"), at(1, 5, "c\n"), at(1, 6, "half of d\n"), at(2, 0, "e\n")),
    ])

    def answer(exchange):
        pieces = next(sends, None)
        stream = exchange.stream()
        for piece in pieces or ():
            stream.raw(piece)
        exchange.cut() if pieces else stream.end()

    api.pods, api.logs = [pod(0)], {"digits-worker-0": answer}
    with Following(program, server.kubeconfig) as following:
        assert [following.line() for _ in range(5)] == [f"[0.0] {text}" for text in ("a", "b", "c", "half of d", "e")]
        api.change("MODIFIED", pod(0, "ended"))
        api.finish()
        assert following.end() == ("", "", 0)
    first, *others = [query for _, query in api.requests]
    assert "sinceTime" not in first and {query["sinceTime"] for query in others[:2]} == {"2026-11-26T17:20:01Z"}


def test_new_pods_and_restarts_are_followed_to_the_end_of_the_job(api, server, program):
    api.pods = [pod(0)]
    held = threading.Event()

    def first(exchange):
        exchange.stream().raw(at(1, 0, "first attempt\n"))
        held.wait(DEADLINE_S)
        exchange.cut()

    api.logs = {"digits-worker-0": first, "digits-worker-1": prints(at(2, 0, "late\n"))}
    with Following(program, server.kubeconfig) as following:
        assert following.line() == "[0.0] first attempt"
        api.change("ADDED", pod(1, "ended"))
        assert following.line() == "[0.1] late"
        api.logs["digits-worker-0"] = prints(at(9, 0, "second attempt\n"))
        api.change("DELETED", pod(0))
        api.change("ADDED", pod(0, "ended", uid="new"))
        assert following.line() == "[0.0] second attempt"
        api.logs["digits-worker-0"] = lambda exchange: exchange.status(404, "NotFound", 'pods "digits-worker-0" not found')
        held.set()
        api.finish()
        assert following.end() == ("", "kubectl ipu: [0.0] a new pod continues\n", 0)


def test_following_a_job_without_pods_says_so(api, server, program):
    with Following(program, server.kubeconfig) as following:
        assert following.process.stderr.readline() == "kubectl ipu: no pod of job digits has a log yet; wait, or see kubectl ipu why digits\n"
        api.logs = {"digits-worker-0": prints(at(1, 0, "first\n"))}
        api.change("ADDED", pod(0, "ended"))
        assert following.line() == "[0.0] first"
        api.finish()
        assert following.end() == ("", "", 0)
    api.job = job("Completed")
    with Following(program, server.kubeconfig) as following:
        assert following.end() == ("", "", 0)


def test_a_clock_that_is_an_hour_ahead_holds_nothing_back(api, server, program):
    api.pods = [pod(0, "ended"), pod(1, "ended")]
    api.logs = {"digits-worker-0": prints(b"2026-11-26T17:20:01.0Z here\n"), "digits-worker-1": prints(b"2026-11-26T18:20:01.0Z ahead\n")}
    with Following(program, server.kubeconfig) as following:
        assert {following.line(), following.line()} == {"[0.0] here", "[0.1] ahead"}
        api.finish()
        assert following.end()[2] == 0


def test_a_line_of_100_megabytes_needs_little_memory(api, server, program):
    count = 100

    def answer(exchange):
        stream = exchange.stream().raw(at(1, 0, ""))
        for _ in range(count):
            stream.raw(b"x" * 1000000)
        stream.raw(b"\n" + at(2, 0, "a\0b\x1b[2J\n")).end()

    api.pods, api.logs = [pod(0, "ended")], {"digits-worker-0": answer}
    process = subprocess.Popen([program, "logs", "digits"], stdout=subprocess.PIPE,
                               env={"PATH": os.environ["PATH"], "KUBECONFIG": server.kubeconfig, "ASAN_OPTIONS": "quarantine_size_mb=1"})
    most_kib, pieces = 0, []
    while piece := process.stdout.read1(1 << 20):
        pieces.append(piece)
        most_kib = max(most_kib, peak_kib(process.pid) or 0)
    lines = b"".join(pieces).split(b"\n")
    process.stdout.close()
    assert process.wait() == 0
    assert sum(line.count(b"x") for line in lines) == count * 1000000
    assert all(line.startswith(b"[0.0]+ ") for line in lines[1:-2])
    assert lines[-2:] == [b"[0.0] a\0b\x1b[2J", b""]  # a pipe gets what was printed
    assert 0 < most_kib < MEMORY_KIB


def test_a_thousand_pods_are_read_some_at_a_time(api, server, ipu):
    api.pods = [pod(number, "ended") for number in range(1000)]
    api.logs = {f"digits-worker-{number}": prints(at(1, number, f"line {number}\n")) for number in range(1000)}
    done = ipu(server.kubeconfig, "logs", "digits", "--max-streams", "16")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [[f"[0.{number}]", "line", str(number)] for number in range(1000)]
    assert api.most_open <= 16


def test_too_many_ranks_to_follow_are_said(api, server, program):
    api.pods = [pod(number, "ended") for number in range(3)]
    held = threading.Event()

    def answer(exchange):
        exchange.stream().raw(at(1, 0, "line\n"))
        held.wait(DEADLINE_S)

    api.logs = {f"digits-worker-{number}": answer for number in range(3)}
    with Following(program, server.kubeconfig, "--max-streams", "2") as following:
        assert {following.line(), following.line()} == {"[0.0] line", "[0.1] line"}
        assert "only 2 ranks are followed; choose some with --instance and --rank" in following.process.stderr.readline()
        held.set()


def test_the_attempt_before(api, server, ipu):
    def failure(attempt, text):
        return {"instance": 0, "attempt": attempt, "pod": "digits-worker-0", "message": text}

    api.job = job(restartCount=1, failures=[failure(0, "one\ntwo\x1b[2J")])
    done = ipu(server.kubeconfig, "logs", "digits", "--previous")
    assert (done.returncode, done.stdout) == (0, "[0] one\n[0] two\\x1b[2J\n")
    assert done.stderr == "kubectl ipu: last lines of pod digits-worker-0, instance 0, before the restart\n"
    api.job = job("Failed", restartCount=1, failures=[failure(1, "last"), failure(0, "before")])
    assert ipu(server.kubeconfig, "logs", "digits", "-p").stdout == "[0] before\n"
    api.job = job("Failed", failures=[failure(0, "only")])
    done = ipu(server.kubeconfig, "logs", "digits", "-p")
    assert (done.returncode, done.stderr) == (1, "kubectl ipu: job digits has no earlier attempt whose last lines are known\n")


def test_pods_without_a_log(api, server, ipu):
    done = ipu(server.kubeconfig, "logs", "digits")
    assert (done.returncode, done.stderr) == (1, "kubectl ipu: no pod of job digits has a log yet\n")
    api.job = job("Completed")
    assert ipu(server.kubeconfig, "logs", "digits").stderr == "kubectl ipu: no pod of job digits has a log\n"
    api.job = job("Failed", failures=[{"message": "x"}])
    assert "see kubectl ipu why for the last lines" in ipu(server.kubeconfig, "logs", "digits").stderr


def with_containers(**states):
    """A pod with main and these, of which fetch is an init container; True: it has a log."""
    made = pod(0)
    ended = {"terminated": {"exitCode": 0, "containerID": "c"}}
    made["spec"] = {"containers": [{"name": "main"}, {"name": "side"}], "initContainers": [{"name": "ipu-launcher"}, {"name": "fetch"}]}
    made["status"] = {
        "containerStatuses": [{"name": name, "state": ended} for name in ("main", "side") if states.get(name)],
        "initContainerStatuses": [{"name": name, "state": ended} for name in ("ipu-launcher", "fetch") if name == "ipu-launcher" or states.get(name)]}
    return made


@pytest.mark.parametrize("states, words, out, told", [
    ({"main": True}, [], "[0.0] text\n", ""),
    ({"main": True, "side": True, "fetch": True}, [], "[0.0] text\n", "only the first container of each pod is shown; with -c, choose side, fetch"),
    ({"main": True, "fetch": True}, ["-c", "fetch"], "[0.0] text\n", ""),
    ({"fetch": True}, [], "", "container main of job digits has no log yet; with -c, choose fetch"),
    ({"fetch": True}, ["-c", "side"], "", "container side of job digits has no log yet; with -c, choose fetch"),
    ({"main": True}, ["-c", "nosuch"], "", "no pod of job digits has a container nosuch; there are main, side, fetch"),
    ({}, [], "", "no pod of job digits has a log yet"),
])
def test_containers_with_a_log_are_named(api, server, ipu, states, words, out, told):
    api.pods, api.logs = [with_containers(**states)], {"digits-worker-0": prints(at(1, 0, "text\n"))}
    done = ipu(server.kubeconfig, "logs", "digits", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0 if out else 1, out, told and f"kubectl ipu: {told}\n")


def test_following_names_a_failed_init_container(api, server, program):
    api.job, api.pods = job("Failed"), [with_containers(fetch=True)]
    with Following(program, server.kubeconfig) as following:
        assert following.end() == ("", "kubectl ipu: container main of job digits has no log; with -c, choose fetch\n", 0)


@pytest.mark.parametrize("words, status, told", [
    (["--rank", "9"], 1, "no pod of job digits has rank *.9; there are 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7 and 2 more"),
    (["--instance", "3"], 1, "no pod of job digits has rank 3.*; there are "),
    (["--instance", "0", "--rank", "launcher"], 1, "no pod of job digits has rank 0.launcher; there are "),
    (["--rank", "two"], 2, '--rank: expected the index of a worker or "launcher", got "two"\n'),
    (["--instance", "-1"], 2, '--instance: expected the index of an instance, got "-1"\n'),
])
def test_ranks_that_do_not_exist(api, server, ipu, words, status, told):
    api.pods = [pod(number) for number in (*range(9), 10)]
    done = ipu(server.kubeconfig, "logs", "digits", *words)
    assert (done.returncode, done.stdout) == (status, "") and done.stderr.startswith(f"kubectl ipu: {told}")


def test_a_log_that_cannot_be_read_is_said_after_the_others(api, server, ipu):
    api.pods = [pod(0, "ended"), pod(1, "ended")]
    api.logs = {"digits-worker-0": lambda exchange: exchange.status(403, "Forbidden", "pods/log is forbidden"),
                "digits-worker-1": prints(at(1, 0, "text\n"))}
    done = ipu(server.kubeconfig, "logs", "digits")
    assert (done.returncode, done.stdout) == (1, "[0.1] text\n")
    assert done.stderr == "kubectl ipu: [0.0] log of pod digits-worker-0: pods/log is forbidden\n"


def test_a_server_that_is_busy_is_asked_again(api, server, ipu):
    answers = iter([lambda exchange: exchange.status(503, "ServiceUnavailable", "busy"), prints(at(1, 0, "text\n"))])
    api.pods, api.logs = [pod(0, "ended")], {"digits-worker-0": lambda exchange: next(answers)(exchange)}
    done = ipu(server.kubeconfig, "logs", "digits")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0.0] text\n", "")


def test_a_job_that_is_deleted_ends_it(api, server, program):
    api.pods, api.logs = [pod(0, "ended")], {"digits-worker-0": prints(at(1, 0, "text\n"))}
    with Following(program, server.kubeconfig) as following:
        assert following.line() == "[0.0] text"
        until(lambda: api.requests, "the log was read")
        api.change("DELETED", job())
        assert following.end()[2] == 0
