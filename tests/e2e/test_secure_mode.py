"""A V-IPU controller in secure mode with TLS, beside the one of the other tests: whole jobs, and no key anywhere."""

import base64
import json
import secrets
import sys

import kube
import secret_leaks
import pytest
from jobs import UNTIL_TOLD, job
from test_launcher import launcher_log, mpi, untagged
from stack import SYSTEM

sys.path.append(str(kube.ROOT / "tests" / "vipu" / "support"))

from certificates import Authority  # noqa: E402

HOST = f"secure-vipu-server.{SYSTEM}.svc"
LABEL = "vipu-secure=yes"
NODES = dict([LABEL.split("=")])
CHART = kube.ROOT / "charts" / "ipu-operator"
FILES = "/etc/vipu-server-files"
# What the program of a job may ask with what its pod was given: everything that V-IPU's own tools ask.
ASK = """
set -e
vipu get partition "$IPUOF_VIPU_API_PARTITION_ID" | grep -q "$IPUOF_VIPU_API_PARTITION_ID"
gc-info --list-devices | grep "Partition: $IPUOF_VIPU_API_PARTITION_ID"
vipu create partition beyond --size 4 --allocation others 2>&1 | grep 'allocation "others" not found'
if VIPU_CLI_API_ACCESS_KEY=guessed-and-wrong vipu list partitions; then exit 1; fi
echo all was answered
"""
# In an instance of poprun, on whatever worker.
ASK_THERE = 'vipu get partition "$IPUOF_VIPU_API_PARTITION_ID" >/dev/null && echo "worker $IPU_JOB_WORKER_INDEX was answered"'


