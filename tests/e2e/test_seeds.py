"""The jobs of a public tutorial for the original operator, as users have them in their files."""

import json
import re
from pathlib import Path

import kube
import pytest
import yaml
from jobs import UNTIL_TOLD, Job
from stack import IMAGE
from tutorial import by_rank

SEEDS = Path(__file__).resolve().parent / "seeds"
# What its log shows of a run in namespace gc-dev, and what follows from "no PopDist environment" for the other.
CONTROLLER = "ipu-operator-vipu-server.ipu-operator.svc:8090"
POPDIST = {
    "bert-poprun-64ipus": {
        "POPDIST_NUM_TOTAL_REPLICAS": "16", "POPDIST_NUM_IPUS_PER_REPLICA": "4", "POPDIST_NUM_LOCAL_REPLICAS": "16",
        "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1", "POPDIST_REPLICA_INDEX_OFFSET": "0",
        "POPDIST_LOCAL_INSTANCE_INDEX": "0",
    },
    "bert-training-multi-ipu": {},
}


def local(name):
    """The seed's job with a fixed name, and with image, command and resources that this machine has."""
    job = yaml.safe_load((SEEDS / f"{name}.yaml").read_text())
    job["metadata"] = {"name": job["metadata"]["generateName"].rstrip("-")}
    container = job["spec"]["workers"]["template"]["spec"]["containers"][0]
    container["image"] = IMAGE
    container["args"] = ["env; df /dev/shm; " + UNTIL_TOLD]
    container["resources"] = {"limits": {"cpu": "500m", "memory": "64Mi"}}
    return job


@pytest.mark.parametrize("namespace", ["gc-dev"], indirect=True)
@pytest.mark.parametrize("name", POPDIST)
def test_a_seed_is_accepted_unchanged_and_runs(stack, namespace, name):
    assert "created (server dry run)" in namespace("create", "--dry-run=server", "-f", SEEDS / f"{name}.yaml")
    seed = local(name)
    size, partition = int(seed["spec"]["ipusPerJobInstance"]), f"p-{name}-gc-dev-0"
    namespace("create", "-f", "-", stdin=json.dumps(seed))
    job = Job(namespace, name)

    running = job.wait_for_state("Running")
    assert (running["currentReplicas"], running["desiredReplicas"]) == (1, 1)
    assert stack.partitions().keys() == {partition}
    assert [(p["id"], p["ipus"], p["state"]) for p in running["partitions"]] == [(partition, size, "Active")]
    assert [pod["metadata"]["name"] for pod in job.pods()] == [f"{name}-worker-0"]

    job.let_end()
    ended = job.wait_for_state("Completed")
    assert (ended["currentReplicas"], ended["desiredReplicas"]) == (0, 1)
    assert ended["lastMessage"] == "All instances done"
    assert ended["iPUPartitionCreated"] is True

    environment = dict(line.split("=", 1) for line in job.log().splitlines() if "=" in line)
    assert environment["IPUOF_VIPU_API_PARTITION_ID"] == partition
    assert environment["IPUOF_VIPU_API_TIMEOUT"] == "120"
    assert environment["IPUOF_VIPU_API_PORT"] == "8090"
    assert environment["IPUOF_LOG_LEVEL"] == "WARN"
    assert environment.get("POPLAR_TARGET_OPTIONS", "") == ""
    assert {key: value for key, value in environment.items() if key.startswith("POPDIST_")} == POPDIST[name]


def words_of_poprun():
    """The command that the seed's script ends with, words for mpirun included."""
    script = yaml.safe_load((SEEDS / "bert-poprun-64ipus.yaml").read_text())["spec"]["workers"]["template"]["spec"]
    return script["containers"][0]["args"][0].partition("pip3 install -r requirements.txt ;\n")[2]


def recorded(name):
    return [normalised(line) for line in (kube.ROOT / "tests" / "golden" / "poprun" / name).read_text().splitlines()]


def normalised(line):
    """Without what differs from run to run: time and process ids, addresses and paths."""
    for pattern, same in [(r"^[\d:.]+ \d+ POPRUN", "POPRUN"), (r"PID \d+", "PID"), (r"command: \S+/mpirun", "command: mpirun"),
                          (r"IPUOF_VIPU_API_HOST=[\w.-]+", "IPUOF_VIPU_API_HOST=host")]:  # fmt: skip
        line = re.sub(pattern, same, line)
    return line


@pytest.mark.parametrize("namespace", ["gc-dev"], indirect=True)
def test_poprun_prints_what_is_on_record(namespace):
    """It finds controller and partition by itself, and the instance runs what the seed says."""
    seed = local("bert-poprun-64ipus")
    container = seed["spec"]["workers"]["template"]["spec"]["containers"][0]
    container["args"] = ["cd /tmp; echo 'import sys; print(*sys.argv)' >run_pretraining.py\n" + words_of_poprun()]
    container["resources"]["limits"]["memory"] = "1Gi"
    namespace("create", "-f", "-", stdin=json.dumps(seed))
    job = Job(namespace, "bert-poprun-64ipus")
    job.wait_for_state("Completed", seconds=120)

    # Standard output and error take turns as they like.
    lines = job.log().splitlines()
    reported = [normalised(line) for line in lines if " POPRUN [" in line]
    record = recorded("recorded-bert.txt")
    begin = reported.index(record[0])
    assert reported[begin:begin + len(record)] == record
    assert reported[0] == f"POPRUN [I] V-IPU server address picked up from 'vipu': {CONTROLLER}"
    assert reported[-1] == "POPRUN [I] mpirun (PID) terminated with exit code 0"
    assert [line for line in lines if line[:2] in (" =", "|=", "| ", "|-", " -")] == recorded("table-1x16.txt")
    assert by_rank("".join(line for line in lines if line.startswith("[1,0]"))) == {
        0: "run_pretraining.py --config pretrain_large_128_POD64 --dataset generated --training-steps 1"}


def test_generated_names_run_too(namespace):
    """kubectl create, twice: two jobs, each with a pod and a partition of its own name."""
    seed = yaml.safe_load((SEEDS / "bert-training-multi-ipu.yaml").read_text()) | {"spec": local("bert-training-multi-ipu")["spec"]}
    names = [namespace("create", "-f", "-", "-o", "jsonpath={.metadata.name}", stdin=json.dumps(seed)) for _ in range(2)]
    for name in names:
        job = Job(namespace, name)
        kube.wait_for(f"{name} runs", lambda: job.state() == "Running")
        job.let_end()
        job.wait_for_state("Completed")
        assert job.log().splitlines()[-2] == f"partition p-{name}-{namespace.namespace}-0"
