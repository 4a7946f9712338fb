"""kubectl ipu with real pods: what it says of them, and their logs."""

import re
import subprocess

import kube
import pytest
from jobs import job

DEADLINE_S = 180


@pytest.fixture
def ipu(stack, namespace):
    """Starts kubectl ipu in the test's namespace."""
    def start(*words):
        return subprocess.Popen([stack.plugin(), *words, "-n", namespace.namespace, "--kubeconfig", stack.kubectl.kubeconfig],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def ends(process):
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


def test_all_ranks_are_followed_over_a_restart(start, ipu):
    made = start(job("twice", 'echo "rank $RANK of $WORLD_SIZE"; exit 3', workersPerJobInstance="2",
                     restartPolicy={"type": "OnFailure", "backOffLimit": 1}))
    status, out, err = ends(ipu("logs", "twice", "-f"))
    made.wait_for_state("Failed")
    assert status == 0
    lines = [line for line in out.splitlines() if "ipu-launch: " not in line]
    # A peer of the first that fails may be stopped before it prints.
    assert set(lines) <= {"[0.0] rank 0 of 2", "[0.1] rank 1 of 2"} and 2 <= len(lines) <= 4
    assert "a new pod continues" in err

    status, out, err = ends(ipu("why", "twice"))
    assert (status, err) == (0, "") and out.startswith("twice has failed: BackoffLimitExceeded")
    assert re.search(r"failure +ContainerFailed: pod twice-worker-\d, container main, exit code 3, node ", out)
    assert re.search(r"\| rank \d of 2", out)
    status, out, _ = ends(ipu("logs", "twice", "--previous"))
    assert status == 0 and re.fullmatch(r"\[0\] rank \d of 2\n", out)


def test_many_lines_of_several_instances_come_whole(start, ipu):
    made = start(job("many", 'for i in $(seq 2000); do echo "line $i"; done', instances=2))
    made.wait_for_state("Completed")
    status, out, err = ends(ipu("logs", "many"))
    assert (status, err) == (0, "")
    for instance in range(2):
        own = [line for line in out.splitlines() if line.startswith(f"[{instance}.")]
        assert [line.split(" ", 1)[1] for line in own] == [f"line {number}" for number in range(1, 2001)]
    assert "has completed" in ends(ipu("why", "many"))[1]


def test_a_pod_that_cannot_start_is_explained(start, ipu):
    start(job("stuck", "true", container={"image": "nowhere.invalid/image:1"}))
    kube.wait_for("why names the image", lambda: "ImagePullFailed" in ends(ipu("why", "stuck"))[1])
    _, out, _ = ends(ipu("why", "stuck"))
    assert out.startswith("stuck has pods that do not start")
    assert "stuck-worker-0 [0.0] on " in out and "Pod/stuck-worker-0: " in out
    assert "what to do  Correct the image's name" in out


def test_a_job_that_waits_names_what_is_in_its_way(namespace, start, ipu):
    holder = start(job("holder", "sleep 1000", ipus=64))
    holder.wait_for_state("Running")
    start(job("waits", "true", ipus=64)).wait_for_reason("InsufficientIPUs")
    _, out, _ = ends(ipu("why", "waits"))
    assert re.search(rf"blocked by +{namespace.namespace}/holder\n", out)
    assert ends(ipu("top", "--no-headers"))[1].split()[:4] == [namespace.namespace, "holder", "Running", "64"]
    assert ends(ipu("queue", "--no-headers"))[1].split()[:4] == ["1", namespace.namespace, "waits", "64"]
    assert ends(ipu("suspend", "holder"))[0] == 0
    holder.wait_for_state("Suspended")
    assert "holder is suspended" in ends(ipu("why", "holder"))[1]
