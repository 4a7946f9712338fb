"""Requests, watches and logs when the API server breaks off, is busy, forgets or rejects."""

import json
import threading
import time
import warnings

import ipu_jobs
import pytest
from scripted import Answer, change, failure, job, pod

GET = "GET /apis/graphcore.ai/v1alpha1/namespaces/ml/ipujobs/j"
JOBS = "GET /apis/graphcore.ai/v1alpha1/namespaces/ml/ipujobs"
WATCH = f"{JOBS}?watch=1"
POD = "GET /api/v1/namespaces/ml/pods/j-worker-0"
LOG = f"{POD}/log"
POD_WATCH = "GET /api/v1/namespaces/ml/pods?watch=1"
PATCH = "PATCH /apis/graphcore.ai/v1alpha1/namespaces/ml/ipujobs/j"
CREATE = "POST /apis/graphcore.ai/v1alpha1/namespaces/ml/ipujobs"


@pytest.fixture
def known(server, cluster):
    """A job that was read at version 5."""
    server.on(WATCH, b"")
    server.on(GET, job(5))
    return cluster.job("j")


def test_an_older_version_never_replaces_what_a_write_returned(server, known):
    server.on(GET, job(9, "Suspended"))
    server.on(PATCH, job(8, "Running"))
    known.suspend()
    assert known.object["metadata"]["resourceVersion"] == "8"
    assert server.bodies[-1] == {"metadata": {"uid": "u1"}, "spec": {"suspend": True}}
    # A watch that began before the write, and a reading by another thread that overtook it.
    server.on(WATCH, Answer(change("MODIFIED", job(7, "Failed")) + change("MODIFIED", job(10, "Completed"))))
    server.on(GET, job(6, "Failed"))
    assert known.wait(timeout=60).object["metadata"]["resourceVersion"] == "10"


def test_state_is_read_again_when_it_is_old(server, known, monkeypatch):
    before = server.count(GET)
    assert known.state == "Running" and known.message == "it is Running" and server.count(GET) == before
    server.on(GET, job(6, "Completed", reason="Completed"))
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + 2)
    assert (known.state, known.reason) == ("Completed", "Completed") and server.count(GET) == before + 1
    assert repr(known) == "<Job ml/j: Completed>"


def test_a_write_makes_the_state_be_read(server, known):
    server.on("DELETE", {})
    server.on(GET, failure(404, 'ipujobs.graphcore.ai "j" not found'))
    assert known.delete().state == "Deleted"
    assert server.bodies[server.requests.index(next(r for r in server.requests if r.startswith("DELETE")))] == {
        "propagationPolicy": "Background", "preconditions": {"uid": "u1"}}


def test_each_change_is_seen_once(server, known):
    server.on(WATCH, Answer([change("MODIFIED", job(6)), change("MODIFIED", job(7, "Restarting"))]),
              Answer(change("MODIFIED", job(8, "Failed"))))
    server.on(GET, job(5))
    assert [each.object["status"]["launcherStatus"] for each in known.watch()] == ["Running", "Restarting", "Failed"]


def test_a_watch_begins_at_the_newest_version(server, known):
    server.on(WATCH, Answer(change("MODIFIED", job(6))), Answer(change("DELETED", job(7))))
    known.wait("Deleted")
    watches = [request for request in server.requests if request.startswith(WATCH)]
    assert [request.partition("resourceVersion=")[2].partition("&")[0] for request in watches] == ["5", "6"]


@pytest.mark.parametrize("trouble", [
    Answer(change("MODIFIED", job(6)), breaks=True),
    Answer(change("ERROR", {"code": 410, "message": "too old resource version"})),
    failure(410, "too old resource version"),
    failure(500, "etcdserver: leader changed"),
    Answer(b'{"type": "MODIFIED", "obj', breaks=True),
])  # fmt: skip
def test_waiting_survives_a_broken_watch(server, known, trouble):
    server.on(WATCH, trouble, trouble, trouble, trouble, Answer(change("MODIFIED", job(9, "Completed"))))
    assert known.wait(timeout=60).state == "Completed"


class Clock:
    """Pauses pass at once."""

    def __init__(self):
        self.passed, self._real = 0, time.monotonic

    def sleep(self, seconds):
        self.passed += seconds

    def monotonic(self):
        return self._real() + self.passed


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.sleep", clock.sleep)
    monkeypatch.setattr("time.monotonic", clock.monotonic)
    return clock


def test_waiting_survives_an_api_server_that_is_away_but_not_for_ever(server, known, clock):
    server.on(GET, *[failure(503)] * 12, job(9, "Completed"))
    known.wait()
    server.on(GET, failure(503, "apiserver is shutting down"))
    with pytest.raises(ipu_jobs.ApiError, match="apiserver is shutting down"):
        known.wait("Deleted")
    assert clock.passed > 300


def test_a_job_of_another_uid_is_not_this_one(server, known):
    server.on(WATCH, Answer(change("ADDED", job(7, uid="u2"))))
    with pytest.raises(ipu_jobs.JobDeleted):
        known.wait()


