"""Instances come and go, and a changed template is rolled out over them."""

from kubelet import is_stopped
from metrics_api import MetricsApi
from waiting import until
from world import container, pod_template


def scale(world, job, replicas):
    """What kubectl scale does."""
    world.api.patch("ipujobs", job.ns, job.name, {"spec": {"replicas": replicas}}, sub="scale")


def instances(job):
    return sorted(pod["metadata"]["labels"]["graphcore.ai/instance"] for pod in job.pods().values()
                  if not pod["metadata"].get("deletionTimestamp") and not is_stopped(pod))


def wait_instances(world, job, count):
    until(lambda: instances(job) == [str(i) for i in range(count)] and job.status.get("currentReplicas") == count,
          f"{count} instances run", tell=world.tell)


def test_scaling_adds_at_the_end_and_takes_the_last_away(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("serve", jobInstances=2, ipusPerJobInstance="8")
    world.automatic()
    wait_instances(world, job, 2)
    scale(world, job, 4)
    wait_instances(world, job, 4)
    assert len(vipu.partitions()) == 4
    first = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
    scale(world, job, 1)
    wait_instances(world, job, 1)
    until(lambda: list(vipu.partitions()) == [f"p-serve-{world.ns}-0"], "the IPUs of the others are free", tell=world.tell)
    assert job.pods()["serve-worker-0"]["metadata"]["uid"] == first["serve-worker-0"], "nothing else was disturbed"
    job.wait_logs_kept(*(f"serve-worker-{n}" for n in (1, 2, 3)))
    shown = world.api.request("GET", world.api.path("ipujobs", world.ns, "serve", "scale"))
    assert (shown["spec"]["replicas"], shown["status"]["replicas"]) == (1, 1)


def test_scaling_a_job_that_has_ended_says_that_it_changes_nothing(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("over")
    world.automatic(lambda pod: 0)
    job.wait("Completed")
    scale(world, job, 3)
    until(lambda: "ScaleIgnored" in job.reasons_reported(), "an event tells", tell=world.tell)
    assert job.is_in("Completed") and len(job.pods()) <= 1


def test_an_autoscaler_counts_one_pod_of_each_instance(world, vipu):
    """Two workers an instance: counted pod by pod, the same load would look like half of it."""
    world.start_operator(vipu.address)
    job = world.job("auto", jobInstances=1, ipusPerJobInstance="4", workersPerJobInstance="2")
    load = {"MiB": 90}  # which the instances share
    metrics = MetricsApi(world.api, world.folder, lambda pod: load["MiB"] // max(1, len(set(instances(job)))))
    world.keep(metrics, metrics.close)
    until(metrics.is_available, "the API server takes the metrics API")
    world.automatic()
    job.wait("Running")
    world.api.create("horizontalpodautoscalers", world.ns, {"metadata": {"name": "auto"}, "spec": {
        "scaleTargetRef": {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "name": "auto"},
        "minReplicas": 1, "maxReplicas": 4,
        "metrics": [{"type": "Resource", "resource": {
            "name": "memory", "target": {"type": "AverageValue", "averageValue": "30Mi"}}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}})
    until(lambda: job.get()["spec"]["jobInstances"] == 3, "90 MiB at 30 MiB each want three instances", 180,
          lambda: str(world.api.get("horizontalpodautoscalers", world.ns, "auto")) + world.tell())
    until(lambda: job.status.get("currentReplicas") == 3, "three instances run", tell=world.tell)
    load["MiB"] = 30
    until(lambda: job.get()["spec"]["jobInstances"] == 1, "30 MiB want one", 180,
          lambda: str(world.api.get("horizontalpodautoscalers", world.ns, "auto")) + world.tell())
    until(lambda: list(vipu.partitions()) == [f"p-auto-{world.ns}-0"], "the IPUs of the others are free", tell=world.tell)


def of_image(job, image):
    return sum(pod["spec"]["containers"][0]["image"] == image and not is_stopped(pod) and not pod["metadata"].get("deletionTimestamp")
               for pod in job.pods().values())


def change_image(job, image):
    job.patch({"spec": {"workers": {"template": pod_template(container(image=image))}}})


class Fewest:
    """The fewest pods that ran at once, of all the moments at which it was asked."""

    def __init__(self, job):
        self.job, self.count = job, 100

    def __call__(self):
        pods = self.job.pods().values()
        self.count = min(self.count, sum(pod["status"].get("phase") == "Running" for pod in pods))
        return self.count


def test_a_changed_template_is_rolled_out_within_its_bounds(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("serve", jobInstances=3, ipusPerJobInstance="8", workers={
        "template": pod_template(container(image="old")),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}})
    world.automatic()
    wait_instances(world, job, 3)
    fewest = Fewest(job)
    change_image(job, "new")
    until(lambda: fewest() is not None and of_image(job, "new") == 3 and of_image(job, "old") == 0,
          "all have the new template", tell=world.tell)
    wait_instances(world, job, 3)
    assert fewest.count >= 3
    until(lambda: len(vipu.partitions()) == 3, "the spare partition has gone", tell=world.tell)
    assert job.status["restartCount"] == 0

