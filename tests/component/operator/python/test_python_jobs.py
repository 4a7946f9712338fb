"""The Python package ipu_jobs against a real API server: what it creates, sees and removes."""

import threading

import ipu_jobs
import pytest
import yaml
from waiting import until
from world import container, pod_template


@pytest.fixture
def user(user_kubeconfig, monkeypatch):
    # The package kubernetes reads the variable when it is imported.
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(user_kubeconfig))
    return ipu_jobs.Cluster()


def hello(name):
    print("hello", name)


def test_a_function_from_submission_to_the_end(world, vipu, user):
    world.start_operator(vipu.address)
    job = user.submit(hello, "IPU", image="train:1", ipus=4, workers=2, env={"A": "1"})
    assert job.name.startswith("hello-") and job.namespace == world.ns
    world.automatic()
    assert job.wait("Running", timeout=120) is job and job.state == "Running"

    pods = {pod["metadata"]["name"]: pod for pod in world.api.list("pods", world.ns)}
    first = pods[f"{job.name}-worker-0"]
    assert len(pods) == 2 and first["spec"]["containers"][0]["command"][-3:] == ["python3", "-u", "/job/hello.py"]
    files = world.api.get("configmaps", world.ns, f"{job.name}-source")
    assert files["metadata"]["ownerReferences"][0]["uid"] == job.uid and 'print("hello", name)' in files["data"]["file-0"]

    seen = []
    watcher = threading.Thread(target=lambda: seen.extend(each.object["status"]["launcherStatus"] for each in job.watch(timeout=120)))
    watcher.start()
    until(lambda: seen, "the watch has seen the job")
    for pod in pods.values():
        world.kubelet.succeed(world.api.get("pods", world.ns, pod["metadata"]["name"]))
    job.wait(timeout=120)
    watcher.join(120)
    assert (job.state, job.message) == ("Completed", "All instances done") and seen[0] == "Running" and seen[-1] == "Completed"
    until(lambda: "Completed" in [event.reason for event in job.events()], "the event is written")
    assert all(event.time and event.note for event in job.events())
    assert [each.name for each in user.jobs()] == [job.name] and user.job(job.name).uid == job.uid

    job.delete()
    assert job.wait("Deleted", timeout=120).state == "Deleted"
    with pytest.raises(ipu_jobs.JobDeleted, match=f"{world.ns}/{job.name} is deleted"):
        job.wait()
    with pytest.raises(ipu_jobs.IpuJobsError, match=f"there is no IPUJob {job.name} in namespace {world.ns}"):
        user.job(job.name)


def test_a_failure_is_raised_with_its_cause(world, vipu, user):
    world.start_operator(vipu.address)
    job = user.submit(["train"], image="train:1", name="fails")
    world.automatic(exits=lambda pod: 3)
    sentence = f"{world.ns}/fails is Failed: Container main of pod fails-worker-0 exited with code 3"
    with pytest.raises(ipu_jobs.JobFailed, match=sentence) as caught:
        job.wait(timeout=120)
    assert (caught.value.failure["pod"], caught.value.failure["exitCode"]) == ("fails-worker-0", 3)


def test_suspend_and_resume(world, vipu, user):
    world.start_operator(vipu.address)
    world.automatic()
    job = user.submit(["train"], image="train:1").wait("Running", timeout=120)
    assert job.suspend().object["spec"]["suspend"] is True
    job.wait("Suspended", timeout=120)
    job.resume().wait("Running", timeout=120)
    assert vipu.partitions()


def test_a_file_is_applied_twice(world, vipu, user, tmp_path):
    world.start_operator(vipu.address)
    path = tmp_path / "job.yaml"
    spec = {"jobInstances": 1, "ipusPerJobInstance": 4, "workers": {"template": pod_template(container())}}
    documents = [{"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "applied"}, "spec": spec},
                 {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"lr": "0.1"}}]
    path.write_text(yaml.safe_dump_all(documents))
    first = user.apply(path)
    spec["suspend"] = True
    path.write_text(yaml.safe_dump_all(documents))
    second = user.apply(path)
    assert first.uid == second.uid and second.object["spec"]["suspend"] is True
    assert world.api.get("configmaps", world.ns, "settings")["data"] == {"lr": "0.1"}
    first.wait("Suspended", timeout=120)


def test_a_job_of_the_same_name_is_another_one(world, vipu, user):
    job = user.submit(["train"], image="train:1", name="same")
    with pytest.raises(ipu_jobs.ApiError, match='"same" already exists') as caught:
        user.submit(["train"], image="train:1", name="same")
    assert caught.value.status == 409
    user.job("same").delete()
    job.wait("Deleted", timeout=120)
    again = user.submit(["train"], image="train:1", name="same")
    assert job.refresh().state == "Deleted" and again.state == "Pending"
    job.delete()
    assert again.refresh().state == "Pending"


def test_a_rejected_job_leaves_nothing(world, user):
    with pytest.raises(ipu_jobs.ApiError, match="ipusPerJobInstance: Invalid value: .*must be 1, 2, 4, 8, 16, 32, 64 or a multiple of 64"):
        user.submit(hello, "IPU", image="train:1", ipus=3, name="odd")
    assert user.jobs() == [] and world.api.get("configmaps", world.ns, "odd-source") is None


def test_without_the_right_to_send_files_no_job_stays(world, user, monkeypatch):
    world.api.create("resourcequotas", world.ns, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
                                                 "spec": {"hard": {"count/configmaps": "0"}}})
    until(lambda: "hard" in (world.api.get("resourcequotas", world.ns, "none").get("status") or {}), "the quota is in force")
    with pytest.raises(ipu_jobs.ApiError, match="exceeded quota: none"):
        user.submit(hello, "IPU", image="train:1")
    assert user.jobs() == []


def test_a_timeout_says_what_the_job_waits_for(world, user):
    job = user.submit(["train"], image="train:1", name="waits")
    with pytest.raises(TimeoutError, match=f"{world.ns}/waits is not Completed after 1 s; it is Pending: Waiting for the IPU operator to pick up the job"):
        job.wait(timeout=1)
