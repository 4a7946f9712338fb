"""The operator is killed right before or right after some of its writes, to the API server and to the V-IPU controller:
the same end is reached, with no partition twice, none without a record, and nothing left. The simulator goes through all
writes (`sim --every-write`); here a seed chooses a handful, on the real API server. CRASH_SEED=N repeats a choice."""

import json
import os
import random
import re
import threading
from dataclasses import dataclass

import pytest

from vipu_side import QUICK
from waiting import until

FOUR_PODS = QUICK + "clusters: [{id: cl1}, {id: cl2}, {id: cl3}, {id: cl4}]\n"
UP = ("finalizer-add", "record-create", "partition-create", "service-create", "pod-create-0", "pod-create-1",
      "record-patch", "status-Starting", "status-Completed", "record-delete")
AGAIN = ("partition-reset",)
# Not keys-delete: it goes out beside the record's own deletion, and does not come again when another crash has been faster.
LAUNCH = ("policy-create", "keys-create", "record-launch", "pod-create-launcher", "pod-patch")
# Not record-delete: when another crash has hidden the end of a pod, the record stays, as that of a spent id.
DOWN = ("status-Terminating", "pod-delete", "partition-remove", "finalizer-remove")
POINTS = {"u": UP, "d": DOWN, "a": AGAIN, "l": LAUNCH}  # kinds of jobs and what they go through
CRASHES = 6
CRASHES_S, END_S = 300, 240  # a request of unknown outcome is remembered for 34 s


@dataclass(frozen=True)
class Crash:
    point: str
    when: str  # "before" or "after"


def job_in(text):
    found = re.search(r"\b([uadl]\d\d)\b", text)
    return found and found[1]


def api_point(seen):
    """What a request to the API server does, and for which job; None if nothing that counts."""
    words = seen.path.strip("/").split("/")
    if not seen.is_write or seen.is_lease or "events" in words or "vipucontrollers" in words:
        return None
    body = json.loads(seen.body or b"{}")
    named = body.get("metadata", {}).get("name") or words[-1]
    if words[-1] == "status":
        return f"status-{body['status']['launcherStatus']}", job_in(words[-2])
    if "ipujobs" in words:
        adds = "graphcore.ai/ipu-partitions" in body["metadata"]["finalizers"]
        return "finalizer-add" if adds else "finalizer-remove", job_in(named)
    resource = words[words.index("namespaces") + 2]
    kind = {"configmaps": "record", "services": "service", "pods": "pod", "secrets": "keys",
            "networkpolicies": "policy", "endpointslices": "names"}[resource]
    verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}[seen.method]
    if (kind, verb) == ("pod", "create"):
        return f"pod-create-{named.rsplit('-', 1)[1]}", job_in(named)
    if (kind, verb) == ("record", "patch") and body["data"]["launched"] == "true":
        return "record-launch", job_in(named)
    return f"{kind}-{verb}", job_in(named)


def vipu_point(method, request):
    verb = {"CreatePartition": "create", "RemovePartition": "remove", "ResetPartition": "reset"}.get(method)
    return verb and (f"partition-{verb}", job_in(request.decode("latin-1")))


class Reaper:
    """Kills the operator when a job comes to the point that was chosen for it."""

    def __init__(self, world):
        self.world = world
        self.left = {}  # job -> Crash
        self.is_on = False
        self._lock = threading.Lock()

    def expect(self, crashes):
        self.left = dict(crashes)
        self.is_on = True

    def pass_by(self, point_and_job, when):
        """False when the operator died of it."""
        if not point_and_job:
            return True
        point, job = point_and_job
        with self._lock:
            if self.left.get(job) != Crash(point, when):
                return True
            del self.left[job]
            self.world.operator.kill()
            return False

    def starts(self, pod):
        """A job whose pods run already is not told to be starting, and its crash would never come."""
        crash = self.left.get(pod["metadata"]["labels"]["graphcore.ai/job-name"])
        return not crash or crash.point != "status-Starting"

    def exit_code(self, pod):
        """Jobs u complete at once, d run until they are deleted; a fail, one after the other, until their crash has
        come; of l the launchers complete."""
        name = pod["metadata"]["labels"]["graphcore.ai/job-name"]
        if name[0] == "l" and pod["metadata"]["labels"]["graphcore.ai/role"] == "worker":
            return None
        if name[0] == "d" or not self.is_on:
            return None
        first = min((job for job in self.left if job[0] == "a"), default=None)
        return 1 if name == first else None if name in self.left and name[0] == "a" else 0


