"""The first thing that a new user runs."""

import re

import kube
from jobs import Job

FILE = kube.ROOT / "deploy" / "examples" / "digits.yaml"


def test_the_example_learns_to_read_digits(namespace):
    namespace("apply", "-f", FILE)
    namespace("wait", "--for=condition=Completed", "ipujob/digits", "--timeout=120s", timeout=150)

    losses = [float(loss) for loss in re.findall(r"epoch +\d+/12 +loss ([\d.]+) +accuracy [\d.]+", Job(namespace, "digits").log())]
    assert len(losses) == 12
    assert losses[-1] < losses[0] / 4

    # What a user does next: the same file again is no change, and a finished job is not run again.
    uid = Job(namespace, "digits").pod()["metadata"]["uid"]
    assert "unchanged" in namespace("apply", "-f", FILE)
    assert Job(namespace, "digits").pod()["metadata"]["uid"] == uid
