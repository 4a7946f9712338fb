"""When IPUs are short: who waits, what it says, and that it starts by itself."""

import kube
import pytest
from jobs import UNTIL_TOLD, Job, job


def test_the_second_job_waits_says_why_and_starts(stack, namespace, start):
    first = start(job("first", UNTIL_TOLD, ipus=32))
    first.wait_for_state("Running")
    second = start(job("second", UNTIL_TOLD, ipus=64))
    waits = second.wait_for_reason("InsufficientIPUs")
    assert waits["launcherStatus"] == "Pending"
    assert "Waiting for 64 IPUs" in waits["lastMessage"]
    assert "has 32 of 64 IPUs free, no free block of this size" in waits["lastMessage"]
    assert f"in use by {namespace.namespace}/first (32 IPUs)" in waits["lastMessage"]
    assert second.pods() == []
    assert stack.partitions().keys() == {f"p-first-{namespace.namespace}-0"}

    first.let_end()
    second.wait_for_state("Running")
    assert first.state() == "Completed"
    assert stack.partitions().keys() == {f"p-second-{namespace.namespace}-0"}
    second.let_end()
    second.wait_for_state("Completed")


def test_nothing_that_delays_the_head_of_the_queue_passes_it(stack, namespace, start):
    """A small job that would fit, but may run for ever, does not delay the large one that came before it."""
    holder = start(job("holder", UNTIL_TOLD, ipus=32, activeDeadlineSeconds=3600))
    holder.wait_for_state("Running")
    large = start(job("large", UNTIL_TOLD, ipus=64))
    large.wait_for_reason("InsufficientIPUs")
    small = start(job("small", UNTIL_TOLD, ipus=4))
    waits = small.wait_for_reason("Queued")
    assert f"the first is {namespace.namespace}/large" in waits["lastMessage"]

    holder.let_end()
    large.wait_for_state("Running")
    assert small.state() == "Pending"
    large.let_end()
    small.wait_for_state("Running")
    small.let_end()
    small.wait_for_state("Completed")


def test_more_than_any_controller_has(start):
    made = start(job("huge", UNTIL_TOLD, ipus=128))
    waits = made.wait_for_reason("ExceedsCapacity")
    assert waits["launcherStatus"] == "Pending"
    assert "128" in waits["lastMessage"] and "has 64" in waits["lastMessage"]
    assert made.pods() == []


@pytest.fixture
def unlabelled(stack):
    stack.unlabel_nodes()
    yield
    stack.label_nodes()


def test_a_missing_node_label_is_named(stack, start, unlabelled):
    made = start(job("homeless", UNTIL_TOLD))
    waits = made.wait_for_reason("NoMatchingNodes")
    assert waits["launcherStatus"] == "Pending"
    assert "kubectl label node NODE vipu-ctrl=vctl1" in waits["lastMessage"]
    assert not stack.partitions()

    stack.label_nodes()
    made.wait_for_state("Running")
    assert made.pod()["spec"]["nodeSelector"] == {"vipu-ctrl": "vctl1"}
    made.let_end()
    made.wait_for_state("Completed")


@pytest.fixture
def controller_down(stack):
    scale = ("scale", "deployment/ipu-operator-vipu-server", "--timeout=60s")
    stack.system(*scale, "--replicas=0")
    kube.wait_for("the V-IPU controller is gone",
                  lambda: not stack.system.items("pods", "app.kubernetes.io/component=vipu-server"))
    kube.wait_for("the operator knows", lambda: not any(one["up"] for one in stack.controllers()))
    yield lambda: stack.system(*scale, "--replicas=1")
    stack.system(*scale, "--replicas=1")
    stack.system("rollout", "status", "deployment/ipu-operator-vipu-server", "--timeout=60s")


def test_a_controller_that_is_down_is_waited_for(start, controller_down):
    made = start(job("patient", "echo ran"))
    waits = made.wait_for_reason("ControllerUnavailable")
    assert waits["launcherStatus"] == "Pending"
    assert "ipu-operator-vipu-server" in waits["lastMessage"]
    controller_down()
    made.wait_for_state("Completed", seconds=120)


def test_every_instance_waits_for_its_own(stack, start):
    """Three instances of 32 on 64 IPUs: two run, the third follows."""
    made = start(job("three", UNTIL_TOLD, ipus=32, instances=3))
    running = kube.wait_for(made.reported, lambda: (s := made.status).get("currentReplicas") == 2 and s)
    assert running["launcherStatus"] == "Running"
    assert len(stack.partitions()) == 2
    names = [pod["metadata"]["name"] for pod in made.pods()]
    Job(made.kubectl, names[0].rsplit("-worker-")[0]).let_end(int(names[0][-1]))
    kube.wait_for(made.reported, lambda: len(made.pods()) == 3)
    for number in sorted({0, 1, 2} - {int(names[0][-1])}):
        kube.wait_for(made.reported, lambda n=number: made.pod(n) and made.pod(n)["status"]["phase"] == "Running")
        made.let_end(number)
    made.wait_for_state("Completed")
