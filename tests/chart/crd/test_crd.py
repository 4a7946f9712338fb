"""The IPUJob resource definition on a real API server: what it accepts, keeps, explains and rejects."""

import copy
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from conftest import CHART, CRD_FILE, JUDGE
from renders import objects, render

DEFINITION = yaml.safe_load(CRD_FILE.read_text())
SCHEMA = DEFINITION["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
CHART_FILE = yaml.safe_load((CHART / "Chart.yaml").read_text())
SEED_JOBS = list(yaml.safe_load_all((Path(__file__).parent / "seed_jobs.yaml").read_text()))


def job(name="job", **spec):
    """A small valid job, with these fields of its spec set."""
    template = {"spec": {"containers": [{"name": "main", "image": "example/train"}]}}
    spec = {"jobInstances": 1, "ipusPerJobInstance": 4, "workers": {"template": template}, **spec}
    return {
        "apiVersion": "graphcore.ai/v1alpha1",
        "kind": "IPUJob",
        "metadata": {"name": name},
        "spec": {field: value for field, value in spec.items() if value is not None},
    }


def workers(template=None, **fields):
    return {"template": template or {"spec": {"containers": [{"name": "main"}]}}, **fields}


def created(api, namespace, made):
    done = api.create(made, namespace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def messages(schema):
    """Every validation message in the schema."""
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations", []):
            yield rule["message"]
        for key, part in schema.items():
            if key != "x-kubernetes-validations":
                yield from messages(part)


# ---- what the file is ----------------------------------------------------------------------------------------------


def test_definition_is_small_enough_for_client_side_apply():
    assert len(json.dumps(DEFINITION)) < 64 * 1024


def test_state_and_reason_are_the_first_columns_and_the_message_the_last():
    columns = DEFINITION["spec"]["versions"][0]["additionalPrinterColumns"]
    plain = [column["name"] for column in columns if not column.get("priority")]
    wide = [column["name"] for column in columns if column.get("priority")]
    assert plain == ["status", "Reason", "current", "desired", "Progress", "Age", "LastMessage"]
    assert wide == ["Partition", "IPUs", "Controller", "Start", "Ends", "ETA"]
    assert columns[-1]["name"] == "LastMessage", "however long it is, the others are read"


def test_scale_has_all_three_paths():
    assert DEFINITION["spec"]["versions"][0]["subresources"]["scale"] == {
        "specReplicasPath": ".spec.jobInstances",
        "statusReplicasPath": ".status.desiredReplicas",
        "labelSelectorPath": ".status.selector",
    }


# ---- what is accepted and kept -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEED_JOBS, ids=lambda seed: seed["metadata"]["generateName"].strip("-"))
def test_jobs_of_the_original_are_accepted_and_kept_as_they_are(api, namespace, seed):
    made = created(api, namespace, seed)
    expected = copy.deepcopy(seed["spec"])
    expected["workers"]["replicas"] = 1
    assert made["spec"] == expected
    assert made["metadata"]["name"].startswith(seed["metadata"]["generateName"])


def test_the_example_of_the_chart_is_accepted(api, namespace):
    """Catalogues show it."""
    for example in yaml.safe_load(CHART_FILE["annotations"]["artifacthub.io/crdsExamples"]):
        created(api, namespace, example)


@pytest.mark.parametrize("count", [8, "8"], ids=["integer", "string"])
@pytest.mark.parametrize("field", ["ipusPerJobInstance", "workersPerJobInstance", "modelReplicasPerWorker"])
def test_counts_are_digits_or_integers_and_stay_what_they_were(api, namespace, field, count):
    made = created(api, namespace, job(**{"ipusPerJobInstance": 8, field: count}))
    assert made["spec"][field] == count


@pytest.mark.parametrize("ipus", [1, 2, 4, 8, 16, 32, 64, 128, 192, "1024"])
def test_sizes_that_a_partition_can_have_are_accepted(api, namespace, ipus):
    created(api, namespace, job(ipusPerJobInstance=ipus))


def test_every_field_of_the_superset_is_accepted(api, namespace):
    made = job(
        ipusPerJobInstance="64",
        workersPerJobInstance="2",
        modelReplicasPerWorker="4",
        jobInstances=0,
        launcher={
            "command": ["mpirun", "train"],
            "slotsPerWorker": 2,
            "env": [{"name": "A", "value": "1"}],
            "template": {"spec": {"nodeSelector": {"pool": "head"}}},
        },
        restartPolicy={"type": "ExitCode", "exitCodes": "1-5,137", "backOffLimit": 2},
        cleanPodPolicy="Workers",
        interactive={"ttl": 600},
        suspend=True,
        managedBy="example.com/controller",
        ttlSecondsAfterFinished=0,
        activeDeadlineSeconds=3600,
        startDeadlineSeconds=60,
        partition={
            "reconfigurable": False,
            "gcds": 2,
            "syncType": "pod-native-default",
            "routing": "ringswnc",
            "allocation": "research",
        },
        workers=workers(
            replicas=2,
            strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
        ),
    )
    stored = created(api, namespace, made)
    assert stored["spec"] == made["spec"]


def test_defaults_of_the_original_are_filled_in(api, namespace):
    made = created(api, namespace, job(restartPolicy={"type": "OnFailure"}))
    assert made["spec"]["workers"]["replicas"] == 1
    assert made["spec"]["restartPolicy"]["backOffLimit"] == 3
    stored = api.get("job", namespace)
    assert stored["status"]["launcherStatus"] == "Pending"


def test_a_job_that_nobody_has_seen_has_a_generation_that_no_spec_has(api, namespace):
    """kstatus (fluxcd/cli-utils, pkg/kstatus/status) takes a job without conditions for current, unless this tells otherwise."""
    for made in (job("unseen"), job("others", managedBy="example.com/controller")):
        api.must("apply", "--server-side", "-f", "-", stdin=json.dumps(made), namespace=namespace)
        assert api.get(made["metadata"]["name"], namespace)["status"]["observedGeneration"] == -1


def test_unknown_pod_fields_are_kept_at_every_level(api, namespace):
    future = {"futureField": {"deep": [1, "two", None, {"ключ": "значение"}]}}
    template = {
        **future,
        "metadata": {**future, "labels": {"team": "vision"}, "annotations": {"note": "x"}},
        "spec": {
            **future,
            "schedulingGates": [{"name": "example.com/gate"}],
            "containers": [
                {
                    **future,
                    "name": "main",
                    "env": [{**future, "name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                    "resources": {**future, "limits": {"cpu": 2, "memory": "1Gi"}},
                    "livenessProbe": {"grpc": {"port": 1}, "terminationGracePeriodSeconds": 1},
                }
            ],
            "initContainers": [{**future, "name": "side", "restartPolicy": "Always"}],
            "volumes": [{**future, "name": "data", "image": {"reference": "example/data"}}],
            "tolerations": [{**future, "operator": "Exists"}],
            "nodeSelector": {"pool": "a"},
        },
    }
    made = created(api, namespace, job(workers=workers(template)))
    assert made["spec"]["workers"]["template"] == template


def test_unknown_fields_of_the_job_itself_are_kept_for_the_webhook(api, namespace):
    """An API server that rejected them would name no other mistake."""
    created(api, namespace, job(ipusPerJobInstnace=4))
    made = created(api, namespace, job("nested", restartPolicy={"type": "Never", "backoff": 1}, workers=workers(replics=2)))
    assert (made["spec"]["restartPolicy"]["backoff"], made["spec"]["workers"]["replics"]) == (1, 2)


def own_objects(schema, path=()):
    """The job's own objects, with their paths; pod templates are left to the dry run."""
    yield path, schema
    for name, part in schema["properties"].items():
        if "properties" in part and name not in ("template", "status"):
            yield from own_objects(part, (*path, name))


def test_the_operator_knows_the_fields_that_the_definition_has_and_no_others():
    """The list in operator/api/job/additions.c."""
    found = list(own_objects(SCHEMA))
    assert len(found) == 9
    for path, schema in found:
        assert schema["x-kubernetes-preserve-unknown-fields"], path
        value = {name: 1 for name in schema["properties"]} | {"unheard": 1}
        for name in reversed(path):
            value = {name: value}
        (problems,) = judged([value])
        assert [problem for problem in problems if "unknown field" in problem] == [
            f"{'.'.join((*path, 'unheard'))}: Forbidden: unknown field"]


def test_without_webhooks_strict_clients_learn_of_unknown_fields_from_the_api_server(api, namespace, programs):
    (carried,) = [thing["data"] for thing in objects(render(programs / "helm", {"admissionWebhooks": {"enabled": False}}))
                  if thing["kind"] == "ConfigMap" and thing["metadata"]["name"].endswith("-crd")]
    wrong = json.dumps(job(ipusPerJobInstnace=4, interactive={"ttl": 1, "tll": 1}))
    api.must("replace", "-f", "-", stdin=next(iter(carried.values())))
    try:
        deadline = time.monotonic() + 120
        while not (done := api.kubectl("create", "--dry-run=server", "-f", "-", stdin=wrong, namespace=namespace)).returncode:
            assert time.monotonic() < deadline, "the API server does not take the definition over"
            time.sleep(0.1)
        assert 'unknown field "spec.ipusPerJobInstnace"' in done.stderr and 'unknown field "spec.interactive.tll"' in done.stderr
    finally:
        api.until("replace", "-f", str(CRD_FILE))
        api.until_defined()


def test_status_of_the_design_is_stored_whole(api, namespace):
    created(api, namespace, job())
    now = "2026-01-02T03:04:05Z"
    status = {
        "launcherStatus": "Running",
        "lastMessage": "1 of 1 instances run",
        "reason": "PodsRunning",
        "observedGeneration": 1,
        "currentReplicas": 1,
        "desiredReplicas": 1,
        "selector": "graphcore.ai/job-name=job,graphcore.ai/worker=0",
        "iPUPartitionCreated": True,
        "partitions": [
            {"id": "p-job-ns-0", "controller": "vipu:8090", "instance": 0, "attempt": 0, "ipus": 4, "gcds": 1,
             "state": "Active", "message": "ready"}
        ],
        "partitionCounts": {"total": 1, "active": 1},
        "workersStatus": {"active": 1, "succeeded": 0, "failed": 0},
        "completedIndexes": "1-3,5",
        "failedIndexes": "4",
        "completedInstances": "1-3,5",
        "failedInstances": "4",
        "restartCount": 0,
        "startTime": now,
        "endTime": now,
        "completionTime": now,
        "lastReconcileTime": now,
        "conditions": [
            {"type": "Running", "status": "True", "reason": "PodsRunning", "message": "yes", "observedGeneration": 1,
             "lastTransitionTime": now, "lastUpdateTime": now}
        ],
        "failures": [
            {"instance": 0, "attempt": 0, "pod": "job-worker-0", "container": "main", "exitCode": 137, "signal": 9,
             "reason": "OOMKilled", "message": "killed", "time": now}
        ],
    }
    api.must("patch", "ipujob", "job", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}),
             namespace=namespace)
    assert api.get("job", namespace)["status"] == status
    wide = api.must("get", "ij", "job", "-o", "wide", "--no-headers", namespace=namespace)
    for shown in ["Running", "p-job-ns-0", "4", "vipu:8090", now, "PodsRunning"]:
        assert shown in wide.split()


def test_scale_changes_job_instances_and_all_lists_jobs(api, namespace):
    created(api, namespace, job())
    api.must("scale", "ipujob/job", "--replicas=3", namespace=namespace)
    assert api.get("job", namespace)["spec"]["jobInstances"] == 3
    assert "ipujob.graphcore.ai/job" in api.must("get", "all", "-o", "name", namespace=namespace)


def test_two_field_managers_own_two_containers(api, namespace):
    def applied(manager, container):
        part = job()
        part["spec"]["workers"]["template"]["spec"]["containers"] = [container]
        api.must("apply", "--server-side", "--field-manager", manager, "-f", "-", stdin=json.dumps(part),
                 namespace=namespace)

    applied("user", {"name": "main", "image": "example/train"})
    applied("injector", {"name": "proxy", "image": "example/proxy"})
    applied("user", {"name": "main", "image": "example/train:2"})
    containers = api.get("job", namespace)["spec"]["workers"]["template"]["spec"]["containers"]
    assert containers == [
        {"name": "main", "image": "example/train:2"},
        {"name": "proxy", "image": "example/proxy"},
    ]


def test_applying_the_same_again_is_no_new_generation(api, namespace):
    made = job(restartPolicy={"type": "OnFailure"}, workersPerJobInstance=2, ipusPerJobInstance="4")
    for _ in range(3):
        api.must("apply", "--server-side", "-f", "-", stdin=json.dumps(made), namespace=namespace)
        assert api.get("job", namespace)["metadata"]["generation"] == 1


# ---- what it says about itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path, words",
    [
        ("ipujob.spec", ["ipusPerJobInstance", "Number of IPUs of each instance", "managedBy"]),
        ("ipujob.spec.workers.template", ["metadata", "Every field of a Kubernetes pod is accepted"]),
        ("ipujob.spec.workers.template.spec", ["containers", "The first one runs", "tolerations"]),
        ("ipujob.spec.workers.template.spec.containers", ["command", "not through a shell", "resources"]),
        ("ipujob.spec.workers.template.spec.containers.env", ["value", "valueFrom"]),
        ("ipujob.spec.launcher.template.spec.containers", ["image"]),
        ("ipujob.status.conditions", ["lastTransitionTime", "lastUpdateTime"]),
    ],
)
def test_explain_reads_well_down_into_containers(api, path, words):
    # Descriptions are wrapped to the terminal's width.
    text = " ".join(api.must("explain", path).split())
    for word in words:
        assert word in text


def test_every_field_has_a_description():
    missing = []

    def walk(schema, path):
        for name, part in schema.get("properties", {}).items():
            if "description" not in part and f"{path}.{name}" != ".metadata":
                missing.append(f"{path}.{name}")
            walk(part, f"{path}.{name}")
            walk(part.get("items", {}), f"{path}.{name}[]")

    walk(SCHEMA, "")
    assert missing == []


# ---- what it rejects -----------------------------------------------------------------------------------------------

NOT_DIGITS = "must be a whole number from 1 to 65536, written in digits"
NOT_WORKERS = "must be a whole number from 1 to 4096, written in digits"
NOT_A_SIZE = "must be 1, 2, 4, 8, 16, 32, 64 or a multiple of 64"
NOT_EVEN = "ipusPerJobInstance must be divisible by"
TOO_MANY_PODS = "jobInstances times the worker pods of an instance"
NOT_POWER = "(workersPerJobInstance, or workers.replicas) must be a power of two"
TWO_COUNTS = "workers.replicas must equal workersPerJobInstance"
BAD_CODES = "must be a comma-separated list of exit codes (0 to 255)"
BAD_STEP = "must be a number such as 1 or a percentage such as 25%"

REJECTED = [
    *[(f"size {size!r}", job(ipusPerJobInstance=size), NOT_DIGITS)
      for size in [0, -4, 65537, 99999, 100000, "0", "-4", "", "four", "4.0", " 4", "4Gi", "04", "9" * 400]],
    *[(f"size {size!r}", job(ipusPerJobInstance=size), NOT_A_SIZE) for size in [3, "12", 63, 65, 96, 100]],
    *[(f"workers {n!r}", job(workersPerJobInstance=n), NOT_WORKERS) for n in [0, -1, "two", "", 4097]],
    *[(f"replicas {n!r}", job(modelReplicasPerWorker=n), NOT_DIGITS) for n in [0, "-1", "1e3"]],
    ("size is no whole number", job(ipusPerJobInstance=4.5), "spec.ipusPerJobInstance"),
    ("shares of workers", job(ipusPerJobInstance=4, workersPerJobInstance=3), NOT_EVEN),
    ("workers on several domains", job(ipusPerJobInstance=192, workersPerJobInstance="3"), NOT_POWER),
    ("workers.replicas on several domains", job(ipusPerJobInstance=192, workers=workers(replicas=3)), NOT_POWER),
    ("shares of workers.replicas", job(ipusPerJobInstance=4, workers=workers(replicas=8)), NOT_EVEN),
    ("shares of model replicas", job(ipusPerJobInstance="8", workersPerJobInstance="2", modelReplicasPerWorker="8"),
     NOT_EVEN),
    ("two counts of workers", job(workersPerJobInstance=2, workers=workers(replicas=4)), TWO_COUNTS),
    ("no workers", job(workers=workers(replicas=0)), "spec.workers.replicas"),
    ("no instances given", job(jobInstances=None), "spec.jobInstances: Required value"),
    ("negative instances", job(jobInstances=-1), "spec.jobInstances"),
    ("instances as text", job(jobInstances="1"), "spec.jobInstances"),
    ("restarts as text", job(restartPolicy={"type": "Always", "backOffLimit": "3"}), "spec.restartPolicy.backOffLimit"),
    ("a time as text", job(activeDeadlineSeconds="60"), "spec.activeDeadlineSeconds"),
    ("slots as text", job(launcher={"command": ["mpirun"], "slotsPerWorker": "2"}), "spec.launcher.slotsPerWorker"),
    ("too many pods", job(jobInstances=9, ipusPerJobInstance=4096, workersPerJobInstance=4096), TOO_MANY_PODS),
    ("too many pods by replicas", job(jobInstances=10000, workers=workers(replicas=4)), TOO_MANY_PODS),
    ("no size", job(ipusPerJobInstance=None), "spec.ipusPerJobInstance: Required value"),
    ("no container", job(workers=workers({"spec": {"containers": []}})), "should have at least 1 items"),
    ("no name", job(workers=workers({"spec": {"containers": [{"image": "a"}]}})), "containers[0].name: Required value"),
    ("bad container name", job(workers=workers({"spec": {"containers": [{"name": "Main_1"}]}})), "containers[0].name"),
    ("two containers of one name", job(workers=workers({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}})),
     "containers[1]: Duplicate value"),
    ("value is no string", job(workers=workers({"spec": {"containers": [{"name": "a", "env": [{"name": "N", "value": 1}]}]}})),
     "containers[0].env[0].value"),
    ("bad quantity", job(workers=workers({"spec": {"containers": [{"name": "a", "resources": {"limits": {"memory": "4 GB"}}}]}})),
     "limits.memory"),
    ("name is no label value", job(name="n" * 64), "metadata.name must be no more than 63 characters"),
    ("launcher without a command", job(launcher={}), "spec.launcher.command: Required value"),
    ("launcher without words", job(launcher={"command": []}), "should have at least 1 items"),
    ("no slots", job(launcher={"command": ["a"], "slotsPerWorker": 0}), "spec.launcher.slotsPerWorker"),
    ("restart type", job(restartPolicy={"type": "Sometimes"}), 'supported values: "Always"'),
    ("no exit codes", job(restartPolicy={"type": "ExitCode"}), "exitCodes is required when type is ExitCode"),
    *[(f"exit codes {codes!r}", job(restartPolicy={"type": "ExitCode", "exitCodes": codes}), BAD_CODES)
      for codes in ["", "one", "1,", "1-", "-1", "256", "1-300", "1 2", "1,,2"]],
    ("backwards exit codes", job(restartPolicy={"type": "ExitCode", "exitCodes": "3,9-5"}),
     "a range of exit codes must start with the smaller number"),
    ("clean-up policy", job(cleanPodPolicy="Some"), 'supported values: "None"'),
    ("no time to live", job(interactive={}), "spec.interactive.ttl: Required value"),
    *[(f"managed by {name!r}", job(managedBy=name), "must be a domain-prefixed path")
      for name in ["kueue", "example.com/", "/name", "Example.com/x", "a/b/c"]],
    ("no step", job(workers=workers(strategy={"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}})),
     "must not be 0 when maxSurge is 0"),
    ("no step by default", job(workers=workers(strategy={"rollingUpdate": {"maxUnavailable": "00%"}})), "must not be 0 when maxSurge is 0"),
    ("surge", job(workers=workers(strategy={"rollingUpdate": {"maxSurge": "half"}})), BAD_STEP),
    ("unavailable", job(workers=workers(strategy={"rollingUpdate": {"maxUnavailable": -1}})), BAD_STEP),
    ("gcds", job(partition={"gcds": 3}), "partition.gcds must divide ipusPerJobInstance"),
    ("a gcd for two workers", job(workersPerJobInstance=2, partition={"gcds": 1}), "must be at least the number of worker pods"),
    ("a gcd for two replicas", job(workers=workers(replicas=2), partition={"gcds": 1}), "must be at least the number of worker pods"),
    *[(f"a long {field}", job(**{field: 2**31}), f"spec.{field}") for field in ["activeDeadlineSeconds", "startDeadlineSeconds", "ttlSecondsAfterFinished"]],
    ("a long interactive job", job(interactive={"ttl": 2**31}), "spec.interactive.ttl"),
    ("many restarts", job(restartPolicy={"type": "Always", "backOffLimit": 2**31}), "spec.restartPolicy.backOffLimit"),
    ("sync", job(partition={"syncType": "never"}), "spec.partition.syncType: Unsupported value"),
    ("routing", job(partition={"routing": "never"}), "spec.partition.routing: Unsupported value"),
    ("no allocation", job(partition={"allocation": ""}), "spec.partition.allocation"),
    ("two volumes of one name",
     job(workers=workers({"spec": {"containers": [{"name": "a"}], "volumes": [{"name": "v"}, {"name": "v"}]}})),
     "volumes[1]: Duplicate value"),
    ("no type of restart", job(restartPolicy={}), "spec.restartPolicy.type: Required value"),
    ("suspend is no truth", job(suspend="yes"), "spec.suspend"),
    ("partition is no object", job(partition=7), "spec.partition"),
    ("reconfigurable with gcds", job(partition={"reconfigurable": True, "gcds": 2}), "require exactly one graph compilation domain"),
    ("reconfigurable sync", job(partition={"reconfigurable": True, "syncType": "pod-native-default"}), "require the syncType c2-compatible"),
    ("reconfigurable over domains", job(ipusPerJobInstance=128, partition={"reconfigurable": True}), "at most 64"),
]


@pytest.mark.parametrize("bad, says", [row[1:] for row in REJECTED], ids=[row[0][:40] for row in REJECTED])
def test_rejected_with_a_sentence(api, namespace, bad, says):
    done = api.create(bad, namespace)
    assert done.returncode != 0
    assert says in done.stderr
    # A rule that fails to evaluate would say so instead of speaking to the user.
    assert "rule:" not in done.stderr and "no such" not in done.stderr and "conversion" not in done.stderr


def test_every_mistake_is_named_at_once(api, namespace):
    bad = job(ipusPerJobInstance="12", modelReplicasPerWorker="x", managedBy="me", restartPolicy={"type": "ExitCode"})
    done = api.create(bad, namespace)
    for says in [NOT_A_SIZE, NOT_DIGITS, "must be a domain", "exitCodes is required"]:
        assert says in done.stderr


@pytest.mark.parametrize("name", ["n" * 63, "with.dots", "1st"])
def test_names_of_up_to_63_characters_are_accepted(api, namespace, name):
    created(api, namespace, job(name=name, jobInstances=10000, workersPerJobInstance=2, launcher={"command": ["a"]}))


SHAPE = {"ipusPerJobInstance": "8", "workersPerJobInstance": "2", "modelReplicasPerWorker": "2"}
NEW_JOB = "create a new job instead"

IMMUTABLE = [
    ("size", SHAPE, {"ipusPerJobInstance": "16"}, "field is immutable; " + NEW_JOB),
    ("workers", SHAPE, {"workersPerJobInstance": "4"}, "(workersPerJobInstance, or workers.replicas) is immutable"),
    ("workers removed", SHAPE, {"workersPerJobInstance": None}, "(workersPerJobInstance, or workers.replicas) is immutable"),
    ("workers.replicas", {}, {"workers": {"replicas": 2}}, "(workersPerJobInstance, or workers.replicas) is immutable"),
    ("model replicas", SHAPE, {"modelReplicasPerWorker": "4"}, "modelReplicasPerWorker is immutable"),
    ("model replicas added", {}, {"modelReplicasPerWorker": "1"}, "modelReplicasPerWorker is immutable"),
    ("partition added", {}, {"partition": {"gcds": 1}}, "partition is immutable"),
    ("partition changed", {"partition": {"gcds": 1}}, {"partition": {"gcds": 2}}, "partition is immutable"),
    ("launcher added", {}, {"launcher": {"command": ["a"]}}, "launcher cannot be added to or removed"),
    ("managedBy", {"managedBy": "a.b/c"}, {"managedBy": "a.b/d"}, "managedBy is immutable"),
    ("managedBy removed", {"managedBy": "a.b/c"}, {"managedBy": None}, "managedBy is immutable"),
]


def patched(spec, change):
    """What a merge patch makes of it."""
    if not isinstance(change, dict):
        return change
    merged = {**(spec if isinstance(spec, dict) else {})}
    merged.update({key: patched(merged.get(key), value) for key, value in change.items()})
    return {key: value for key, value in merged.items() if value is not None}


@pytest.mark.parametrize("before, change, says", [row[1:] for row in IMMUTABLE], ids=[row[0] for row in IMMUTABLE])
def test_fields_that_shape_the_partition_cannot_change(api, namespace, before, change, says):
    created(api, namespace, job(**before))
    done = api.kubectl("patch", "ipujob", "job", "--type=merge", "-p", json.dumps({"spec": change}), namespace=namespace)
    assert done.returncode != 0
    assert says in done.stderr


def test_what_means_the_same_may_be_written_differently(api, namespace):
    created(api, namespace, job(ipusPerJobInstance=8, workersPerJobInstance=1, modelReplicasPerWorker=2))
    same = {"ipusPerJobInstance": "8", "workersPerJobInstance": None, "modelReplicasPerWorker": "2"}
    api.must("patch", "ipujob", "job", "--type=merge", "-p", json.dumps({"spec": same}), namespace=namespace)


def test_every_rule_of_the_definition_has_a_case_here():
    output = [row[-1] for row in REJECTED + IMMUTABLE]
    untested = [message for message in set(messages(SCHEMA)) if not any(part in message for part in output)]
    assert untested == []


# ---- what the operator says to the same ----------------------------------------------------------------------------

# The webhook fills the type of a restart policy in, and the operator reads it as Never.
ACCEPTED = {"no type of restart"}


def judged(*cases):
    """What the operator has to say: a list of problems for each job, or each pair of a job and what becomes of it."""
    lines = "".join(json.dumps(list(case)) + "\n" for case in cases)
    done = subprocess.run([JUDGE], input=lines, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_operator_rejects_what_the_definition_rejects():
    rows = [row for row in REJECTED if row[0] not in ACCEPTED]
    accepted = [row[0] for row, problems in zip(rows, judged(*[row[1:2] for row in rows])) if not problems]
    assert accepted == []
    pairs = [(job(**before), {**job(**before), "spec": patched(job(**before)["spec"], change)}) for _, before, change, _ in IMMUTABLE]
    changed = [row[0] for row, problems in zip(IMMUTABLE, judged(*pairs)) if not problems]
    assert changed == []


def field_of(problem):
    """spec.a.b of "spec.a.b[0].c: ...": what both name, where one is more exact than the other."""
    return ".".join(re.split(r"[.:\[ ]", problem)[:2])


def test_both_name_the_same_field(api, namespace):
    rows = [row for row in REJECTED if row[0] not in ACCEPTED]
    for (name, bad, _), problems in zip(rows, judged(*[row[1:2] for row in rows])):
        output = api.create(bad, namespace).stderr
        wanted = {field_of(problem) for problem in problems}
        # A rule about several fields stands at spec, and its message begins with the field.
        assert [field for field in wanted if field in output or field.removeprefix("spec.") in output], f"{name}: {problems}\n{output}"


def test_the_operator_accepts_what_the_definition_accepts(api, namespace):
    good = [
        job(), job(jobInstances=0), job(jobInstances=10000), job(name="n" * 63, workersPerJobInstance=2), *SEED_JOBS,
        job(jobInstances=8, ipusPerJobInstance=4096, workersPerJobInstance=4096),
        *[job(ipusPerJobInstance=ipus) for ipus in [1, "64", 128, 65536]],
        job(ipusPerJobInstance=8, workersPerJobInstance="2", modelReplicasPerWorker=2, partition={"gcds": 4}),
        job(partition={"reconfigurable": True, "syncType": "c2-compatible", "gcds": 1, "routing": "dnc", "allocation": "a"}),
        job(workersPerJobInstance=2, partition={"reconfigurable": True, "gcds": 1}),
        job(restartPolicy={"type": "ExitCode", "exitCodes": "0-255,7", "backOffLimit": 0}),
        job(restartPolicy={"type": "ExitCode", "exitCodes": ",".join(map(str, range(256)))}),
        job(restartPolicy={"type": "Always", "exitCodes": "1"}),
        job(managedBy="kueue.x-k8s.io/multikueue"), job(managedBy="a/" + "b" * 61), job(interactive={"ttl": 2**31 - 1}),
        job(activeDeadlineSeconds=2**31 - 1, startDeadlineSeconds=1, ttlSecondsAfterFinished=0, suspend=True, cleanPodPolicy="All"),
        job(workers=workers(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": "99999%", "maxUnavailable": "00"}})),
        job(workers=workers(strategy={"rollingUpdate": {"maxSurge": 0}})),
        job(launcher={"command": ["a"], "env": [{"name": "A"}], "template": {"spec": {"containers": [{"name": "a"}]}}}),
    ]
    for made, problems in zip(good, judged(*[[made] for made in good])):
        done = api.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(made), namespace=namespace)
        assert (done.returncode, problems) == (0, []), f"{made}: {done.stderr}"


def test_what_only_the_operator_rejects_is_about_two_templates_its_own_names_or_a_flood():
    two = workers({"spec": {"containers": [{"name": "a", "args": ["b"]}]}})
    own = {"spec": {"containers": [{"name": "a", "command": ["b"]}]}}
    many = job(ipusPerJobInstance=2048, workersPerJobInstance=2048, launcher={"command": ["a"]})
    taken = workers({"spec": {"containers": [{"name": "a"}], "volumes": [{"name": "ipu-launcher"}]}})
    for problems in judged([job(launcher={"command": ["a"]}, workers=two)], [job(workers=taken)],
                           [job(launcher={"command": ["a"], "template": own})], [many]):
        assert len(problems) == 1
