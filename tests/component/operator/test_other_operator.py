"""Two operators that watch one namespace, as Helm cannot always see beforehand."""

import subprocess

import operator_program
import pytest
from operator_program import Operator
from waiting import until
from world import FINALIZER, OPERATOR_NS, RECORD

OPERATOR = "graphcore.ai/operator"


class Other(Operator):
    """An operator in a namespace of its own, with all rights."""

    def __init__(self, world):
        self.ns = world.make_namespace(f"{world.ns}-other")
        self._world = world
        folder = world.folder / "other"
        folder.mkdir()
        super().__init__(folder, "--config", world.folder / "controllers.yaml", "--namespace", self.ns, "--watch-namespace",
                         world.ns, "--kubeconfig", world.cluster.kubeconfig)
        world.keep(self, self.check_sanitizers)
        world.keep(self, self.kill)

    def records(self):
        return {record["metadata"]["name"] for record in self._world.api.list("configmaps", self.ns, RECORD)}

    def before_uninstall(self):
        return subprocess.run(
            [operator_program.program(), "before-uninstall", "--kubeconfig", self._world.cluster.kubeconfig, "--namespace", self.ns,
             "--watch-namespace", self._world.ns],
            capture_output=True, text=True, timeout=150, env=operator_program.environment())

    def counted(self):
        """How many jobs it leaves to others, as its metrics have it."""
        lines = self.ask("/metrics")[1].splitlines()
        return next((line.split()[1] for line in lines if line.startswith("ipu_operator_other_operator_jobs ")), None)


@pytest.fixture
def other(world, vipu):
    world.make_operator(vipu.address)
    return Other(world)


def operator_of(job):
    return job.get()["metadata"].get("annotations", {}).get(OPERATOR)


def test_a_second_operator_leaves_the_jobs_of_the_first_alone(world, vipu, other):
    world.operator.start().until_working()
    first = world.job("first")
    first.run_pods(1)
    first.wait("Running")
    before, pods = first.get(), first.pods()
    assert operator_of(first) == OPERATOR_NS

    other.start().until_working()
    until(lambda: "OtherOperator" in first.reasons_reported(), "the second one says so", tell=other.tail)
    note = next(event["note"] for event in first.events() if event["reason"] == "OtherOperator")
    assert f"operator of namespace {OPERATOR_NS} runs this job" in note and f"That of namespace {other.ns} watches it" in note
    until(lambda: other.counted() == "1", "it counts the job", tell=other.tail)
    assert first.get() == before and first.pods() == pods and not other.records()

    # A new job has one of the two.
    world.automatic(exits=lambda pod: 0 if pod["metadata"]["name"].startswith("second-") else None)
    world.job("second").wait("Completed")
    assert len(vipu.partitions()) <= 2

    # What the other one does is no reason to keep this one, and the first is kept by its own job.
    done = other.before_uninstall()
    assert (done.returncode, done.stderr) == (0, "")
    assert first.get() == before


def test_a_job_goes_to_the_operator_that_its_annotation_names(world, vipu, other):
    world.operator.start().until_working()
    job = world.job("moves")
    world.automatic()
    job.wait("Running")
    assert set(job.records()) == {f"p-moves-{world.ns}-0"}
    other.start().until_working()
    job.annotate(**{OPERATOR: other.ns})
    until(lambda: not world.records() and other.records(), "the other one has it", tell=lambda: world.tell() + other.tail())
    until(lambda: job.is_in("Running") and len(vipu.partitions()) == 1, "it runs again, once", tell=other.tail)
    assert job.get()["metadata"]["finalizers"] == [FINALIZER]
    assert f"p-moves-{world.ns}-0" not in other.records(), "the first one may still remove that"
    # Uninstalling that one is refused as for the first.
    rejected = other.before_uninstall()
    assert rejected.returncode == 1 and f"1 IPUJob using or waiting for IPUs: {world.ns}/moves (Running)" in rejected.stderr
    job.delete()
    job.wait_gone()
    assert not other.records() and not vipu.partitions()


def test_an_operator_that_returns_does_not_touch_what_the_next_one_has(world, vipu, other):
    """Its record names a partition and pods of the job; those of the next operator must be others."""
    world.operator.start().until_working()
    job = world.job("moves")
    world.automatic()
    job.wait("Running")
    [left] = world.records()
    world.operator.kill()
    vipu.client.remove(left)  # so that its id is free on the V-IPU controller

    other.start().until_working()
    job.annotate(**{OPERATOR: other.ns})
    def partitions_of_pods():
        return {pod["metadata"]["annotations"]["graphcore.ai/partition"] for pod in job.pods().values()}
    until(lambda: other.records() and partitions_of_pods() == other.records() and job.is_in("Running"), "the other one runs it",
          tell=other.tail)
    pods = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}

    world.operator.start().until_working()
    until(lambda: not world.records(), "it releases what it had", tell=world.tell)
    assert job.is_in("Running") and {name: pod["metadata"]["uid"] for name, pod in job.pods().items()} == pods
    assert set(vipu.partitions()) == other.records() and left not in other.records()
