"""The TorchX schedulers: what becomes of an app, and what TorchX's own commands make of the job."""

import json
import os

import pytest
from scripted import Answer, failure, job, pod
from torchx_program import torchx  # noqa: F401
from waiting import until

JOB = "/apis/graphcore.ai/v1alpha1/namespaces/ml/ipujobs/j"
CREATE = "POST /apis/graphcore.ai/v1alpha1/namespaces/ml/ipujobs"
HANDLE = "ipu://torchx/ml:j"
# The objects of apps as a user's own component makes them, or the error.
APPS = """
import json
from ipu_jobs_torchx import job_of
from torchx import specs
from torchx.specs import macros

def role(**more):
    return specs.Role(**{**dict(name="trainer", image="i:1", entrypoint="train", args=["--id", macros.replica_id, macros.app_id]), **more})

full = role(num_replicas=4, env={"A": "1"}, max_retries=2, port_map={"tensor_board-of-the-app": 80},
            resource=specs.Resource(cpu=2, gpu=0, memMB=512, devices={"graphcore.ai/ipu": 2}),
            mounts=[specs.BindMount("/data", "/in", read_only=True), specs.VolumeMount("claim", "/out")])
found = [job_of("My App", full, None), job_of("app", role(), 16)]
for bad in (role(resource=specs.Resource(cpu=1, gpu=1, memMB=1)), role(mounts=[specs.DeviceMount("/dev/ipu", "/dev/ipu")])):
    try:
        job_of("app", bad, None)
    except ValueError as error:
        found.append(str(error))
print(json.dumps(found))
"""


def test_the_job_of_an_app(torchx, server):  # noqa: F811
    full, small, gpus, device = json.loads(torchx("-c", APPS, program="python3", kubeconfig=server.kubeconfig))
    name = full["metadata"]["name"]
    assert name.startswith("my-app-") and full["metadata"]["annotations"] == {"torchx.pytorch.org/role-name": "trainer"}
    spec = full["spec"]
    assert (spec["ipusPerJobInstance"], spec["workers"]["replicas"]) == ("8", 4)
    assert spec["restartPolicy"] == {"type": "OnFailure", "backOffLimit": 2}
    assert spec["workers"]["template"]["spec"] == {
        "containers": [{
            "name": "main", "image": "i:1", "command": ["train", "--id", "$(IPU_JOB_WORKER_INDEX)", name],
            "env": [{"name": "A", "value": "1"}], "ports": [{"name": "tensor-board-of", "containerPort": 80}],
            "resources": {"requests": {"cpu": "2", "memory": "512M"}, "limits": {"memory": "512M"}},
            "volumeMounts": [{"name": "mount-0", "mountPath": "/in", "readOnly": True},
                             {"name": "mount-1", "mountPath": "/out", "readOnly": False}]}],
        "volumes": [{"name": "mount-0", "hostPath": {"path": "/data"}},
                    {"name": "mount-1", "persistentVolumeClaim": {"claimName": "claim"}}]}
    assert small["spec"]["ipusPerJobInstance"] == "16" and "restartPolicy" not in small["spec"]
    assert gpus == 'role trainer asks for GPUs; ask for IPUs with resource.devices["graphcore.ai/ipu"], or -cfg ipus=N'
    assert device == "a job cannot mount the device /dev/ipu: IPUs need no device mounts"


def test_a_dry_run_shows_the_job_and_sends_nothing(torchx, server):  # noqa: F811
    shown = torchx("run", "-s", "ipu", "-cfg", "ipus=4", "--dryrun", "utils.echo", "--image", "i:1", "--msg", "hi",
                   kubeconfig=server.kubeconfig)
    made = json.loads(shown[shown.index("{\n"):])
    assert made["kind"] == "IPUJob" and made["spec"]["ipusPerJobInstance"] == "4" and server.requests == []


def test_the_namespace_is_that_of_the_option(torchx, server):  # noqa: F811
    server.on(CREATE.replace("/ml/", "/other/"), job(5))
    torchx("run", "-s", "ipu", "-cfg", "namespace=other", "utils.echo", "--image", "i:1", kubeconfig=server.kubeconfig)
    assert server.count(CREATE.replace("/ml/", "/other/")) == 1


@pytest.mark.parametrize("state,shown", [("Starting", "PENDING"), ("Running", "RUNNING"), ("Suspended", "CANCELLED"),
                                         ("Completed", "SUCCEEDED"), ("Failed", "FAILED")])
def test_the_state_of_an_app(torchx, server, state, shown):  # noqa: F811
    found = job(5, state)
    found["spec"] = {"workers": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main", "image": "i:1"}]}}}}
    server.on(f"GET {JOB}", found)
    told = torchx("status", HANDLE, kubeconfig=server.kubeconfig)
    assert f"State: {shown}" in told and f"it is {state}" in told


def test_the_log_of_a_replica(torchx, server):  # noqa: F811
    server.on(f"GET {JOB}", job(5) | {"spec": {"workers": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main"}]}}}}})
    worker = "GET /api/v1/namespaces/ml/pods/j-worker-1"
    server.on(worker, pod(1, "terminated"))
    server.on(f"{worker}/log", Answer(b"loss 2\nepoch 1\nloss 1\n"))
    told = torchx("log", "--regex", "^loss", f"{HANDLE}/main/1", kubeconfig=server.kubeconfig)
    assert told.splitlines() == ["main/1 loss 2", "main/1 loss 1"]


def test_canceling_suspends_the_job(torchx, server):  # noqa: F811
    server.on(f"GET {JOB}", job(5) | {"spec": {"workers": {"template": {"spec": {"containers": [{"name": "main"}]}}}}})
    server.on(f"PATCH {JOB}", job(6, "Suspended"))
    torchx("cancel", HANDLE, kubeconfig=server.kubeconfig)
    assert server.bodies[-1] == {"metadata": {"uid": "u1"}, "spec": {"suspend": True}}


def test_an_app_that_does_not_exist(torchx, server):  # noqa: F811
    server.on(f"GET {JOB}", failure(404, 'ipujobs.graphcore.ai "j" not found'))
    done = torchx.attempt("status", HANDLE, kubeconfig=server.kubeconfig)
    assert done.returncode and "does not exist" in done.stdout + done.stderr


def test_an_app_on_this_machine(torchx, server, ipu_run, monkeypatch):  # noqa: F811
    monkeypatch.setenv("PATH", f"{ipu_run.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)

    def types(*words):
        return torchx(*words, kubeconfig=server.kubeconfig)

    shown = types("run", "-s", "ipu_local", "--wait", "--log", "utils.sh", "--image", "none", "--num_replicas", "2",
                  "echo", "rank", "${replica_id}")
    handle = next(line for line in shown.splitlines() if line.startswith("ipu_local://"))
    assert "State: SUCCEEDED" in types("status", handle)
    assert types("log", f"{handle}/sh/1") == "sh/1 rank 1\n"
    assert handle.rpartition("/")[2] in types("list", "-s", "ipu_local")

    long = types("run", "-s", "ipu_local", "utils.sh", "--image", "none", "sleep", "1000").strip().splitlines()[-1]
    types("cancel", long)
    until(lambda: torchx.attempt("status", long, kubeconfig=server.kubeconfig).returncode, "the canceled app is gone")
    assert server.requests == []
