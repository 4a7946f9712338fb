"""kubectl ipu before servers, kubeconfigs and terminals that are not as they should be."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time

import pytest
from test_kubectl_ui import Api

JOB = {"kind": "IPUJob", "metadata": {"namespace": "default", "name": "digits", "creationTimestamp": "2026-01-01T00:00:00Z"},
       "spec": {}, "status": {"observedGeneration": 1, "launcherStatus": "Running", "reason": "Running"}}


def pods(count, status, more=""):
    labels = {"graphcore.ai/instance": "0", "graphcore.ai/role": "worker"}
    return {"kind": "PodList", "metadata": {"continue": more}, "items": [
        {"metadata": {"namespace": "default", "name": f"digits-worker-{n}", "uid": str(n), "labels": labels | {"graphcore.ai/worker": str(n)}},
         "spec": {"containers": [{"name": "main"}]}, "status": status} for n in range(count)]}


def serve(job=JOB, pod_list=None):
    """Answers as an API server that has this job."""

    def answer(exchange):
        if exchange.path.endswith("/ipujobs/digits"):
            exchange.reply(200, job)
        elif exchange.path.endswith("/pods"):
            exchange.reply(200, pod_list(exchange) if pod_list else pods(0, {}))
        elif exchange.path.endswith("/events"):
            exchange.reply(200, {"kind": "EventList", "metadata": {}, "items": []})
        else:
            exchange.status(404, "NotFound", "not found")

    return answer


def test_why_is_four_requests_and_no_discovery(server, ipu):
    server.always(serve())
    done = ipu(server.kubeconfig, "why", "digits")
    assert (done.returncode, done.stderr) == (0, "")
    prefix = "/namespaces/default"
    assert sorted(exchange.path for exchange in server.seen) == [
        f"/api/v1{prefix}/pods", f"/apis/events.k8s.io/v1{prefix}/events", f"/apis/graphcore.ai/v1alpha1{prefix}/ipujobs/digits",
        "/apis/graphcore.ai/v1alpha1/vipucontrollers"]


def test_a_subresource_is_no_job(server, ipu):
    server.always(serve())
    done = ipu(server.kubeconfig, "suspend", "digits/status")
    sentence = 'kubectl ipu: JOB must be the name of an IPUJob, got "digits/status"; see kubectl get ipujobs\n'
    assert (done.returncode, done.stdout, done.stderr, server.seen) == (2, "", sentence, [])
    assert ipu(server.kubeconfig, "why", "ipujob.graphcore.ai/digits").stdout == ipu(server.kubeconfig, "why", "digits").stdout != ""


@pytest.mark.parametrize("verb, spec, status, code, out, err, writes", [
    ("suspend", {}, "Running", 0, "ipujob.graphcore.ai/digits suspended\n", "Warning: mind\\x1b the gap\n", 1),
    ("suspend", {"suspend": True}, "Suspended", 0, "ipujob.graphcore.ai/digits is already suspended\n", "", 0),
    ("resume", {"suspend": False}, "Running", 0, "ipujob.graphcore.ai/digits is not suspended\n", "", 0),
    ("suspend", {}, "Completed", 1, "", "kubectl ipu: job digits has ended and cannot be suspended; delete and create it again to rerun it\n", 0),
    ("resume", {"suspend": True}, "Failed", 1, "", "kubectl ipu: job digits has ended and cannot be resumed; delete and create it again to rerun it\n", 0),
])
def test_only_what_changes_a_job_is_written(server, ipu, verb, spec, status, code, out, err, writes):
    job = {"metadata": {"name": "digits"}, "spec": spec, "status": {"launcherStatus": status}}
    server.always(lambda exchange: exchange.reply(200, job, headers={"Warning": '299 - "mind\x1b the gap"'} if exchange.method == "PATCH" else {}))
    done = ipu(server.kubeconfig, verb, "digits")
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)
    assert sum(exchange.method == "PATCH" for exchange in server.seen) == writes


def test_a_thousand_pods_come_in_pages(server, ipu):
    stuck = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ErrImagePull"}}}]}
    server.always(serve(pod_list=lambda exchange: pods(250, stuck, {"": "1", "1": "2", "2": "3", "3": ""}[exchange.query.get("continue", "")])))
    done = ipu(server.kubeconfig, "why", "digits")
    assert (done.returncode, done.stderr) == (0, "") and "and 995 more; see -o wide" in done.stdout
    report = json.loads(ipu(server.kubeconfig, "why", "digits", "-o", "json").stdout)
    assert len(report["pods"]) == 1000


def test_what_may_not_be_read_is_left_out_and_said(server, ipu):
    def answer(exchange):
        if exchange.path.endswith("/pods"):
            exchange.status(403, "Forbidden", "pods is forbidden: User \"me\" cannot list resource \"pods\"")
        else:
            serve()(exchange)

    server.always(answer)
    done = ipu(server.kubeconfig, "why", "digits")
    assert done.returncode == 0 and "digits runs" in done.stdout and 'not read    pods: pods is forbidden: User "me"' in done.stdout


@pytest.mark.parametrize("words, code, message, told", [
    (["map"], 403, "pods is forbidden at the cluster scope", "at the cluster scope; ask an admin for the permission\n"),
    (["queue", "-n", "a"], 403, 'ipujobs is forbidden in the namespace "a"', "for the permission, or choose another namespace\n"),
    (["why", "digits"], 404, 'ipujobs.graphcore.ai "digits" not found', '"digits" not found in namespace default\n'),
    (["why", "digits"], 404, "the server could not find the requested resource", "; is the IPU operator installed in this cluster?\n"),
])
def test_a_rejected_request_has_its_remedy(server, ipu, words, code, message, told):
    server.always(lambda exchange: exchange.status(code, "Rejected", message))
    done = ipu(server.kubeconfig, *words)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.endswith(told)


def test_options_follow_the_verb(server, ipu):
    done = ipu(server.kubeconfig, "-n", "default", "why", "digits")
    assert done.returncode == 2 and "options follow the verb" in done.stderr


def test_an_archive_without_objects_is_a_failure(server, ipu):
    server.always(lambda exchange: exchange.status(403, "Forbidden", "forbidden"))
    done = ipu(server.kubeconfig, "collect", "-f", "-", text=False, errors=None, input=b"")
    assert done.returncode == 1 and b"none could be read" in done.stderr


def test_an_archive_without_the_operator_says_so(server, ipu):
    server.always(lambda exchange: exchange.reply(200, {"kind": "List", "metadata": {}, "items": []}))
    done = ipu(server.kubeconfig, "collect", "-f", "-", text=False, errors=None, input=b"")
    assert done.returncode == 0 and b"left out logs of the operator: no pods of the operator found\n" in done.stderr


def config(folder, server, user, extra="", cluster=""):
    path = folder / "config"
    path.write_text(f"""\
