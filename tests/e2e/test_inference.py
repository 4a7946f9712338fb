"""A model that serves: several instances behind a Service, scaled and updated while it answers."""

import json

import kube
from jobs import Job

FILE = kube.ROOT / "deploy" / "examples" / "inference.yaml"
SLOW_S = 180  # several pods start one after the other


def ask(namespace, number=7):
    """An answer of whichever instance the Service chose; None while none does."""
    done = namespace.attempt(
        "get", "--raw", f"/api/v1/namespaces/{namespace.namespace}/services/inference:http/proxy/digits/{number}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def answering(namespace, key):
    """The instances, or versions, that answer within some requests."""
    return {answer[key] for answer in (ask(namespace) for _ in range(12)) if answer}


def test_a_model_is_served_scaled_and_updated(stack, namespace):
    namespace("apply", "-f", FILE)
    namespace("wait", "--for=condition=PodsReady", "ipujob/inference", "--timeout=120s", timeout=150)
    kube.wait_for("both instances answer", lambda: answering(namespace, "instance") == {0, 1}, SLOW_S)
    answer = kube.wait_for("an answer", lambda: ask(namespace))
    assert answer["digit"] == answer["is"] and answer["partition"].startswith("p-inference-")

    namespace("scale", "ipujob/inference", "--replicas=3")
    kube.wait_for("three instances answer", lambda: answering(namespace, "instance") == {0, 1, 2}, SLOW_S)
    assert len(stack.partitions()) == 3
    namespace("scale", "ipujob/inference", "--replicas=2")
    kube.wait_for("the third has given its IPUs back", lambda: len(stack.partitions()) == 2, SLOW_S)

    newer = FILE.read_text().replace('value: "1"', 'value: "2"')
    namespace("apply", "-f", "-", stdin=newer)
    kube.wait_for("only the new version answers", lambda: answering(namespace, "version") == {"2"}, SLOW_S)
    Job(namespace, "inference").wait_for_state("Running", seconds=SLOW_S)
    assert Job(namespace, "inference").status["restartCount"] == 0

    namespace("delete", "-f", FILE)
    kube.wait_for("nothing is held", lambda: not stack.partitions(), SLOW_S)
