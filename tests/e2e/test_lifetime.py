"""Jobs whose time is over, whose pods cannot start or are taken away: what is told, and that the IPUs are free."""

import json

import kube
from jobs import IMAGE, UNTIL_TOLD, Job, job, told_as_event

EXAMPLES = kube.ROOT / "deploy" / "examples"
NOWHERE = {"nodeSelector": {"example.org/no-such": "node"}}


def freed(stack, made):
    kube.wait_for("its IPUs are free", lambda: not any(f"-{made.name}-" in name for name in stack.partitions()))


# ---- the examples


def test_the_interactive_example_is_held_for_kubectl_exec(stack, namespace):
    namespace("apply", "-f", EXAMPLES / "interactive.yaml")
    made = Job(namespace, "session")
    made.wait_for_state("Running")
    within = namespace("exec", "session-worker-0", "--", "/opt/ipu-launcher/ipu-launch", "exec", "--", "bash", "-c",
                       "echo $IPUOF_VIPU_API_PARTITION_ID")
    assert within.strip() == f"p-session-{namespace.namespace}-0"
    namespace("patch", "ipujob", "session", "--type=merge", "-p", json.dumps({"spec": {"interactive": {"ttl": 1}}}))
    ended = made.wait_for_state("Completed")
    assert (ended["reason"], ended["lastMessage"]) == ("InteractiveTTLExpired", "All instances done")
    made.wait_log_kept()
    freed(stack, made)


def test_the_restart_example_resumes_where_it_stopped(namespace):
    namespace("apply", "-f", EXAMPLES / "restart.yaml")
    made = Job(namespace, "restart")
    ended = made.wait_for_state("Completed", "Failed")
    assert (ended["launcherStatus"], ended["restartCount"]) == ("Completed", 1), made.reported()
    assert [line for line in made.log().splitlines() if not line.startswith("ipu-launch: ")] == ["start 1", "done"]
    assert ended["failures"][0]["exitCode"] == 42


def test_the_suspended_example_starts_when_it_is_resumed(stack, namespace):
    namespace("apply", "-f", EXAMPLES / "suspended.yaml")
    made = Job(namespace, "later")
    made.wait_for_state("Suspended")
    assert made.pods() == [] and stack.partitions() == {}
    namespace("patch", "ipujob", "later", "--type=merge", "-p", '{"spec": {"suspend": false}}')
    made.wait_for_state("Completed")
    assert made.log().strip() == f"on p-later-{namespace.namespace}-0"


# ---- clocks


def test_a_job_is_stopped_at_its_deadline(stack, start):
    """Its program is asked to end, and its log stays, as far as it got."""
    made = start(job("endless", f"trap 'echo saved; exit 0' TERM; echo began; {UNTIL_TOLD}", activeDeadlineSeconds=3))
    failed = made.wait_for_state("Failed")
    assert failed["reason"] == "DeadlineExceeded"
    log = made.wait_log_kept().splitlines()
    assert log[0] == "began" and "saved" in log  # and what the shell says of its sleep, on the other stream
    assert "failures" not in made.status, "no pod failed by itself"
    freed(stack, made)


def test_the_clean_pod_policy_deletes_what_was_stopped(stack, start):
    made = start(job("swept", UNTIL_TOLD, activeDeadlineSeconds=3, cleanPodPolicy="All"))
    assert made.wait_for_state("Failed")["reason"] == "DeadlineExceeded"
    kube.wait_for("its pod has gone", lambda: not made.pods())
    freed(stack, made)


def test_a_removed_instance_leaves_its_log(stack, namespace, start):
    made = start(job("shrinks", UNTIL_TOLD, instances=2))
    kube.wait_for("both instances run, so that both have a log", lambda: made.status.get("currentReplicas") == 2)
    namespace("scale", "ipujob", "shrinks", "--replicas=1")
    log = made.wait_log_kept(1)
    kube.wait_for("its IPUs are free", lambda: len([one for one in stack.partitions() if "-shrinks-" in one]) == 1)
    assert log.startswith("partition p-shrinks-")
    made.let_end()
    made.wait_for_state("Completed")
    assert made.log(1) == log


