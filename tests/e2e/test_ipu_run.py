"""The same job by the operator in a cluster and by ipu-run on this machine: what every process finds, how it ends, and what the
status says of it. Addresses, ports, times, nodes and what follows from a job's uid differ."""

import json
import os
import re
import subprocess

import kube
import pytest
from jobs import Job, job, mpi
from kube import ROOT

PROGRAM = ROOT / os.environ.get("BUILD_DIR", "build/release") / "local" / "ipu-run"
ENV = "env | grep -E '^(IPU|POPDIST|POPLAR|RANK|WORLD_SIZE|LOCAL_RANK|MASTER|OMPI_[A]|PRTE_A)' | sort"
# Of the machine, of the run, or of the chart's V-IPU controller, which is in secure mode.
OWN = re.compile(r"^(IPUOF_VIPU_API_(HOST|PORT|USER|ACCESS|PARTITION_SECRET|SECRET|CA|KEY|TLS)|VIPU|IPU_JOB_(ADDRESS|MASTER_PORT|UID|AGENT_PORT"
                 r"|HOSTS|NETWORK)|MASTER_PORT|IPU_VIPU)")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"RATE": "0.1", "MODE": "fast"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"key": "s3cret"}}
RUN = {"name": "RUN", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['graphcore.ai/run']"}}}
SHARED = {"volumes": [{"name": "shared", "emptyDir": {}}]}
MOUNT = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
BASH = ["/bin/bash", "-c"]


def extra(name, script, **more):
    return {"name": name, "image": "ipu-operator/ipu-examples:0.1.0", "command": [*BASH, script]} | more


def jobs():
    """By what is special of each."""
    first = job("containers", "until [ -e /shared/ready ]; do sleep 0.1; done; echo main", pod=SHARED, container=MOUNT)
    first["spec"]["workers"]["template"]["spec"]["containers"].append(extra("second", "touch /shared/ready; echo second", **MOUNT))
    failing = job("second-fails", "echo main")
    failing["spec"]["workers"]["template"]["spec"]["containers"].append(extra("second", "echo trouble; exit 5"))
    return [
        job("plain", ENV),
        job("fails", "echo the reason; exit 3"),
        job("no-newline", "printf 'no end'"),
        job("is-killed", "kill -9 $$$$"),
        job("ends-by-term", "kill -TERM $$$$; sleep 5"),
        job("high-status", "exit 255"),
        job("two-workers", ENV, ipus=8, workersPerJobInstance="2"),
        job("replicas", ENV, ipus=16, workersPerJobInstance="4", modelReplicasPerWorker="2"),
        job("one-worker-replicas", ENV, ipus=8, modelReplicasPerWorker="2"),
        job("two-instances", ENV, instances=2),
        job("one-of-two-fails", '[ "$IPU_JOB_INSTANCE_INDEX" = 0 ] || { echo no; exit 2; }', instances=2),
        job("restarted", 'echo "run $RUN"; [ "$RUN" -gt 0 ] || exit 1', container={"env": [RUN]}, restartPolicy={"type": "OnFailure"}),
        job("by-exit-code", 'echo "run $RUN"; [ "$RUN" -gt 0 ] || exit 42', container={"env": [RUN]},
            restartPolicy={"type": "ExitCode", "exitCodes": "40-42"}),
        job("other-exit-code", "exit 7", restartPolicy={"type": "ExitCode", "exitCodes": "40-42"}),
        job("backed-off", "echo again; exit 1", restartPolicy={"type": "OnFailure", "backOffLimit": 1}),
        job("deadline", "echo up; sleep 1000", activeDeadlineSeconds=3),
        job("initialized", "cat /shared/made", pod=SHARED | {"initContainers": [extra("make", "echo made > /shared/made", **MOUNT)]},
            container=MOUNT),
        job("init-fails", "echo never", pod={"initContainers": [extra("fetch", "echo no network; exit 4")]}),
        job("with-sidecar", "sleep 1; echo main", pod={"initContainers": [
            extra("side", "trap 'exit 0' TERM; while :; do sleep 0.1; done", restartPolicy="Always")]}),
        first,
        failing,
        job("message-file", "echo noise; echo -n written > /dev/termination-log; exit 1"),
        job("no-such-command", "", container={"command": ["/no/such/program"]}),
        job("not-executable", "", container={"command": ["/etc/passwd"]}),
        job("own-values", ENV, container={"env": [{"name": "IPUOF_LOG_LEVEL", "value": "DEBUG"}]}),
        job("from-objects", "echo $RATE $MODE $KEY", container={
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}}]}),
        job("mounted", "cat /etc/settings/*; ls /etc/settings", pod={"volumes": [{"name": "c", "configMap": {"name": "settings"}}]},
            container={"volumeMounts": [{"name": "c", "mountPath": "/etc/settings"}]}),
        job("words", "", container={"command": ["echo", "$(A)", "$$(A)", "$(NONE)"], "args": ["$(B)"], "env": [
            {"name": "A", "value": "one"}, {"name": "B", "value": "$(A) more"}]}),
        job("fields", "echo $POD $JOB", container={"env": [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "JOB", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['graphcore.ai/job-name']"}}}]}),
        job("working-directory", "pwd", container={"workingDir": "/usr/lib"}),
        job("cleaned", "echo done", cleanPodPolicy="All"),
        job("interactive", "", container={"command": None}, interactive={"ttl": 3}),
        mpi("mpi-ranks", "echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE; " + ENV, workers=4),
        mpi("mpi-fails", 'echo rank $OMPI_COMM_WORLD_RANK; [ "$OMPI_COMM_WORLD_RANK" != 1 ] || exit 6'),
    ]


def of_both(status):
    """What of a status may not depend on where the job ran."""
    kept = {key: status.get(key) for key in ("launcherStatus", "reason", "currentReplicas", "desiredReplicas", "restartCount",
                                             "completedIndexes", "workersStatus", "partitionCounts")}
    kept["lastMessage"] = without_places(status["lastMessage"])
    kept["conditions"] = {c["type"]: (c["status"], c["reason"], without_places(c["message"])) for c in status["conditions"]}
    kept["failures"] = [{key: failure.get(key) for key in ("pod", "container", "exitCode", "signal", "reason")} for failure in
                        status.get("failures", [])]
    return kept


def without_places(text):
    return re.sub(r"\b(node-?\w*|localhost)\b", "NODE", text)


def lines_of(log):
    """Of one container, in the order of their text: those of mpirun's ranks have none. mpirun warns if a daemon is quicker than
    itself, and numbers its jobs."""
    found = [re.sub(r"^\[\d+,\d+\]<\w+>:", "", line) for line in log.splitlines()]
    return sorted(re.sub(r"\d+\.\d+\.\d+\.\d+|\[\[\d+,|\d+-\d+-\d+T[\d:]+Z", "...", line) for line in found
                  if not OWN.match(line) and "plm:rsh: Warning: setpgid(" not in line)


def last_lines(log, like):
    """As many as the other log has; all, if that has none."""
    return "\n".join(log.splitlines()[-len(like.splitlines()):])


def in_cluster(namespace, made):
    """Its status, and the log of every container by pod."""
    def ended():
        status = Job(namespace, made["metadata"]["name"]).status
        return status if any(c["type"] == "Finished" and c["status"] == "True" for c in status.get("conditions", [])) else None

    name = made["metadata"]["name"]
    status = kube.wait_for(lambda: f"{name} has finished: {Job(namespace, name).reported()}", ended)
    logs = {}
    for pod in Job(namespace, name).pods():
        for container in pod["spec"].get("initContainers", [])[1:] + pod["spec"]["containers"]:
            key = f"{pod['metadata']['name']}.{container['name']}"
            logs[key] = namespace.attempt("logs", pod["metadata"]["name"], "-c", container["name"]).stdout
    return status, logs


def here(namespace, made, folder):
    given = [item | {"metadata": item["metadata"] | {"namespace": namespace.namespace}} for item in (CONFIG, SECRET, made)]
    folder = folder / made["metadata"]["name"]
    done = subprocess.run([PROGRAM, "--run-dir", folder, "-o", "json", "--timeout", "60", "-"], capture_output=True, text=True, check=False,
                          input="\n---\n".join(map(json.dumps, given)))
    assert done.returncode in (0, 1), done.stderr
    logs = {path.name.removesuffix(".log"): path.read_text() for path in (folder / "logs").iterdir()}
    return json.loads(done.stdout)["status"], logs, done.returncode


@pytest.fixture
def settled(namespace):
    """All of the jobs, created at once in the cluster: they end one by one."""
    namespace.create(CONFIG, SECRET, *jobs())
    return namespace


@pytest.mark.timeout(900)
def test_a_job_is_the_same_in_a_cluster_and_without(settled, tmp_path):
    differences = []
    for made in jobs():
        name = made["metadata"]["name"]
        status, logs = in_cluster(settled, made)
        status_here, logs_here, code = here(settled, made, tmp_path)
        pairs = [("status", of_both(status), of_both(status_here)), ("exit status", int(status["launcherStatus"] != "Completed"), code)]
        if name not in ("cleaned", "interactive"):  # their pods are gone
            # A cluster has the log of the last pod of a name, ipu-run that of all.
            pairs += [(key, lines_of(log), lines_of(last_lines(logs_here.get(key, ""), log))) for key, log in logs.items()]
        differences += [f"{name}: {what}:\n  cluster {there}\n  ipu-run {ours}" for what, there, ours in pairs if there != ours]
    assert not differences, "\n".join(differences)
