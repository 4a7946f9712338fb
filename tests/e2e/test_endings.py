"""Jobs that are deleted, pods that are taken away, programs that fail: what happens to the IPUs."""

import time
from datetime import datetime

import kube
from jobs import IMAGE, UNTIL_TOLD, Job, job


def test_deleting_a_running_job_frees_its_partition_first(stack, namespace, start):
    # It takes a moment to end when it is asked to.
    made = start(job("deleted", f"trap 'sleep 1; exit 0' TERM; {UNTIL_TOLD}", ipus=64))
    made.wait_for_state("Running")
    partition = f"p-deleted-{namespace.namespace}-0"
    assert partition in stack.partitions()
    namespace("delete", "ipujob", "deleted", "--wait=false")
    kube.wait_for("the job is gone", lambda: made.get() is None)
    assert partition not in stack.partitions()
    assert partition not in stack.records()


def test_a_job_can_be_deleted_while_it_waits(stack, namespace, start):
    holder = start(job("holder", UNTIL_TOLD, ipus=64))
    holder.wait_for_state("Running")
    waiter = start(job("waiter", UNTIL_TOLD, ipus=64))
    waiter.wait_for_reason("InsufficientIPUs")
    namespace("delete", "ipujob", "waiter", "--timeout=60s")
    assert list(stack.partitions()) == [f"p-holder-{namespace.namespace}-0"]


def test_the_same_name_can_be_used_again(namespace, start):
    start(job("again", UNTIL_TOLD, ipus=64)).wait_for_state("Running")
    earlier = Job(namespace, "again").pod()["metadata"]["uid"]
    namespace("delete", "ipujob", "again", "--timeout=120s")
    made = start(job("again", UNTIL_TOLD, ipus=64))
    in_the_way_s = created(made.get())

    def later():
        nonlocal in_the_way_s
        looked_s, pod = time.time(), made.pod()
        if pod and pod["metadata"]["uid"] == earlier:
            in_the_way_s = looked_s
            return None
        return pod

    # However long the node takes over the earlier job's pod: that it has gone is noticed, not found by trying.
    assert created(kube.wait_for(made.reported, later)) - in_the_way_s < 8
    made.wait_for_state("Running")


def created(item):
    return datetime.fromisoformat(item["metadata"]["creationTimestamp"]).timestamp()


def test_a_pod_deleted_by_hand_comes_back(stack, namespace, start):
    made = start(job("back", UNTIL_TOLD, ipus=8))
    made.wait_for_state("Running")
    before = made.pod()["metadata"]["uid"]
    namespace("delete", "pod", "back-worker-0")

    def is_back():
        pod = made.pod()
        return pod and pod["metadata"]["uid"] != before and pod["status"]["phase"] == "Running"

    kube.wait_for(made.reported, is_back)
    made.wait_for_state("Running")
    assert stack.partitions().keys() == {f"p-back-{namespace.namespace}-0"}
    made.let_end()
    made.wait_for_state("Completed")


def test_a_force_deleted_pod_is_held_and_comes_back_elsewhere(stack, namespace, start):
    """Its processes may still run: its IPUs are not released until the partition is removed."""
    made = start(job("forced", UNTIL_TOLD, ipus=32))
    made.wait_for_state("Running")
    first = f"p-forced-{namespace.namespace}-0"
    namespace("delete", "pod", "forced-worker-0", "--force", "--grace-period=0")
    held = made.wait_for_reason("TerminationUnconfirmed")
    assert "forced-worker-0" in held["lastMessage"] and "node1" in held["lastMessage"] and first in held["lastMessage"]
    assert first in stack.partitions()

    made.wait_for_state("Running")
    second = made.pod()["metadata"]["annotations"]["graphcore.ai/partition"]
    assert second != first
    assert stack.partitions().keys() == {second}
    made.let_end()
    made.wait_for_state("Completed")
    assert made.log().splitlines()[0] == f"partition {second}"


def test_a_failure_is_named_and_the_ipus_go_back(stack, start):
    made = start(job("failing", "echo something broke >&2; exit 3"))
    ended = made.wait_for_state("Failed")
    assert ended["reason"] == "ContainerFailed"
    assert "main" in ended["lastMessage"] and "failing-worker-0" in ended["lastMessage"] and "exited with code 3" in ended["lastMessage"]
    failure = ended["failures"][0]
    assert (failure["pod"], failure["container"], failure["exitCode"]) == ("failing-worker-0", "main", 3)
    assert "something broke" in failure["message"]
    kube.wait_for("the partition is given back", lambda: not stack.partitions())
    assert "something broke" in made.log()


def own_lines(log):
    return [line for line in log.splitlines() if not line.startswith("ipu-launch: ")]


FAILS_WHEN_TOLD = f"echo \"rank $RANK begins\"; {UNTIL_TOLD}; echo this went wrong >&2; exit 3"