def test_waiting_for_what_cannot_come(server, known):
    server.on(GET, job(6, "Completed"))
    assert known.wait("Running") is known
    with pytest.raises(ipu_jobs.IpuJobsError, match="ml/j is Completed and cannot become Failed"):
        known.wait("Failed")
    with pytest.raises(ipu_jobs.IpuJobsError, match="until must be one of Pending, Starting, .*, got 'Done'"):
        known.wait("Done")


def test_an_interrupt_ends_the_waiting_only(server, known, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ipu_jobs.Cluster, "watch_job", interrupted)
    with pytest.raises(KeyboardInterrupt):
        known.wait()
    assert capsys.readouterr().err == "ml/j continues; job.delete() ends it\n" and not server.count("DELETE")


def test_a_busy_server_is_asked_again(server, cluster):
    server.on(CREATE, failure(429, "too many requests", Retry_After="1"), failure(429), job(5))
    assert cluster.submit(["train"], image="i").name == "j" and server.count(CREATE) == 3


def test_a_creation_of_unknown_outcome_is_not_repeated(server, cluster):
    server.on(CREATE, failure(504, "request timed out"))
    with pytest.raises(ipu_jobs.ApiError, match="request timed out"):
        cluster.submit(["train"], image="i")
    assert server.count(CREATE) == 1


def test_a_new_token_is_taken_once(server, cluster):
    server.on(GET, job(5), failure(401), job(6))
    found = cluster.job("j")
    server.kubeconfig.write_text(server.kubeconfig.read_text().replace("first", "second"))
    assert found.refresh().object["metadata"]["resourceVersion"] == "6"
    assert server.tokens == ["Bearer first", "Bearer first", "Bearer second"]
    server.on(GET, failure(401))
    with pytest.raises(ipu_jobs.ApiError, match="the API server does not accept your credentials; log in again"):
        found.refresh()


def test_rejections_are_those_of_the_server(server, cluster):
    server.on(CREATE, failure(422, "IPUJob is invalid: spec.a: x; spec.b: y"))
    with pytest.raises(ipu_jobs.ApiError, match="IPUJob is invalid: spec.a: x; spec.b: y"):
        cluster.submit(["train"], image="i")
    server.on(JOBS, Answer(b"404 page not found", 404))
    with pytest.raises(ipu_jobs.ApiError, match="this cluster has no IPUJobs; install the IPU operator"):
        cluster.jobs()
    server.on(JOBS, Answer(b"<html>proxy</html>", 403))
    with pytest.raises(ipu_jobs.ApiError, match="the API server answered 403: <html>proxy</html>"):
        cluster.jobs()


def test_warnings_of_the_server_are_warnings(server, cluster):
    server.on(CREATE, Answer(job(5), Warning='299 - "spec.workers.template: unknown field x"'))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cluster.submit(["train"], image="i")
        with cluster:
            ipu_jobs.submit(["train"], image="i")
    assert [str(each.message) for each in caught] == ["spec.workers.template: unknown field x"] * 2
    assert {each.filename for each in caught} == {__file__}


def test_an_unreachable_server(cluster, server):
    server.close()
    with pytest.raises(ipu_jobs.Unreachable, match="the Kubernetes API server http://127.0.0.1:.* does not answer"):
        cluster.jobs()


def test_without_a_kubeconfig(monkeypatch, tmp_path):
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ipu_jobs.IpuJobsError, match="no Kubernetes cluster is configured: .*; set KUBECONFIG"):
        ipu_jobs.Cluster().jobs()