current-context: t
contexts: [{{name: t, context: {{cluster: t, user: t}}}}{extra}]
clusters: [{{name: t, cluster: {{server: "http://{server}"{cluster}}}}}]
users: [{{name: t, user: {{{user}}}}}]
""")
    return path


def test_an_expired_token_is_said(server, ipu, tmp_path):
    server.always(lambda exchange: exchange.status(401, "Unauthorized", "Unauthorized"))
    done = ipu(server.kubeconfig, "why", "digits")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kubectl ipu: the API server rejects the credentials of context t of {server.kubeconfig}; " \
                          "log in again, or choose another --context\n"


def test_an_expired_token_is_fetched_again_from_its_plug_in(server, ipu, tmp_path):
    plugin = tmp_path / "plugin"
    plugin.write_text("""#!/bin/sh
echo x >> "$0.runs"
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'$(wc -l < "$0.runs")'"}}'
""")
    plugin.chmod(0o755)
    server.always(lambda exchange: serve()(exchange) if exchange.headers["Authorization"] != "Bearer 1"
                  else exchange.status(401, "Unauthorized", "Unauthorized"))
    user = f"exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: {plugin}}}"
    done = ipu(config(tmp_path, f"127.0.0.1:{server.port}", user), "why", "digits")
    assert (done.returncode, done.stderr) == (0, "") and "digits runs" in done.stdout
    assert [exchange.headers["Authorization"] for exchange in server.seen[:4]] == ["Bearer 1"] * 4


def test_a_proxy_is_used(server, ipu, tmp_path):
    server.always(serve())
    proxy = f', proxy-url: "http://127.0.0.1:{server.port}"'
    done = ipu(config(tmp_path, "api.invalid", "token: t", cluster=proxy), "why", "digits")
    assert (done.returncode, done.stderr) == (0, "") and server.seen[0].headers["Host"] == "api.invalid"


def test_a_proxy_of_the_environment_is_used(server, ipu, tmp_path):
    server.always(serve())
    env = {"http_proxy": f"http://127.0.0.1:{server.port}", "NO_PROXY": "elsewhere.invalid"}
    done = ipu(config(tmp_path, "api.invalid", "token: t"), "why", "digits", env=env)
    assert (done.returncode, done.stderr) == (0, "") and server.seen[0].headers["Host"] == "api.invalid"
    done = ipu(config(tmp_path, "api.invalid", "token: t"), "suspend", "digits", env=env | {"NO_PROXY": "api.invalid"})
    assert done.returncode == 1 and "cannot reach the API server http://api.invalid" in done.stderr
    nowhere = {"http_proxy": "http://127.0.0.1:1"}
    assert ipu(config(tmp_path, f"127.0.0.1:{server.port}", "token: t"), "why", "digits", env=nowhere).returncode == 0


@pytest.mark.parametrize("words, message", [
    (("--context", "other"), 'context "other" is not defined'),
    (("--context", "lost"), 'the context refers to cluster "gone", which is not defined'),
    (("--kubeconfig", "/nowhere"), "/nowhere"),
])
def test_contexts_that_cannot_be_used(server, ipu, tmp_path, words, message):
    lost = ", {name: lost, context: {cluster: gone, user: t}}"
    done = ipu(config(tmp_path, f"127.0.0.1:{server.port}", "token: t", lost), "why", "digits", *words)
    assert done.returncode == 1 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_context_brings_its_namespace(server, ipu, tmp_path):
    server.always(serve())
    other = ", {name: ml, context: {cluster: t, user: t, namespace: ml}}"
    ipu(config(tmp_path, f"127.0.0.1:{server.port}", "token: t", other), "why", "digits", "--context", "ml")
    assert {exchange.path.split("/")[exchange.path.split("/").index("namespaces") + 1] for exchange in server.seen if "/namespaces/" in exchange.path} == {"ml"}


@pytest.mark.parametrize("content_type, message", [("text/html", "does not answer as a Kubernetes API server; check server and proxy of"),
                                                   ("application/json", "invalid response from the API server")])
def test_somebody_else_answers(server, ipu, content_type, message):
    server.always(lambda exchange: exchange.reply(200, b"<html>", content_type=content_type))
    done = ipu(server.kubeconfig, "why", "digits")
    assert (done.returncode, done.stdout) == (1, "") and message in done.stderr and "cannot reach" not in done.stderr


def test_nobody_answers(ipu, tmp_path):
    done = ipu(config(tmp_path, "127.0.0.1:1", "token: t"), "suspend", "digits")
    assert done.returncode == 1 and "cannot reach the API server http://127.0.0.1:1 of context t of" in done.stderr


@pytest.mark.parametrize("words", [("why",), ("why", "a", "b"), ("queue", "a"), ("logs", "a", "--since", "soon"), ("logs", "a", "--since", "5"), ("nonsense",),
                                   ("why", "a", "-o", "yaml"), ("why", "a", "--nonsense")])
def test_wrong_usage_is_status_2_without_a_request(server, ipu, words):
    done = ipu(server.kubeconfig, *words)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("kubectl ipu: ")
    assert server.seen == []


def on_terminal(program, kubeconfig, *words, **env):
    """What is printed on a terminal of 20 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
                               env={"PATH": os.environ["PATH"], "KUBECONFIG": kubeconfig, "TERM": "xterm", **env})
    os.close(theirs)
    printed = b""
    try:
        while some := os.read(ours, 65536):
            printed += some
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    process.wait()
    return printed.decode()


