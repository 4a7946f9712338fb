"""What a new user runs first."""

import json
import re

import kube
import pytest
import yaml
from jobs import Job

FILE = kube.ROOT / "deploy" / "examples" / "digits.yaml"
DISTRIBUTED = kube.ROOT / "deploy" / "examples" / "digits-distributed.yaml"


def epochs(log):
    """The loss of each epoch."""
    return [float(loss) for loss in re.findall(r"epoch +\d+/12 +loss ([\d.]+) +accuracy [\d.]+", log)]


def test_the_example_learns_to_read_digits(namespace):
    namespace("apply", "-f", FILE)
    namespace("wait", "--for=condition=Completed", "ipujob/digits", "--timeout=120s", timeout=150)

    losses = epochs(Job(namespace, "digits").log())
    assert len(losses) == 12
    assert losses[-1] < losses[0] / 4

    # What a user does next: the same file again is no change, and a finished job is not run again.
    uid = Job(namespace, "digits").pod()["metadata"]["uid"]
    assert "unchanged" in namespace("apply", "-f", FILE)
    assert Job(namespace, "digits").pod()["metadata"]["uid"] == uid


def on_instances(count):
    """The distributed example as shipped, or on another number of instances with the same batch."""
    made = yaml.safe_load(DISTRIBUTED.read_text())
    container = made["spec"]["workers"]["template"]["spec"]["containers"][0]
    assert container["args"][1:3] == ["--num-instances=4", "--num-replicas=4"]
    made["metadata"]["name"] = f"digits-on-{count}"
    container["args"][1] = f"--num-instances={count}"
    return made


def test_instances_that_share_the_training_have_the_same_losses(namespace):
    namespace("apply", "-f", DISTRIBUTED)
    namespace("apply", "-f", "-", stdin="---\n".join(json.dumps(on_instances(count)) for count in (1, 2)))
    logs = {}
    for count, name in [(1, "digits-on-1"), (2, "digits-on-2"), (4, "digits-distributed")]:
        job = Job(namespace, name)
        job.wait_for_state("Completed", seconds=240)
        logs[count] = job.log()
        assert f"{count} instances" in logs[count] and "done: " in logs[count]

    losses = {count: epochs(log) for count, log in logs.items()}
    assert len(losses[1]) == 12 and losses[1][-1] < losses[1][0] / 4
    assert losses[2] == pytest.approx(losses[1], abs=1e-3)
    assert losses[4] == pytest.approx(losses[1], abs=1e-3)