class Watcher:
    """Looks at the invariants all the time."""

    def __init__(self, world, vipu):
        self.world, self.vipu = world, vipu
        self.broken = set()

    def look(self):
        before = set(self.vipu.partitions())
        records = self.world.records()
        after = set(self.vipu.partitions())
        for orphan in (before & after) - set(records):
            self.broken.add(f"{orphan} has no record")
        in_use = [data["jobUid"] for data in records.values() if data["releasing"] == "false"]
        for uid in {uid for uid in in_use if in_use.count(uid) > 1}:
            self.broken.add(f"job {uid} has two partitions in use")


class Story:
    """Jobs, each with a crash that waits for it, and the operator started anew after each."""

    def __init__(self, world):
        self.world = world
        self.vipu = world.make_vipu(FOUR_PODS)
        self.reaper = Reaper(world)
        self.watcher = Watcher(world, self.vipu)
        self.jobs = {}
        self._start()

    def _start(self):
        reaper, world = self.reaper, self.world
        api, front = world.make_api_proxy(), world.make_vipu_proxy(self.vipu)
        api.before = lambda seen: reaper.pass_by(api_point(seen), "before")
        api.after = lambda seen: reaper.pass_by(api_point(seen), "after")
        front.before = lambda method, request: reaper.pass_by(vipu_point(method, request), "before")
        front.after = lambda method, request: reaper.pass_by(vipu_point(method, request), "after")
        world.automatic(reaper.exit_code, reaper.starts)
        world.start_operator(front.address, "--hold-seconds", "2", proxy=api)

    def apply(self, names, **more):
        for name in names:
            self.jobs[name] = self.world.job(name, workersPerJobInstance=2, **more)

    def step(self):
        if not self.world.operator.is_alive():
            assert self.world.operator.process.returncode == -9, self.world.tell()
            self.world.forget_lease()
            self.world.operator.start()
        self.watcher.look()
        return not self.reaper.left

    def is_over(self, name):
        job = self.jobs[name]
        return job.get() is None if name[0] == "d" else job.is_in("Completed")

    def is_at_rest(self):
        self.step()
        return not self.world.records() and all(map(self.is_over, self.jobs))

    def tell(self):
        output = [f"{name}: {job.status.get('lastMessage')}" for name, job in self.jobs.items()]
        return "\n".join([f"left: {self.reaper.left}", *output, str(self.world.records()), self.world.tell()])

    def check_end(self):
        until(self.step, "every crash has come", CRASHES_S, self.tell)
        until(self.is_at_rest, "all jobs are over and nothing is held", END_S, self.tell)
        assert self.vipu.partitions() == {} and self.watcher.broken == set()
        for name, job in self.jobs.items():
            kept = {"d": [], "l": ["launcher", "worker-0", "worker-1"]}.get(name[0], ["worker-0", "worker-1"])
            until(lambda job=job, kept=kept: sorted(job.pods()) == [f"{job.name}-{pod}" for pod in kept],
                  f"of {name} there is {kept}", tell=self.tell)
            if name[0] != "d":
                until(lambda job=job: "finalizers" not in job.get()["metadata"], f"{name} has no finalizer")


@pytest.fixture
def story(world):
    return Story(world)


def choose(seed):
    """The names of the jobs and their crashes."""
    every = [(kind, Crash(point, when)) for kind, points in POINTS.items() for point in points
             for when in ("before", "after")]
    chosen = random.Random(seed).sample(every, CRASHES)
    return {f"{kind}{n:02}": crash for n, (kind, crash) in enumerate(chosen)}


def of(kind, crashes):
    return [name for name in crashes if name[0] == kind]


def test_a_crash_at_some_writes(story):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(10**6))
    crashes = choose(seed)
    print(f"CRASH_SEED={seed}: {crashes}")
    story.apply(of("d", crashes))
    story.apply(of("a", crashes), restartPolicy={"type": "OnFailure", "backOffLimit": 9})
    for job in story.jobs.values():
        job.wait("Running")
    story.reaper.expect(crashes)
    for name in of("d", crashes):
        story.jobs[name].delete()
    story.apply(of("u", crashes))
    story.apply(of("l", crashes), launcher={"command": ["mpirun", "train"]})
    story.check_end()
    # Keys that a crash leaves behind are of a start that is over, and go with their job.
    jobs = {story.jobs[name].uid for name in of("l", crashes)}
    for secret in story.world.api.list("secrets", story.world.ns):
        assert secret["metadata"]["ownerReferences"][0]["uid"] in jobs
