"""What programs report of their progress, from tokens that the API server issues to the job's status; and what attackers send."""

import base64
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import re
import socket
import ssl
import threading

import pytest
from operator_program import Operator
from test_metrics import samples
from test_page_floods import BOUND_BYTES, forget_peak, is_open, peak_bytes, small_quarantine  # noqa: F401
from waiting import DEADLINE_S, until
from world import OPERATOR_NS

SECRET = "ipu-operator-progress"
AUDIENCE = "graphcore.ai/progress"
URL, CA, TOKEN = (f"KUBEFLOW_TRAINER_SERVER_{name}" for name in ("URL", "CA_CERT", "TOKEN"))
CONNECTIONS_PER_PEER = 64  # of operator/serve/progress/progress_server.c
REPORTS_MAX = 20  # PROGRESS_REPORTS_MAX of operator/progress/job_progress.h
SLOW_JOBS, SLOW_WRITE_S = 32, 2
BODY_MAX = 64 << 10  # PROGRESS_BODY_MAX of operator/progress/report.h


def report(percent=42, seconds=900, **metrics):
    """As transformers' callback sends it."""
    return {"trainerStatus": {"progressPercentage": percent, "estimatedRemainingSeconds": seconds,
                              "metrics": [{"name": name, "value": value} for name, value in metrics.items()],
                              "lastUpdatedTime": "2026-01-23T10:30:45.123456+00:00"}}


