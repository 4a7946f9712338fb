"""V-IPU controllers that are down, slow, lost their memory or are used by others too."""

import socket
import threading
from concurrent import futures

import grpc
import pytest

from vipu_side import options
from waiting import until
from world import pod_template

LABEL = "vipu-ctrl"


class Mute(grpc.GenericRpcHandler):
    """Answers no call before it is told to, or answers bytes that are no message."""

    def __init__(self, answers):
        self._answers = answers

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._answers())


class Noise:
    """Takes connections and writes what is no HTTP/2."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._listener.accept()
                peer.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n" + bytes(range(256)) * 64)
                peer.close()
            except ConnectionError:
                continue  # the peer hung up first
            except OSError:
                return  # closed

    def close(self):
        self._listener.close()


@pytest.fixture
def mute(world):
    """A gRPC server on loopback that answers every call by this function."""
    def start(answers):
        server = grpc.server(futures.ThreadPoolExecutor(32), handlers=[Mute(answers)], options=options())
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        world.keep(server, lambda: server.stop(None).wait())
        return f"127.0.0.1:{port}"
    return start


@pytest.fixture
def deaf():
    """An address on which no program listens, nor can meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def pinned(world, name):
    """A job for the controller of that name."""
    return world.job(name, workers={"template": pod_template(nodeSelector={LABEL: name})})


def test_troubled_controllers_delay_only_their_own_jobs(world, vipu, mute, deaf):
    over = threading.Event()
    world.keep(over, over.set)
    noise = Noise()
    world.keep(noise, noise.close)
    addresses = {
        "down": deaf,
        "slow": mute(lambda: over.wait(600) and b""),
        "noise": noise.address,
        "garbage": mute(lambda: b"\xff" * 4096),
        "good": vipu.address,
    }
    for name in addresses:
        world.make_node(f"node-{name}", labels={LABEL: name})
    world.start_operator(",".join(f"{address}:{LABEL}={name}" for name, address in addresses.items()))
    jobs = {name: pinned(world, name) for name in addresses}
    began = world.lease()["spec"]["renewTime"]

    world.kubelet.succeed(jobs["good"].run_pods(1)["good-worker-0"])
    jobs["good"].wait("Completed")
    jobs["good"].wait_released()
    for name in set(addresses) - {"good"}:
        status = jobs[name].wait("Pending", "ControllerUnavailable")
        assert addresses[name] in status["lastMessage"] and " since 20" in status["lastMessage"]
        assert jobs[name].condition("PartitionsReady")["reason"] == "ControllerUnavailable"
        assert jobs[name].records() == {} and jobs[name].pods() == {}
    until(lambda: world.lease()["spec"]["renewTime"] > began, "the lease is renewed", tell=world.tell)
    assert world.operator.health("/healthz") == 200


def test_a_job_starts_by_itself_when_its_controller_comes_back(world, vipu):
    vipu.kill()
    world.start_operator(vipu.address)
    job = world.job("patient")
    since = job.wait("Pending", "ControllerUnavailable")["lastMessage"]
    assert vipu.address in since
    vipu.start()
    job.run_pods(1)
    job.wait("Running")


def test_a_controller_that_dies_while_jobs_run(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("survivor")
    pod = job.run_pods(1)["survivor-worker-0"]
    job.wait("Running")
    vipu.kill()
    until(lambda: "V-IPU controller unavailable" in world.operator.log(), "the loss is noticed", tell=world.tell)
    world.kubelet.succeed(pod)
    job.wait("Completed")
    assert len(job.records()) == 1, "the record stays until the partition is known to be gone"
    vipu.start()
    job.wait_released()
    assert vipu.partitions() == {}


def test_a_controller_that_lost_its_memory(world, vipu):
    world.start_operator(vipu.address)
    running = world.job("running")
    pod = running.run_pods(1)["running-worker-0"]
    running.wait("Running")
    waiting = world.job("waiting", ipusPerJobInstance="64")
    waiting.wait("Pending", "InsufficientIPUs")
    vipu.kill()
    vipu.forget()
    vipu.start()
    until(lambda: [part["state"] for part in running.status.get("partitions", [])] == ["Missing"],
          "the loss of the partition is told", tell=world.tell)
    world.kubelet.succeed(pod)
    running.wait("Completed")
    running.wait_released()
    waiting.run_pods(1)
    waiting.wait("Running")
    assert list(vipu.partitions()) == [f"p-waiting-{world.ns}-0"]


def test_names_that_collide_get_different_partitions(world, vipu):
    world.make_namespace("t-collide")
    world.make_namespace("collide")
    world.start_operator(vipu.address)
    first = world.job("a-t", ns="collide")
    first.wait_pods(1)
    second = world.job("a", ns="t-collide")
    pod = second.wait_pods(1)["a-worker-0"]
    mine, theirs = set(second.records()), set(first.records())
    assert theirs == {"p-a-t-collide-0"} and len(mine) == 1 and not mine & theirs
    assert pod["metadata"]["annotations"]["graphcore.ai/partition"] in mine
    assert mine.pop().startswith(f"p-a-{second.uid.replace('-', '')[:10]}-0-")
    assert len(vipu.partitions()) == 2


def test_what_others_made_is_never_touched(world, vipu):
    foreign = f"p-late-{world.ns}-0"
    vipu.client.create(foreign, 8, reconfigurable=True)
    vipu.client.create("somebody-elses", 4, reconfigurable=True)
    world.start_operator(vipu.address)
    job = world.job("late")
    pod = job.run_pods(1)["late-worker-0"]
    assert pod["metadata"]["annotations"]["graphcore.ai/partition"] != foreign
    world.kubelet.succeed(pod)
    job.wait("Completed")
    job.wait_released()
    assert sorted(vipu.partitions()) == sorted([foreign, "somebody-elses"])
    big = world.job("big", ipusPerJobInstance="64")
    reported = big.wait("Pending", "InsufficientIPUs")["lastMessage"]
    assert "foreign partition somebody-elses (4 IPUs)" in reported
