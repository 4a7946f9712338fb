"""The operator is killed again and again while twenty jobs run."""

import random

import kube
import pytest
from jobs import Job, job, mpi, untagged

KILLS = 3
MOST_CHANGES = 40


def twenty_jobs():
    """Of six kinds, the last with a launcher."""
    shapes = [{"ipus": 4}, {"ipus": 8}, {"ipus": 16, "instances": 2}, {"ipus": 32},
              {"ipus": 8, "workersPerJobInstance": "2", "modelReplicasPerWorker": "2"}]
    scripts = [f"sleep {1 + n % 3}; echo over" for n in range(20)]
    return [mpi(f"crash-{n}", script) if n % 6 == 5 else job(f"crash-{n}", script, **shapes[n % 6])
            for n, script in enumerate(scripts)]


@pytest.mark.timeout(1800)
def test_kill_9_leaves_nothing_behind(stack, namespace, request):
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    print(f"seed {seed}")  # shown with a failure
    changes = kube.Changes(stack.kubectl, "ipujobs", "pods", "configmaps")
    request.addfinalizer(changes.stop)
    jobs = twenty_jobs()
    namespace.create(*jobs)
    made = [Job(namespace, item["metadata"]["name"]) for item in jobs]
    finished = lambda: namespace("get", "ipujobs", "-o", "jsonpath={.items[*].status.launcherStatus}").split()  # noqa: E731

    for kill in range(KILLS):
        # A moment is so many changes after the last: in the midst of whatever is done then.
        moment = changes.count + dice.randrange(1, MOST_CHANGES)
        kube.wait_for("the moment has come", lambda: changes.count >= moment or finished().count("Completed") == 20, 120,
                      interval_s=0.005)
        leader = stack.leader()
        stack.kill_operator()
        if kill != KILLS - 1:  # once the lease has to run out; tests/component has how long that may take
            stack.forget_lease()
        stack.wait_until_leading(other_than=leader)

    kube.wait_for(lambda: f"all completed: {finished()}", lambda: finished() == ["Completed"] * 20, 180)
    for one in made:
        assert one.status["lastMessage"] == "All instances done"
        if "launcher" in one.get()["spec"]:
            assert untagged(namespace("logs", f"{one.name}-launcher")) == ["over"] * 2
        else:
            assert one.log().strip() == "over"
    kube.wait_for(lambda: f"no partition: {stack.partitions()}", lambda: not stack.partitions())
    kube.wait_for(lambda: f"no record: {stack.records()}", lambda: not stack.records())

    namespace("delete", "ipujobs", "--all", "--timeout=60s")
    kube.wait_for("no pod is left", lambda: not namespace.items("pods"))