class Pod:
    """A job's pod as its program sees it: what its variables name."""

    def __init__(self, world, pod):
        self.world, self.meta = world, pod["metadata"]
        self.env = {item["name"]: item.get("value") for item in pod["spec"]["containers"][0]["env"]}
        self.trust = ssl.create_default_context(cadata=self.meta["annotations"]["graphcore.ai/progress-ca"])

    def token(self, audience=AUDIENCE, bound=True):
        what = {"kind": "Pod", "apiVersion": "v1", "name": self.meta["name"], "uid": self.meta["uid"]}
        return self.world.api.create("serviceaccounts", self.meta["namespace"], {"spec": {
            "audiences": [audience], "expirationSeconds": 600, **({"boundObjectRef": what} if bound else {})}},
            "token", "default")["status"]["token"]

    def connect(self):
        host, _, port = self.env[URL].removeprefix("https://").partition("/")[0].partition(":")
        return http.client.HTTPSConnection(host, int(port), context=self.trust, timeout=DEADLINE_S)

    def post(self, token, body):
        """Status and text."""
        connection = self.connect()
        try:
            connection.request("POST", "/" + self.env[URL].split("/", 3)[3], body if isinstance(body, bytes) else json.dumps(body),
                               {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture
def operator(world, vipu):
    world.api.apply("secrets", OPERATOR_NS, {"metadata": {"name": SECRET}})
    made = world.start_operator(vipu.address, "--progress", SECRET, "--progress-port", "0")
    made.until_logged("serving reports of progress")
    yield made
    world.api.delete("secrets", OPERATOR_NS, SECRET)


def running(world, name, **spec):
    """Its first pod, whose program can report."""
    job = world.job(name, **spec)
    pods = job.run_pods(int(spec.get("jobInstances", 1)))
    job.wait("Running")
    return job, [Pod(world, pod) for _, pod in sorted(pods.items())]


def wait_progress(job, **wanted):
    def shown():
        progress = job.status.get("progress", {})
        return all(progress.get(key) == value for key, value in wanted.items()) and job.status
    return until(shown, f"the progress is {wanted}", 2 * DEADLINE_S, lambda: json.dumps(job.status, indent=1) + job.world.tell())


def test_a_report_is_shown_in_the_status(world, operator):
    job, (pod,) = running(world, "digits")
    assert pod.post(pod.token(), report(loss="0.23", grad_norm="nan")) == (200, "{}")
    status = wait_progress(job, summary="42%", percentage=42, instancesReporting=1)
    assert status["trainerStatus"]["progressPercentage"] == 42
    assert status["trainerStatus"]["estimatedRemainingSeconds"] == 900
    assert status["trainerStatus"]["metrics"] == [{"name": "loss", "value": "0.23"}, {"name": "grad_norm", "value": "nan"}]
    assert status["trainerStatus"]["lastUpdatedTime"] > "2026-01-24", "the pod's clock is not used"
    assert status["progress"]["instances"][0]["worker"] == 0 and "stale" not in status["progress"]
    assert pod.post(pod.token(), report(100, 0))[0] == 200
    status = wait_progress(job, summary="100%")
    assert "metrics" not in status["trainerStatus"] or status["trainerStatus"]["metrics"]
    world.kubelet.succeed(world.api.get("pods", job.ns, pod.meta["name"]))
    assert job.wait("Completed")["progress"]["percentage"] == 100, "the operator's own writes keep it"


def test_pods_have_what_clients_look_for(world, operator):
    job, (pod,) = running(world, "digits")
    made = job.pods()["digits-worker-0"]
    volume = next(item for item in made["spec"]["volumes"] if item["name"] == "ipu-progress")
    mount = next(item for item in made["spec"]["containers"][0]["volumeMounts"] if item["name"] == "ipu-progress")
    token, ca = volume["projected"]["sources"]
    assert token["serviceAccountToken"]["audience"] == AUDIENCE and pod.env[TOKEN] == f"{mount['mountPath']}/token"
    assert ca["downwardAPI"]["items"][0]["path"] == "ca.crt" and pod.env[CA] == f"{mount['mountPath']}/ca.crt"


def test_the_users_own_server_is_left_alone(world, operator):
    job = world.job("own", workers={"template": {"spec": {"containers": [
        {"name": "train", "image": "docker.io/library/train:1", "command": ["train"], "env": [{"name": URL, "value": "https://mine"}]}]}}})
    pod = job.wait_pods(1)["own-worker-0"]
    env = {item["name"]: item.get("value") for item in pod["spec"]["containers"][0]["env"]}
    assert env[URL] == "https://mine" and CA not in env and TOKEN not in env
    assert not any(volume["name"] == "ipu-progress" for volume in pod["spec"]["volumes"])


def test_instances_are_told_apart(world, operator):
    job, pods = running(world, "many", jobInstances=2, ipusPerJobInstance="1")
    for percent, pod in zip((20, 60), pods, strict=True):
        assert pod.post(pod.token(), report(percent))[0] == 200
    status = wait_progress(job, percentage=40, instancesReporting=2)
    assert [item["percentage"] for item in status["progress"]["instances"]] == [20, 60]


def test_nonsense_is_answered_and_marked(world, operator):
    """A client repeats what is not answered with 200 at every step of its loop."""
    job, (pod,) = running(world, "digits")
    assert pod.post(pod.token(), report(7))[0] == 200
    assert pod.post(pod.token(), report(4711))[0] == 200
    status = wait_progress(job, summary="7% (invalid)")
    assert status["progress"]["problem"] == "trainerStatus.progressPercentage must be a whole number from 0 to 100, got 4711"
    assert pod.post(pod.token(), b"no json at all")[0] == 200
    assert pod.post(pod.token(), {})[0] == 200
    assert pod.post(pod.token(), report(8))[0] == 200
    assert "problem" not in wait_progress(job, summary="8%")["progress"]


def with_claims(token, **claims):
    header, body, signature = token.split(".")
    changed = json.loads(base64.urlsafe_b64decode(body + "==")) | claims
    return ".".join([header, base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode(), signature])


def without_signature(token):
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    return f"{header}.{token.split('.')[1]}."


def test_nobody_reports_for_another(world, operator):
    job, (pod,) = running(world, "digits")
    good = pod.token()
    stranger = world.api.create("pods", world.ns, {"metadata": {"name": "stranger"}, "spec": {"containers": [
        {"name": "c", "image": "docker.io/library/c:1"}]}})
    theirs = Pod(world, {"metadata": stranger["metadata"] | {"annotations": pod.meta["annotations"]},
                         "spec": {"containers": [{"env": [{"name": URL, "value": pod.env[URL]}]}]}})
    for token, status, text in [
            (None, 401, "a token of the pod is required"),
            ("not-a-token", 401, "the token is not a signed JWT"),
            (without_signature(good), 401, "the token is not a signed JWT"),
            (with_claims(good, exp=4102444800), 401, "the token's signature is wrong"),
            (pod.token(audience="https://kubernetes.default.svc"), 401, "the token is for another audience"),
            (pod.token(bound=False), 401, "the token is not bound to a pod"),
            (theirs.token(), 403, f"pod {world.ns}/stranger is no running pod of an IPUJob"),
    ]:
        assert pod.post(token, report(99)) == (status, text + "\n")
    assert "progress" not in job.status
    assert pod.post(good, report(1))[0] == 200
    wait_progress(job, summary="1%")


def test_a_report_counts_for_the_senders_job_only(world, operator):
    """Whatever the body or the path says: the token tells whose it is."""
    mine, (pod,) = running(world, "mine")
    other, (victim,) = running(world, "other")
    forged = report(99) | {"metadata": {"name": "other", "uid": other.uid}, "pod": victim.meta}
    assert pod.post(pod.token(), forged)[0] == 200
    pod.env[URL] += "/namespaces/x/ipujobs/other"
    assert pod.post(pod.token(), forged)[0] == 404
    wait_progress(mine, summary="99%")
    assert "progress" not in other.status


def test_a_pod_that_pretends_to_be_of_a_job_is_rejected(world, operator):
    """Who may create pods can copy labels, annotations and owner of a job's, but not the name."""
    job, (pod,) = running(world, "digits")
    copy = job.pods()["digits-worker-0"]
    meta = {key: copy["metadata"][key] for key in ("labels", "annotations", "ownerReferences")}
    forged = world.api.create("pods", world.ns, {"metadata": {"name": "forged", **meta}, "spec": {"containers": [
        {"name": "c", "image": "docker.io/library/c:1", "env": [{"name": URL, "value": pod.env[URL]}]}]}})
    status, text = Pod(world, forged).post(Pod(world, forged).token(), report(99))
    assert (status, text) == (403, f"pod {world.ns}/forged is no running pod of an IPUJob\n")


def test_large_bodies_and_other_requests_are_rejected(world, operator):
    _, (pod,) = running(world, "digits")
    connection = pod.connect()
    connection.putrequest("POST", "/" + pod.env[URL].split("/", 3)[3])
    connection.putheader("Content-Length", str(BODY_MAX + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    connection = pod.connect()
    connection.request("GET", "/" + pod.env[URL].split("/", 3)[3])
    assert connection.getresponse().status == 405
    connection.close()
    assert operator.ask("/progress?a&b&c", "{}")[0] == 403, "only standbys have the leader's key"


def test_a_flood_costs_little(world, operator):
    job, (pod,) = running(world, "digits")
    token = pod.token()
    large = json.dumps(report(5, **{f"metric-{n}": "0" * 60 for n in range(500)})).encode()
    assert len(large) < BODY_MAX
    idle = forget_peak(operator)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: pod.post(token, large)[0], range(400)))
    assert set(answers) == {200}
    assert peak_bytes(operator) - idle < BOUND_BYTES
    assert operator.health("/healthz") == 200
    status = wait_progress(job, summary="5%")
    assert len(status["trainerStatus"]["metrics"]) == 256 and status["progress"]["droppedMetrics"] == 244


def test_idle_connections_shut_nobody_out(world, operator):
    """Those of one address are closed one after the other, and those of others stay."""
    job, (pod,) = running(world, "digits")
    token = pod.token()
    with contextlib.ExitStack() as stack:
        patient = stack.enter_context(contextlib.closing(pod.connect()))
        patient.source_address = ("127.0.0.2", 0)
        patient.connect()
        address = patient.sock.getpeername()
        idle = [stack.enter_context(socket.create_connection(address, DEADLINE_S)) for _ in range(2 * CONNECTIONS_PER_PEER)]
        assert pod.post(token, report(3))[0] == 200
        until(lambda: sum(map(is_open, idle)) <= CONNECTIONS_PER_PEER, "one address has few connections", tell=operator.tail)
        assert is_open(patient.sock)
    wait_progress(job, summary="3%")


def test_a_body_that_does_not_come_holds_nobody_up(world, operator):
    job, (pod,) = running(world, "digits")
    token = pod.token()
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS_PER_PEER):
            slow = stack.enter_context(contextlib.closing(pod.connect()))
            slow.putrequest("POST", "/" + pod.env[URL].split("/", 3)[3])
            slow.putheader("Authorization", f"Bearer {token}")
            slow.putheader("Content-Length", str(BODY_MAX))
            slow.endheaders(b"{")
        assert pod.post(token, report(4))[0] == 200
    wait_progress(job, summary="4%")


def test_who_sends_many_reports_is_read_as_often_as_others(world, operator):
    job, (pod,) = running(world, "digits")
    token = pod.token()
    with contextlib.closing(pod.connect()) as connection:
        for percent in range(1, REPORTS_MAX + 11):
            connection.request("POST", "/" + pod.env[URL].split("/", 3)[3], json.dumps(report(percent)), {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"{}")
    wait_progress(job, summary=f"{REPORTS_MAX}%")


def patches_of_jobs(operator):
    return samples(operator).get(("ipu_operator_api_requests_total", "PATCH", "ipujobs"), 0)


def test_writes_to_the_api_server_are_few(world, operator):
    job, (pod,) = running(world, "digits")
    token = pod.token()
    assert pod.post(token, report(1))[0] == 200
    wait_progress(job, summary="1%")
    before = patches_of_jobs(operator)
    for percent in range(2, 17):
        assert pod.post(token, report(percent))[0] == 200
    wait_progress(job, summary="16%")
    assert patches_of_jobs(operator) - before <= 2, "one of the progress, perhaps one of the operator's own"


def test_every_job_has_its_turn_when_the_api_server_is_slow(world, vipu):
    """When those that were written first are due again, the others have not all been written."""
    world.api.apply("secrets", OPERATOR_NS, {"metadata": {"name": SECRET}})
    proxy, is_slow, over = world.make_api_proxy(), threading.Event(), threading.Event()

    def before(seen):
        if is_slow.is_set() and seen.method == "PATCH" and seen.path.endswith("/status") and "/ipujobs/" in seen.path:
            over.wait(SLOW_WRITE_S)
        return True

    proxy.before = before
    operator = world.start_operator(vipu.address, "--progress", SECRET, "--progress-port", "0", proxy=proxy)
    operator.until_logged("serving reports of progress")
    jobs = [world.job(f"one-{number}", ipusPerJobInstance="1") for number in range(SLOW_JOBS)]
    pods = [Pod(world, next(iter(job.run_pods(1).values()))) for job in jobs]
    for job in jobs:
        job.wait("Running")
    tokens, turn = [pod.token() for pod in pods], itertools.count(1)
    is_slow.set()

    def all_shown():
        percent = next(turn)
        for pod, token in zip(pods, tokens, strict=True):
            assert pod.post(token, report(percent))[0] == 200
        return all("progress" in item.get("status", {}) for item in world.api.list("ipujobs", world.ns))

    try:
        until(all_shown, "each job shows progress", tell=world.tell, first_pause_s=1)
    finally:
        over.set()
    world.api.delete("secrets", OPERATOR_NS, SECRET)


def test_a_new_leader_marks_what_is_not_reported_any_more(world, vipu, operator):
    job, pods = running(world, "many", jobInstances=2, ipusPerJobInstance="1")
    for percent, pod in zip((20, 60), pods, strict=True):
        assert pod.post(pod.token(), report(percent, loss=str(percent)))[0] == 200
    wait_progress(job, percentage=40, instancesReporting=2)
    operator.kill()
    world.forget_lease()
    operator.start().until_working()  # before, it answers 200 and counts nothing
    port = re.findall(r"progress_port\W+(\d+)", operator.log())[-1]
    pods[0].env[URL] = re.sub(r":\d+/", f":{port}/", pods[0].env[URL], count=1)
    token = pods[0].token()
    until(lambda: pods[0].post(token, report(30))[0] == 200, "the new leader is there", tell=operator.tail)
    assert wait_progress(job, percentage=45)["progress"]["instancesReporting"] == 2, "the other one is not forgotten"
    status = wait_progress(job, summary="45% (stale)")
    assert [item.get("stale", False) for item in status["progress"]["instances"]][1]
    assert status["trainerStatus"]["metrics"] == [{"name": "loss", "value": "20"}]


def test_a_standby_sends_reports_on(world, vipu, operator):
    job, (pod,) = running(world, "digits")
    operator.kill()
    world.forget_lease()
    operator.flags += ["--pod-address", "127.0.0.1"]
    operator.start().until_working()
    standby = Operator(world.folder, *operator.flags)
    standby.log_path = world.folder / "standby.log"
    standby.log_path.touch()
    world.keep(standby, standby.kill)
    standby.start().until_logged("serving reports of progress")
    port = re.search(r"progress_port\W+(\d+)", standby.log())[1]
    until(lambda: standby.health("/readyz") == 200, "the standby is ready", tell=standby.tail)
    pod.env[URL] = re.sub(r":\d+/", f":{port}/", pod.env[URL], count=1)
    assert pod.post(pod.token(), report(33))[0] == 200
    wait_progress(job, summary="33%")
