"""What a kubelet is told by the chart's probes: a loop that is stuck and a lease that is lost are seen."""

import concurrent.futures
import contextlib
import itertools
import os
import re
import resource
import socket
import subprocess
import threading
import urllib.request
from datetime import datetime, timezone

import pytest

from api_proxy import FORBIDDEN
from operator_program import Operator
from test_admission import Webhooks, job, well_judged
from waiting import DEADLINE_S, until
from world import LEASE, OPERATOR_NS, pod_template

LOST_LEASE = 1
RENEW_DEADLINE_S = 10
READYZ = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def probes(cluster):
    """The probes of the chart by their paths."""
    (pod,) = [item["spec"]["template"]["spec"] for item in cluster.rendered() if item["kind"] == "Deployment"]
    both = (pod["containers"][0][kind] for kind in ("livenessProbe", "readinessProbe"))
    return {probe["httpGet"]["path"]: probe for probe in both}


class Kubelet:
    """Asks as the chart's probes say."""

    def __init__(self, operator, probes):
        self._operator, self._probes = operator, probes

    def is_content(self, path):
        page = self._operator.page(path)
        try:
            return bool(page) and urllib.request.urlopen(page, timeout=self._probes[path]["timeoutSeconds"]).status == 200
        except OSError:
            return False

    def sees(self):
        return {path: self.is_content(path) for path in self._probes}


ALL_WELL = {"/healthz": True, "/readyz": True}
NOTHING_WELL = {"/healthz": False, "/readyz": False}


def test_the_probes_are_asked_often_enough(probes):
    """The vendor's chart asked whether its controller lives every 20,000 seconds."""
    assert probes.keys() == ALL_WELL.keys()
    for probe in probes.values():
        assert probe["periodSeconds"] * probe.get("failureThreshold", 3) <= 30


def make_certificate(folder):
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=x", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"], check=True, capture_output=True)
    return folder


def seconds_since_renewal(world):
    renewed = datetime.fromisoformat(world.lease()["spec"]["renewTime"].replace("Z", "+00:00"))
    return (datetime.now(timezone.utc) - renewed).total_seconds()


def test_a_stuck_loop_is_seen_and_costs_the_lease(world, vipu, probes):
    """A file that is read now and then stands still, as one on a network that is gone does: here a pipe without a writer."""
    certificate = make_certificate(world.folder / "tls")
    operator = world.start_operator(vipu.address, "--metrics", "secure", "--metrics-port", "0", "--metrics-certificate", certificate)
    kubelet = Kubelet(operator, probes)
    until(lambda: kubelet.sees() == ALL_WELL, "all is well", tell=world.tell)
    os.link(certificate / "tls.crt", certificate / "before")
    os.mkfifo(certificate / "pipe")
    os.replace(certificate / "pipe", certificate / "tls.crt")
    until(lambda: kubelet.sees() == NOTHING_WELL, "neither page is answered", tell=world.tell)
    until(lambda: seconds_since_renewal(world) > RENEW_DEADLINE_S, "it may lead no more", tell=world.tell)
    assert operator.is_alive()
    with open(certificate / "tls.crt", "w"):
        pass  # its end is what the reader waits for
    until(lambda: not operator.is_alive(), "it ends, to be started again", tell=world.tell)
    assert operator.process.returncode == LOST_LEASE
    os.replace(certificate / "before", certificate / "tls.crt")
    operator.start()
    until(lambda: kubelet.sees() == ALL_WELL, "it is well again", tell=world.tell)


def test_a_lease_that_another_took_is_seen(world, vipu, probes):
    operator = world.start_operator(vipu.address)
    kubelet = Kubelet(operator, probes)
    until(lambda: kubelet.sees() == ALL_WELL, "all is well", tell=world.tell)
    world.api.patch("leases", OPERATOR_NS, LEASE, {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600}})
    until(lambda: kubelet.sees() == NOTHING_WELL, "neither page is answered", tell=world.tell)
    assert operator.process.wait(DEADLINE_S) == LOST_LEASE
    operator.start()
    until(lambda: kubelet.sees() == ALL_WELL, "it stands by", tell=world.tell)
    assert "leading" not in operator.log_of_this_start()


def test_a_standby_that_cannot_read_the_lease_is_not_ready(world, vipu, tmp_path):
    first, api = world.start_operator(vipu.address), world.make_api_proxy()
    flags = list(first.flags)
    flags[flags.index("--kubeconfig") + 1] = str(world.kubeconfig(api, "standby"))
    (tmp_path / "second").mkdir()
    second = Operator(tmp_path / "second", *flags).start()
    world.keep(second, second.kill)
    until(lambda: second.ask("/readyz") == (200, "ok\n"), "it stands by", tell=second.tail)
    api.rejects = lambda seen: seen.is_lease
    unknown = (503, "no known leader: cannot read or acquire the lease\n")
    until(lambda: second.ask("/readyz") == unknown, "it is not ready", tell=second.tail)
    assert second.health("/healthz") == first.health("/readyz") == 200, "to start it again would not help"
    api.rejects = lambda seen: False
    until(lambda: second.ask("/readyz") == (200, "ok\n"), "it is ready again", tell=second.tail)
    log = second.log()
    assert log.count("lease request failed, retrying") == log.count("lease requests recovered") == 1, "once for each"
    assert FORBIDDEN in log
    assert second.end() == 0
    second.check_sanitizers()