def test_a_finished_job_is_deleted_at_once_if_it_says_so(stack, start):
    made = start(job("brief", "echo done", ttlSecondsAfterFinished=0))
    kube.wait_for(lambda: f"the job is gone; {made.reported()}", lambda: made.get() is None)
    freed(stack, made)


def test_pods_that_are_stuck_give_their_ipus_back(stack, start):
    unpulled = {"image": "no-such-image:1", "imagePullPolicy": "Never"}
    made = {"ImagePullFailed": start(job("unpulled", "echo never", startDeadlineSeconds=4, container=unpulled)),
            "Unschedulable": start(job("unplaced", "echo never", startDeadlineSeconds=4, pod=NOWHERE))}
    for reason, one in made.items():
        told_as_event(one, reason)
    for one in made.values():
        failed = one.wait_for_reason("StartDeadlineExceeded")
        assert failed["launcherStatus"] == "Failed"
        freed(stack, one)


# ---- pods that are taken away, and containers that are killed


def test_a_container_that_runs_out_of_memory_says_so(stack, start):
    made = start(job("greedy", 'a=$(head -c 200M /dev/zero | tr "\\0" x); echo ${#a}',
                     container={"resources": {"limits": {"memory": "48Mi"}}}))
    failed = made.wait_for_state("Failed")
    assert failed["reason"] == "OOMKilled", made.reported()
    failure = failed["failures"][0]
    assert failure["outOfMemory"] is True and failure["exitCode"] == 137 and failure["node"]
    freed(stack, made)


def test_a_child_that_runs_out_of_memory_says_so(stack, start):
    """The container's own program ends by itself, as one does whose helper has gone."""
    made = start(job("parent", "python3 -IS -c 'b\"x\" * (1 << 30)'; exit 3", container={"resources": {"limits": {"memory": "48Mi"}}}))
    failed = made.wait_for_state("Failed")
    assert failed["reason"] == "OOMKilled" and failed["failures"][0]["exitCode"] == 3, made.reported()
    assert "ipu-launch: this container ran out of memory: the kernel killed 1 process" in made.log()
    freed(stack, made)


def evict(namespace, pod):
    namespace("create", "--raw", f"/api/v1/namespaces/{namespace.namespace}/pods/{pod}/eviction", "-f", "-",
              stdin=json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}))


def test_evicted_pods_do_what_the_policy_says(stack, namespace, start):
    ends, moves = made = [start(job(name, UNTIL_TOLD, restartPolicy={"type": policy}))
                          for name, policy in (("ends", "Never"), ("moves", "OnFailure"))]
    for one in made:
        one.wait_for_state("Running")
    before = moves.pod()["metadata"]["uid"]
    for one in made:
        evict(namespace, f"{one.name}-worker-0")
    for one in made:
        told_as_event(one, "Evicted")
        failure = kube.wait_for(one.reported, lambda one=one: one.status.get("failures"))[0]
        assert failure["reason"] == "Evicted" and failure["node"]
    assert ends.wait_for_state("Failed")["reason"] == "Evicted"
    freed(stack, ends)
    kube.wait_for(moves.reported, lambda: (pod := moves.pod()) and pod["metadata"]["uid"] != before)
    assert moves.wait_for_state("Running")["restartCount"] == 1


def test_a_pod_is_preempted_by_one_of_higher_priority(stack, namespace, start):
    node = stack.kubectl.items("nodes")[0]["status"]["allocatable"]["cpu"]
    cores = float(node[:-1]) / 1000 if node.endswith("m") else float(node)
    most = {"requests": {"cpu": f"{int(cores * 600)}m"}}
    made = start(job("humble", UNTIL_TOLD, container={"resources": most}))
    made.wait_for_state("Running")
    stack.kubectl.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "e2e-urgent"},
                          "value": 1000})
    try:
        namespace.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent"}, "spec": {
            "priorityClassName": "e2e-urgent", "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": IMAGE, "command": ["sleep", "600"], "resources": most}]}})
        failed = made.wait_for_state("Failed")
        assert failed["reason"] == "Preempted", made.reported()
        freed(stack, made)
    finally:
        namespace("delete", "pod", "urgent", "--ignore-not-found", "--wait=false")
        stack.kubectl("delete", "priorityclass", "e2e-urgent")
