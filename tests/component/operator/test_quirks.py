"""What the public record of V-IPU leaves open, turned every way it can be: whatever a controller does, a job gets one
partition, runs, and leaves nothing behind."""

import threading
from dataclasses import replace

import pytest

from quirky_vipu import Code, QuirkyVipu, Traits, pb
from world import pod_template

LABEL = "vipu-ctrl"
LONG_S = 180  # a request of unknown outcome is remembered for 34 s


def readable(job, ns="{ns}"):
    return f"p-{job}-{ns}-0"


def in_namespace(traits, ns):
    """The traits with the readable ids of jobs in that namespace."""
    return replace(traits, foreign=tuple(name.format(ns=ns) for name in traits.foreign),
                   first_create_meets=traits.first_create_meets.format(ns=ns))


CASES = {
    "ordinary": Traits(),
    "missing-is-unknown": Traits(missing=Code.UNKNOWN, remove_of_missing=Code.UNKNOWN, exists=Code.UNKNOWN),
    "remove-of-missing-succeeds": Traits(remove_of_missing=None, remove_answers=[Code.UNAVAILABLE]),
    "create-blocks": Traits(create_blocks_s=6, takes_effect_late=True),
    "create-answers-late": Traits(create_blocks_s=6),
    "create-answer-lost": Traits(create_answers=[Code.UNAVAILABLE]),
    "create-fails-but-did": Traits(create_answers=[Code.UNKNOWN]),
    "remove-answer-lost": Traits(remove_answers=[Code.UNAVAILABLE]),
    "removed-lingers": Traits(linger_s=3),
    "removed-lingers-active": Traits(linger_s=3, lingers_as=pb.PS_ACTIVE),
    "rejected-for-room": Traits(rejections=[Code.RESOURCE_EXHAUSTED] * 2),
    "size-unknown": Traits(has_attributes=False),
    "reset-shows-pending": Traits(),
    "reset-shows-active": Traits(reset_shows=pb.PS_ACTIVE),
    "first-create-in-error": Traits(first_create_fails=True),
    "readable-id-is-foreign": Traits(foreign=(readable("readable-id-is-foreign"), "somebody-elses")),
    "somebody-is-faster": Traits(first_create_meets=readable("somebody-is-faster")),
}
RESTARTS = {"reset-shows-pending", "reset-shows-active"}
OTHER_ID = {"readable-id-is-foreign", "somebody-is-faster"}


class Matrix:
    """One operator, one controller for each case, and all the jobs at once."""

    def __init__(self, world):
        self.world = world
        self.started_on = {}  # job -> uid of a pod -> id of the partition that it was started on, in order
        self._lock = threading.Lock()
        self.controllers = {name: QuirkyVipu(in_namespace(traits, world.ns)) for name, traits in CASES.items()}
        for name, controller in self.controllers.items():
            world.keep(controller, controller.close)
            world.make_node(f"node-{name}", labels={LABEL: name})
        world.automatic(self.exit_code)
        world.start_operator(",".join(f"{controller.address}:{LABEL}={name}"
                                      for name, controller in self.controllers.items()))
        self.jobs = {name: self._apply(name) for name in CASES}

    def _apply(self, name):
        more = {"restartPolicy": {"type": "OnFailure"}} if name in RESTARTS else {}
        return self.world.job(name, workers={"template": pod_template(nodeSelector={LABEL: name})}, **more)

    def exit_code(self, pod):
        job = pod["metadata"]["labels"]["graphcore.ai/job-name"]
        annotations = pod["metadata"]["annotations"]
        partition, controller = annotations["graphcore.ai/partition"], self.controllers[job]
        with self._lock:
            self.started_on.setdefault(job, {})[pod["metadata"]["uid"]] = partition
        if not controller.is_usable(partition):
            controller.failures.append(f"a pod runs on {partition}, which is not ready for it")
        return 1 if job in RESTARTS and annotations["graphcore.ai/run"] == "0" else 0


@pytest.fixture(scope="module")
def matrix(shared_world):
    return Matrix(shared_world)


@pytest.mark.parametrize("case", CASES)
def test_one_partition_and_nothing_left(matrix, case):
    job, controller = matrix.jobs[case], matrix.controllers[case]
    job.wait("Completed", seconds=LONG_S)
    used = list(matrix.started_on[case].values())
    assert len(set(used)) == 1, "one partition for the whole life"
    assert (used[0] == readable(case, matrix.world.ns)) == (case not in OTHER_ID)
    assert used[0].startswith(f"p-{case[:20]}")
    job.wait_released(LONG_S)
    foreign = set(controller.traits.foreign) | ({controller.traits.first_create_meets} - {""})
    assert controller.ids() == sorted(foreign)
    assert set(controller.made) == {used[0]}
    if not CASES[case].takes_effect_late:  # a repetition under way may take effect even after the removal
        assert len(controller.made) == 1
    assert controller.failures == []
    if case in RESTARTS:
        assert job.status["restartCount"] == 1 and len(used) == 2
        assert ("reset", used[0]) in controller.calls