def seconds_blind(operator, resource):
    reported = re.search(rf'^ipu_operator_watch_stale_seconds{{resource="{resource}"}} (\d+)$', operator.ask("/metrics")[1], re.M)
    return int(reported[1])


def test_a_leader_without_watch_events_reports_it_and_stays_ready(world, vipu):
    """The webhooks work without, and must not lose the leader for it: it may be the only replica."""
    api = world.make_api_proxy()
    operator = world.start_operator(vipu.address, proxy=api)
    assert seconds_blind(operator, "nodes") == 0
    api.rejects = lambda seen: seen.path.endswith("/nodes")
    api.hang_up_streams()
    until(lambda: seconds_blind(operator, "nodes") > 0, "its age is told", tell=world.tell)
    assert operator.health("/readyz") == 200
    operator.until_logged("watch failed, retrying resource=nodes")
    api.rejects = lambda seen: False
    operator.until_logged("watch recovered resource=nodes")
    assert seconds_blind(operator, "nodes") == 0


def test_a_leader_without_a_first_list_names_the_resource(world, vipu):
    api = world.make_api_proxy()
    api.rejects = lambda seen: seen.path.endswith("/nodes")
    operator = world.make_operator(vipu.address, proxy=api).start()
    reported = rf"caches not synced: jobs, pods, .*; watch of nodes failing for \d+ s: .*{FORBIDDEN}.*\n"
    until(lambda: re.fullmatch(reported, operator.ask("/readyz")[1]), "it is named, with the cause", tell=world.tell)
    assert operator.health("/readyz") == 503
    api.rejects = lambda seen: False
    operator.until_working()


class Crowd:
    """More open connections than a port allows; each has sent only part of a request."""

    COUNT = 300

    def __init__(self, port, *parts):
        self._sockets = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(self.COUNT)]
        for one, part in zip(self._sockets, itertools.cycle(parts)):
            with contextlib.suppress(OSError):  # it has been closed already
                one.sendall(part)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self._sockets:
            one.close()


HALVES = b"", b"GET /healthz HTTP/1.1\r\nHost: ", b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
HALF_HELLO = b"\x16\x03\x01\x02\x00\x01"


def test_many_connections_lock_no_client_out_and_disturb_no_request(world):
    api = world.make_api_proxy()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))  # as some nodes have it
    webhooks = Webhooks(world, proxy=api)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert re.search(rf"Max open files +{hard} ", world.operator.of_process("limits"))
    health = int(world.operator.page("").rpartition(":")[2])
    asked, answered = threading.Event(), threading.Event()

    def before(seen):
        """A webhook waits for the API server's opinion while the crowds come."""
        if seen.path.endswith("/podtemplates"):
            asked.set()
            answered.wait(DEADLINE_S)
        return True

    api.before = before
    try:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            verdict = pool.submit(webhooks.verdict, job())
            assert asked.wait(DEADLINE_S)
            for _ in range(3):
                with Crowd(health, *HALVES), Crowd(webhooks.port, b"", HALF_HELLO):
                    assert world.operator.health("/healthz") == 200
            answered.set()
            assert verdict.result(DEADLINE_S)  # allowed, if the API server's opinion came too late
            with Crowd(webhooks.port, b"", HALF_HELLO):
                wrong = job(template=pod_template({"name": "train"}))
                assert well_judged(world.operator, lambda: webhooks.verdict(wrong))["allowed"] is False
    finally:
        answered.set()
        webhooks.remove()


def test_who_asks_until_the_end_disturbs_no_end(world):
    """Each server ends in turns of the loop in which the others still answer."""
    webhooks = Webhooks(world)
    operator, over = world.operator, threading.Event()

    def asks():
        while not over.is_set():
            with contextlib.suppress(OSError, ValueError):  # it is not there, and has no port
                port = int((operator.page("") or "").rpartition(":")[2])
                with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as it:
                    it.sendall(READYZ)
                    while it.recv(4096) and not over.is_set():
                        it.sendall(READYZ)

    with concurrent.futures.ThreadPoolExecutor(4) as askers:
        try:
            for _ in range(4):
                askers.submit(asks)
            for _ in range(4):
                assert operator.end() == 0, operator.tail()
                world.restart_operator()
        finally:
            over.set()
            webhooks.remove()