def test_a_terminal_of_20_columns(server, program):
    waits = JOB | {"status": {"observedGeneration": 1, "launcherStatus": "Failed", "reason": "ContainerFailed",
                              "lastMessage": "A message that needs many more than twenty columns", "failures": []}}
    server.always(serve(waits))
    lines = on_terminal(program, server.kubeconfig, "why", "digits", NO_COLOR="").replace("\r", "").splitlines()
    assert len(lines) > 4 and all(len(line) <= 20 for line in lines[1:])
    assert "\x1b[31m" in on_terminal(program, server.kubeconfig, "why", "digits")
    assert "\x1b" not in on_terminal(program, server.kubeconfig, "why", "digits", NO_COLOR="")
    assert "\x1b" not in on_terminal(program, server.kubeconfig, "why", "digits", TERM="dumb")
    assert "\x1b" not in on_terminal(program, server.kubeconfig, "why", "digits", "--color", "never")


@pytest.mark.parametrize("words", ["queue", "queue -o wide", "top", "map", "whatif -o wide"])
def test_tables_and_the_map_fit_20_columns(server, program, words):
    status = {"queue": {"position": 1, "controller": "pod256.example.com:8090"}, "partitions": [{"id": "p", "ipus": 64}], "launcherStatus": "Running"}
    domain = {"name": "ild0", "size": 64, "free": "f" * 16}
    server.always(lambda exchange: exchange.reply(200, {"kind": "List", "metadata": {}, "items": [JOB | {"status": status}] if exchange.path.endswith("ipujobs") else [
        {"metadata": {"name": "pod256-with-a-long-name"}, "status": {"domains": [domain], "starts": [{"ipus": 1, "state": "Now"}], "conditions": [{"type": "Reachable", "status": "True"}]}}]}))
    lines = on_terminal(program, server.kubeconfig, *words.split(), NO_COLOR="").replace("\r", "").splitlines()
    assert len(lines) > 1 and all(len(line) <= 20 for line in lines), lines