def test_a_failed_worker_leaves_the_logs_of_its_peers(stack, start):
    made = start(job("pair", FAILS_WHEN_TOLD, workersPerJobInstance="2"))
    made.wait_for_state("Running")
    made.let_end(1)
    ended = made.wait_for_state("Failed")
    assert [failure["pod"] for failure in ended["failures"]] == ["pair-worker-1"]
    assert made.wait_log_kept(0).startswith("rank 0 begins")
    assert "this went wrong" in made.log(1)
    assert made.status["workersStatus"]["failed"] == 1, "its peer was stopped, and has not failed"
    kube.wait_for("the partition is given back", lambda: not stack.partitions())


def test_an_images_own_entry_point_leaves_the_report_to_the_init_container(namespace, start):
    """And the exception is quoted, whatever the program prints below it."""
    fails = job("entry", "", restartPolicy={"type": "OnFailure", "backOffLimit": 1})
    container = fails["spec"]["workers"]["template"]["spec"]["containers"][0]
    del container["command"]
    container["args"] = ["python3", "-c", "import atexit; atexit.register(print, 'cleaning up'); raise KeyError('lr')"]
    made = start(fails)
    ended = made.wait_for_reason("BackoffLimitExceeded")
    assert ended["lastMessage"].endswith("backOffLimit of 1 restart reached: KeyError: 'lr'"), ended
    report = namespace("logs", "entry-worker-0", "-c", "ipu-launcher")
    assert report.startswith("ipu-launch: This is restart 1 of instance 0.\nipu-launch: The attempt before it failed at ")
    assert "Container main of pod entry-worker-0 exited with code 1: KeyError: 'lr'" in report
    assert own_lines(made.log()) == made.log().splitlines()


def test_a_deleted_job_names_the_finalizers_that_keep_it(stack, namespace, start):
    kept = job("kept", UNTIL_TOLD)
    kept["metadata"]["finalizers"] = ["example.com/backup"]
    made = start(kept)
    made.wait_for_state("Running")
    namespace("delete", "ipujob", "kept", "--wait=false")
    kube.wait_for(made.reported, lambda: "until its other finalizers are removed: example.com/backup" in made.status["lastMessage"])
    kube.wait_for(made.reported, lambda: made.get()["metadata"]["finalizers"] == ["example.com/backup"])
    assert not stack.partitions() and not stack.records()
    namespace("patch", "ipujob", "kept", "--type=merge", "-p", '{"metadata": {"finalizers": []}}')
    kube.wait_for("the job is gone", lambda: made.get() is None)


def test_the_log_of_a_failed_attempt_is_readable_until_the_next_begins(start):
    """And its last lines are in the status afterwards, those of its peer too, and in the log of the next."""
    made = start(job("again", FAILS_WHEN_TOLD, workersPerJobInstance="2",
                     restartPolicy={"type": "OnFailure", "backOffLimit": 1}))
    for attempt in range(2):
        kube.wait_for(made.reported, lambda attempt=attempt: made.status.get("restartCount") == attempt)
        made.wait_for_state("Running")
        if attempt == 1:
            (failure,) = made.status["failures"]
            (peer,) = failure["otherPods"]
            assert (peer["pod"], peer["container"], peer["exitCode"]) == ("again-worker-1", "main", 143)
            assert peer["message"].startswith("rank 1 begins\n")
            for worker, last in (0, "this went wrong"), (1, "rank 1 begins"):
                report, own = made.log(worker).split("ipu-launch: The output of this attempt follows.\n")
                assert report.startswith("ipu-launch: This is restart 1 of instance 0.\nipu-launch: The attempt before it failed at ")
                assert "Container main of pod again-worker-0 exited with code 3: " in report
                assert f"\nipu-launch: {last}\n" in report and own.startswith(f"rank {worker} begins\n")
        made.let_end(0)
        made.wait_for_state("Restarting", "Failed")
        assert "this went wrong" in own_lines(made.log(0))
        assert own_lines(made.wait_log_kept(1))[0] == "rank 1 begins"
    ended = made.wait_for_reason("BackoffLimitExceeded")
    assert [(failure["pod"], failure["attempt"]) for failure in ended["failures"]] == [("again-worker-0", 1), ("again-worker-0", 0)]
    assert all(failure["message"].startswith("rank 0 begins\n") and "this went wrong\n" in failure["message"]
               for failure in ended["failures"]), "their own lines"


def test_a_sidecar_does_not_keep_a_job_from_ending(start):
    beside = {"name": "beside", "restartPolicy": "Always", "image": IMAGE,
              "command": ["/bin/bash", "-c", "trap exit TERM; sleep 3600 & wait"]}
    for made in [start(job("sidecar", "echo done", pod={"initContainers": [beside]})), start(job("plain", "echo done"))]:
        made.wait_for_state("Completed")
        assert made.log().strip() == "done"