def opaque(name, **data):
    text = {key.replace("_", "-").replace("-crt", ".crt").replace("-pem", ".pem"): value for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": text}


def server_config(keys):
    users = [{"id": user, "access-key-file": f"{FILES}/{user}", "allocations": ["cl1"]} for user in keys]
    return {"secure": True, "users": users, "tls": {"certificate": f"{FILES}/tls.pem", "key": f"{FILES}/tls-key.pem"},
            "clusters": [{"id": "cl1", "agents": 4}, {"id": "others", "agents": 4}]}


# A tenant against the default installation: with what its pod was given, with nothing, and with a guess.
ATTACK = """
own="$IPUOF_VIPU_API_PARTITION_ID" victim="${own/mallory/victim}"
rejected() { if "$@" > out 2>&1; then cat out; exit 1; fi; cat out; }
cd /tmp
rejected vipu get partition "$victim"
rejected vipu reset partition "$victim"
rejected vipu remove partition "$victim"
rejected vipu remove partition "$victim" --force
rejected vipu create partition more --size 4
rejected env VIPU_CLI_API_USER_ID="partition:$victim" vipu remove partition "$victim"
rejected env -u VIPU_CLI_API_USER_ID -u VIPU_CLI_API_ACCESS_KEY vipu remove partition "$victim"
vipu list partitions > out
grep -q "$own" out && ! grep -q "$victim" out || exit 1
gc-info --list-devices | grep "Partition: $own"
echo nothing was touched
"""


def test_a_tenant_cannot_touch_the_partition_of_another(stack, start, namespace):
    victim = start(job("victim", UNTIL_TOLD))
    victim.wait_for_state("Running", seconds=120)
    mallory = start(job("mallory", ATTACK))
    mallory.wait_for_state("Completed", "Failed", seconds=120)
    assert mallory.log().endswith("nothing was touched\n"), mallory.log()
    (theirs,) = [id for id in stack.partitions() if id.startswith("p-victim-")]
    assert stack.partitions()[theirs]["ready_state"] == "PS_ACTIVE"
    assert victim.state() == "Running"
    assert [one["secureMode"] for one in stack.controllers()] == [True]


@pytest.fixture(scope="module")
def keys():
    return {user: f"planted-{secrets.token_hex(12)}" for user in ("operator", "jobs")}


@pytest.fixture(scope="module")
def secure(stack, keys, tmp_path_factory):
    """The chart's own controller once more, in secure mode; the operator knows it by a Secret, and tells all it does."""
    authority = Authority(tmp_path_factory.mktemp("ca") / "ours")
    certificate = authority.sign("vipu", f"DNS:{HOST}")
    stack.system.create(
        opaque("secure-files", tls_pem=certificate.pem.read_text(), tls_key_pem=certificate.key.read_text(), **keys),
        opaque("secure-access", user_id="operator", access_key=keys["operator"], ca_crt=authority.pem.read_text(),
               job_user_id="jobs", job_access_key=keys["jobs"]))
    values = json.dumps({"fullnameOverride": "secure", "vipuServer": {
        "enabled": True, "secureMode": False, "filesSecret": "secure-files", "config": server_config(keys)}})
    manifest = stack.helm("template", "secure", CHART, "--namespace", SYSTEM, "--show-only", "templates/vipu-server.yaml",
                          "--values", "-", stdin=values)
    stack.system("apply", "-f", "-", stdin=manifest)
    entry = "global.vipuControllers[0]"
    stack.install(f"{entry}.host={HOST}", f"{entry}.selector={LABEL}", f"{entry}.secretRef.name=secure-access",
                  "controller.logLevel=debug")
    stack.system("rollout", "status", "deployment/secure-vipu-server", "--timeout=90s")
    stack.kubectl("label", "nodes", "--all", "--overwrite", LABEL)
    # The nodes are those of the other controller as well, which serves these jobs until this one has answered.
    kube.wait_for("the operator knows it", lambda: any(one["up"] and HOST in one["name"] for one in stack.controllers()))
    yield
    stack.kubectl("label", "nodes", "--all", f"{LABEL.split('=')[0]}-")
    stack.install()
    stack.system("delete", "-f", "-", stdin=manifest)
    stack.system("delete", "secrets", "secure-files", "secure-access")


def everything_told(stack, namespace, *pods):
    """Everything that a user without access to Secrets can read."""
    reported = {kind: stack.kubectl("get", kind, "-A", "-o", "yaml") for kind in
            ("ipujobs", "pods", "events", "configmaps", "deployments", "leases")}
    reported["operator's log"] = stack.system("logs", "-l", "control-plane=controller-manager", "--tail=-1")
    reported["controller's log"] = stack.system("logs", "deployment/secure-vipu-server", "--tail=-1")
    reported |= {f"log of {name}": namespace("logs", name, "--all-containers") for name in pods}
    return reported


def test_a_job_runs_to_completion_and_no_key_is_logged(stack, secure, keys, start, namespace):
    own = start(job("secure", ASK, pod={"nodeSelector": NODES}))
    own.wait_for_state("Completed", seconds=120)
    assert "all was answered" in own.log()
    reported = everything_told(stack, namespace, "secure-worker-0")
    assert "ops=" in reported["operator's log"], "it is at its most talkative"
    assert HOST in reported["operator's log"]
    assert secret_leaks.find(reported, keys.values()) == []
    kube.wait_for("the job's key goes with its partition", lambda: not namespace.items("secrets"))


def launch_keys(namespace):
    """What the launcher and the workers of a job know each other by, as long as they run."""
    return [base64.b64decode(key) for secret in namespace.items("secrets") if "-mpi-" in secret["metadata"]["name"]
            for name, key in secret["data"].items() if name.isdigit()]


def test_poprun_and_its_instances_ask_with_what_their_pods_have(stack, secure, keys, start, namespace):
    """And tell no key of theirs, though they are at their most talkative."""
    made = start(mpi("led", ASK_THERE, command=("poprun", "--num-replicas", "2", "--num-instances", "2", "--debug"),
                     pod={"nodeSelector": NODES}))
    own = kube.wait_for("it has keys", lambda: launch_keys(namespace))
    assert len(own) == 2
    made.wait_for_state("Completed", "Failed", seconds=180)
    log = launcher_log(namespace, made)
    assert {"worker 0 was answered", "worker 1 was answered"} <= set(untagged(log)), log
    assert len(untagged(log)) > 2, "poprun tells what it does"
    reported = everything_told(stack, namespace, "led-launcher")
    assert secret_leaks.find(reported, [*own, *keys.values()]) == []