def test_a_closed_output_is_no_matter(server, program):
    server.always(serve())
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([program, "why", "digits"], stdout=writer, stderr=subprocess.PIPE, timeout=60,
                          env={"PATH": os.environ["PATH"], "KUBECONFIG": server.kubeconfig})
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def at(seconds_ago, clock_ahead_s=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + clock_ahead_s - seconds_ago))


def told_by_controllers(seconds_ago, reachable="True", clock_ahead_s=0):
    """An API server whose clock is ahead, and whose V-IPU controllers an operator saw so long ago."""

    def answer(exchange):
        if exchange.path.endswith("/vipucontrollers"):
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": [{"metadata": {"name": "pod4"}, "status": {
                "lastAnswerTime": at(seconds_ago, clock_ahead_s), "starts": [{"ipus": 1, "state": "Now"}], "conditions": [{"type": "Reachable", "status": reachable}]}}]})
        elif exchange.path.endswith("/ipujobs"):
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": [JOB | {"status": {"queue": {"position": 1}}}]})
        else:
            serve()(exchange)

    return answer


SILENT = "No operator is running: its last sign is 14m old; ask an admin"


@pytest.mark.parametrize("words", ["why digits", "eta digits", "whatif", "queue", "top", "map"])
def test_an_operator_that_does_not_run_is_said(server, ipu, words):
    server.always(told_by_controllers(14 * 60 + 30))
    done = ipu(server.kubeconfig, *words.split())
    assert done.returncode == 0 and SILENT in re.sub(r"14m\d+s", "14m", done.stdout + done.stderr)
    if words != "map":
        report = json.loads(ipu(server.kubeconfig, *words.split(), "-o", "json").stdout)
        assert report["operatorLastSign"] < at(14 * 60)
    for make in (told_by_controllers(60), told_by_controllers(3600, reachable="False")):
        server.always(make)
        done = ipu(server.kubeconfig, *words.split())
        assert done.returncode == 0 and "No operator" not in done.stdout + done.stderr