def test_in_a_pod_the_account_and_namespace_are_those_of_the_pod(monkeypatch, tmp_path):
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    for name, file in (("SERVICE_TOKEN_FILENAME", "token"), ("SERVICE_CERT_FILENAME", "ca.crt")):
        (tmp_path / file).write_text("text")
        monkeypatch.setattr(f"kubernetes.config.incluster_config.{name}", str(tmp_path / file))
    (tmp_path / "namespace").write_text("team\n")
    monkeypatch.setattr("ipu_jobs.cluster.IN_POD", str(tmp_path / "namespace"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    assert ipu_jobs.Cluster().default_namespace() == "team"


def test_an_unknown_context(cluster):
    with pytest.raises(ipu_jobs.IpuJobsError, match="the kubeconfig has no usable context other"):
        ipu_jobs.Cluster(context="other").jobs()


def test_names_cannot_leave_their_place_in_the_path(server, cluster):
    with pytest.raises(ipu_jobs.IpuJobsError):
        cluster.job("../../secrets/x?y")
    assert server.requests[-1].endswith("/namespaces/ml/ipujobs/../../secrets/x?y")  # quoted, as one segment
    assert len(server.requests) == 1


# Logs.

T = "2026-01-02T03:04:"


def stamped(*lines):
    return "".join(f"{T}{line}\n" for line in lines).encode()


def test_a_log_that_has_ended(server, known):
    server.on(LOG, Answer([b"one\ntw", b"o\n\xff\nthree"]))
    server.on(POD, pod(1, "terminated"))
    assert list(known.logs()) == ["one", "two", "\ufffd", "three"]
    list(known.logs(tail=2))
    assert [request[len(LOG):] for request in server.requests if request.startswith(LOG)] == [
        "?container=train", "?container=train&tailLines=2"]


def test_a_log_without_a_pod(server, known):
    with pytest.raises(ipu_jobs.IpuJobsError, match="pod j-worker-0 has no log yet; ml/j is Running: it is Running"):
        list(known.logs())
    server.on(GET, job(6, "Completed"))
    with pytest.raises(ipu_jobs.IpuJobsError, match="pod j-worker-0 is gone, or was never started; ml/j is Completed"):
        list(known.logs())


def test_a_broken_stream_is_resumed_without_loss_or_repetition(server, known):
    server.on(LOG,
              Answer([stamped("05.1Z a", "05.2Z b", "06.1+01:00 c", "06.2+01:00 d"), b"2026-01-02T03:04:06.3+01:00 e, hal"], breaks=True),
              Answer(stamped("06.1+01:00 c", "06.2+01:00 d", "06.3+01:00 e, whole", "06.4+01:00 f", "07Z g")),
              Answer(stamped("07Z g", "07Z g", "08Z ")))
    server.on(POD_WATCH, b"")
    server.on(POD, pod(1, "running"), pod(1, "running"), pod(2, "terminated"))
    server.on(GET, job(6, "Completed"))
    assert list(known.logs(follow=True)) == ["a", "b", "c", "d", "e, whole", "f", "g", "g", ""]
    assert [request.partition("sinceTime=")[2] for request in server.requests if request.startswith(LOG)] == [
        "", f"{T}06+01:00", f"{T}07Z"]


def test_a_log_is_followed_through_a_restart(server, known):
    server.on(LOG, Answer(stamped("01Z first")), Answer(stamped("01Z second")))
    server.on(POD_WATCH, b"")
    server.on(POD, failure(404), pod(1, None), pod(2, "terminated"), pod(2, "terminated"), pod(3, "terminated", uid="p2"))
    server.on(GET, job(6, "Restarting"), job(6, "Restarting"), job(6, "Restarting"), job(7, "Completed"))
    assert list(known.logs(follow=True)) == ["first", "second"]


@pytest.mark.parametrize("last", [failure(404), pod(1, None) | {"spec": {"containers": [{"name": "train"}]}},
                                  pod(1, "waiting") | {"status": {"phase": "Failed"}}])
def test_following_ends_with_a_job_that_never_started(server, known, last):
    server.on(POD, last)
    server.on(GET, job(6, "Failed"))
    assert list(known.logs(follow=True)) == []


def test_following_survives_an_api_server_that_is_away(server, known):
    server.on(POD, failure(503), failure(503), failure(503), failure(503), pod(1, "running"), pod(1, "running"), pod(2, "terminated"))
    server.on(LOG, *[failure(502)] * 4, Answer(stamped("01Z a")), Answer(stamped("01Z a", "02Z b")))
    server.on(POD_WATCH, failure(503))
    server.on(GET, *[failure(503)] * 4, job(7, "Completed"))
    assert list(known.logs(follow=True)) == ["a", "b"]


def test_following_does_not_hide_a_node_without_a_log(server, known, clock):
    server.on(POD, pod(1, "running"))
    server.on(POD_WATCH, failure(403, "forbidden"))
    server.on(LOG, Answer(stamped("01Z a")))
    with pytest.raises(ipu_jobs.ApiError, match="forbidden"):
        list(known.logs(follow=True))


def test_a_watch_that_ends_at_once_is_not_begun_again_at_once(server, known, clock):
    server.on(WATCH, b"")
    server.on(GET, job(5))
    with pytest.raises(TimeoutError, match="^ml/j is not Completed after 20 s; it is Running: it is Running$"):
        known.wait(timeout=20)
    assert 19 <= clock.passed and server.count(WATCH) <= 21
    with pytest.raises(TimeoutError, match="^ml/j has not ended after 3 s; it is Running: it is Running$"):
        list(known.watch(timeout=3))


def test_the_backend_of_a_block(server, cluster):
    server.on(GET, job(5))
    with cluster:
        assert ipu_jobs.job("j").name == "j"
        seen = []
        thread = threading.Thread(target=lambda: seen.append(ipu_jobs.backend.current()))
        thread.start()
        thread.join()
    assert seen[0] is not cluster and ipu_jobs.backend.current() is seen[0]


def test_a_huge_answer_is_not_read_to_its_end(server, cluster, monkeypatch):
    monkeypatch.setattr("ipu_jobs.cluster.BODY_MAX", 1000)
    server.on(JOBS, Answer(json.dumps({"items": ["x" * 2000]}).encode()))
    with pytest.raises(ipu_jobs.IpuJobsError, match="is larger than"):
        cluster.jobs()