def controller(seconds_ago):
    return {"kind": "VIPUController", "metadata": {"name": "pod4", "uid": "pod4", "resourceVersion": str(10_000 - seconds_ago)},
            "status": {"lastAnswerTime": at(seconds_ago), "conditions": [{"type": "Reachable", "status": "True"}]}}


@pytest.mark.parametrize("verb", ["queue", "map"])
def test_an_operator_that_ends_and_comes_back_is_said_while_changes_are_shown(server, program, verb):
    """Nothing comes from one that has ended: its last sign becomes three minutes old."""
    api = Api(server)
    api.items["vipucontrollers"] = [controller(172)]
    with subprocess.Popen([program, verb, "-w"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env={"PATH": os.environ["PATH"], "KUBECONFIG": server.kubeconfig}) as watching:
        assert watching.stderr.readline().startswith("kubectl ipu: No operator is running: its last sign is 3m")
        api.change("vipucontrollers", "MODIFIED", controller(0))
        assert watching.stderr.readline() == "kubectl ipu: an operator is running again\n"
        watching.kill()
    api.close()


@pytest.mark.parametrize("verb", ["queue", "map"])
def test_a_terminal_shows_that_no_operator_runs_as_long_as_none_does(server, program, verb):
    api = Api(server)
    api.items["vipucontrollers"] = [controller(14 * 60 + 30)]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    watching = subprocess.Popen([program, verb, "-w"], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
                                env={"PATH": os.environ["PATH"], "KUBECONFIG": server.kubeconfig, "NO_COLOR": ""})
    os.close(theirs)
    printed = ""

    def screen():
        nonlocal printed
        printed += os.read(ours, 65536).decode()
        return printed.rsplit("\x1b[H\x1b[J", 1)[-1]

    while not re.match(r"No operator is running: its last sign is 14m(\d+s)? old; ask an admin\r\n.", screen(), re.S):
        pass
    api.change("vipucontrollers", "MODIFIED", controller(0))
    while "No operator" in screen():
        pass
    watching.kill()
    watching.wait()
    os.close(ours)
    api.close()


@pytest.mark.parametrize("words", ["why dgits", "eta dgits", "whatif dgits", "logs dgits", "suspend dgits", "release dgits"])
def test_a_job_that_does_not_exist_names_the_one_that_may_be_meant(server, ipu, words):
    pod = {"metadata": {"name": "digits-worker-2", "labels": {"graphcore.ai/job-name": "digits"}}}

    def answer(exchange):
        if exchange.path.endswith("/ipujobs"):
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": [JOB]})
        elif exchange.path.endswith("/pods/digits-worker-2"):
            exchange.reply(200, pod)
        elif exchange.path.endswith(("/pods", "/events", "/vipucontrollers")):
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": []})
        else:
            exchange.status(404, "NotFound", f'ipujobs.graphcore.ai "{exchange.path.rpartition("/")[2]}" not found')

    server.always(answer)
    for name, told in (("dgits", 'ipujobs.graphcore.ai "dgits" not found in namespace default; did you mean digits?'),
                       ("digits-worker-2", "digits-worker-2 is a pod of job digits in namespace default; name the job"),
                       ("another", 'ipujobs.graphcore.ai "another" not found in namespace default')):
        done = ipu(server.kubeconfig, *words.replace("dgits", name).split())
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"kubectl ipu: {told}\n")


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_clocks_that_are_an_hour_apart(server, ipu, ahead_s):
    """Ages are told by the API server's clock: the times are from there."""
    server.clock_ahead_s = ahead_s
    server.always(told_by_controllers(60, clock_ahead_s=ahead_s))
    assert "No operator" not in ipu(server.kubeconfig, "queue").stderr
    failed = {"observedGeneration": 1, "launcherStatus": "Failed", "reason": "ContainerFailed", "completionTime": at(600, ahead_s)}
    server.always(serve(JOB | {"status": failed}))
    assert re.match(r"digits has failed: ContainerFailed, for 10m", ipu(server.kubeconfig, "why", "digits").stdout)
