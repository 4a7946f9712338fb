"""The life of a job on a real API server: what is made, under which names, what is told, and what is left."""

import re

import pytest
from kubelet import is_stopped
from waiting import until
from world import FINALIZER, OPERATOR_NS, container, pod_template

ENV = {"name": "EPOCHS", "value": "3"}
REPORT = "graphcore.ai/previous-attempt"


def env_of(pod, name):
    found = {item["name"]: item.get("value") for item in pod["spec"]["containers"][0]["env"]}
    return found.get(name)


def test_one_instance_of_one_worker(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("digits", workers={"template": {
        "metadata": {"labels": {"team": "vision"}},
        **pod_template(container(env=[ENV], aFieldOfTomorrow={"kept": True}), container("side", command=["watch"]))}})
    pod = job.wait_pods(1)["digits-worker-0"]
    partition = f"p-digits-{world.ns}-0"

    owner = pod["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("IPUJob", "digits", job.uid)
    assert owner["controller"] and owner["blockOwnerDeletion"]
    assert pod["metadata"]["labels"] == {
        "team": "vision", "graphcore.ai/job-name": "digits", "graphcore.ai/role": "worker",
        "graphcore.ai/instance": "0", "graphcore.ai/worker": "0"}
    assert pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] == "train"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["containers"][0]["command"] == ["/opt/ipu-launcher/ipu-launch", "run", "--", "train"]
    assert pod["spec"]["containers"][1]["command"] == ["watch"]
    assert env_of(pod, "EPOCHS") == "3" and env_of(pod, "IPUOF_VIPU_API_PARTITION_ID") == partition
    assert env_of(pod, "IPUOF_VIPU_API_HOST") == "127.0.0.1" and env_of(pod, "IPUOF_VIPU_API_PORT") == str(vipu.port)

    made = vipu.partitions()
    assert list(made) == [partition]
    assert len(made[partition].spec.ipus) == 4 and made[partition].spec.reconfigurable
    record = job.records()[partition]
    assert (record["jobUid"], record["controller"], record["size"]) == (job.uid, vipu.address, "4")
    assert job.get()["metadata"]["finalizers"] == [FINALIZER]

    starting = job.wait("Starting")
    assert (starting["currentReplicas"], starting["desiredReplicas"]) == (0, 1)
    world.kubelet.run(pod)
    running = job.wait("Running")
    assert (running["currentReplicas"], running["workersStatus"]["active"]) == (1, 1)
    assert running["iPUPartitionCreated"] is True
    assert running["partitions"] == [{"id": partition, "controller": vipu.address, "instance": 0, "attempt": 0,
                                      "ipus": 4, "gcds": 1, "state": "Active"}]
    assert running["selector"] == "graphcore.ai/job-name=digits,graphcore.ai/worker=0"

    world.kubelet.succeed(pod)
    done = job.wait("Completed")
    assert (done["lastMessage"], done["currentReplicas"], done["desiredReplicas"]) == ("All instances done", 0, 1)
    assert done["iPUPartitionCreated"] is True and done["workersStatus"]["succeeded"] == 1
    assert done["observedGeneration"] == 1 and done["completionTime"] >= done["startTime"]
    job.wait_released()
    assert vipu.partitions() == {}
    until(lambda: "finalizers" not in job.get()["metadata"], "the finalizer has gone", tell=world.tell)
    assert list(job.pods()) == ["digits-worker-0"], "the log of a finished pod stays readable"


def test_conditions_are_those_of_kubernetes(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("told")
    job.run_pods(1)
    job.wait("Running")
    conditions = {c["type"]: c for c in job.status["conditions"]}
    assert {kind for kind, c in conditions.items() if c["status"] == "True"} == {
        "PartitionsReady", "PodsReady", "Ready", "Running"}
    assert {kind for kind, c in conditions.items() if c["status"] == "False"} == {"Completed", "Failed", "Finished", "Suspended"}
    for condition in conditions.values():
        assert re.fullmatch(r"[A-Z][A-Za-z]+", condition["reason"])
        assert condition["observedGeneration"] == 1 and condition["lastTransitionTime"].endswith("Z")
    world.kubelet.succeed(job.pods()["told-worker-0"])
    job.wait("Completed")
    assert job.condition("Completed")["status"] == "True" and job.condition("Running")["status"] == "False"
    assert (job.condition("Finished")["status"], job.condition("Finished")["reason"]) == ("True", "Completed")
    until(lambda: {"Running", "Completed"} <= job.reasons_reported(), "both are told as events", tell=world.tell)
    for event in job.events():
        assert event["metadata"]["namespace"] == world.ns and event["regarding"]["kind"] == "IPUJob"
        assert event["reportingController"] == "graphcore.ai/ipu-operator"


def test_an_event_is_sent_once_however_often_its_status_is_written(world, vipu):
    """As when somebody else changes the job again and again: the write is rejected, and repeated."""
    api = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=api)

    def says_running(seen):
        return seen.method == "PATCH" and seen.path.endswith("/ipujobs/told/status") and b'"launcherStatus":"Running"' in seen.body

    def events():
        return [seen for seen in api.since(0) if "/events" in seen.path and b'"reason":"Running"' in seen.body]

    api.rejects = says_running
    job = world.job("told")
    job.run_pods(1)
    until(lambda: sum(map(says_running, api.since(0))) >= 3, "the status is written again and again", tell=world.tell)
    assert events() == []
    api.rejects = lambda seen: False
    job.wait("Running")
    world.kubelet.succeed(job.pods()["told-worker-0"])
    job.wait("Completed")
    until(lambda: "Completed" in job.reasons_reported(), "its end is told as an event", tell=world.tell)
    assert len(events()) == 1


def test_two_instances_of_two_workers(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("pair", jobInstances=2, workersPerJobInstance="2", modelReplicasPerWorker="2")
    pods = job.wait_pods(4)
    assert sorted(pods) == [f"pair-worker-{n}" for n in range(4)]
    for n in range(4):
        pod = pods[f"pair-worker-{n}"]
        labels = pod["metadata"]["labels"]
        assert (labels["graphcore.ai/instance"], labels["graphcore.ai/worker"]) == (str(n // 2), str(n % 2))
        assert env_of(pod, "IPUOF_VIPU_API_PARTITION_ID") == f"p-pair-{world.ns}-{n // 2}"
        assert env_of(pod, "IPUOF_VIPU_API_GCD_ID") == str(n % 2)
        assert pod["spec"]["hostname"] == f"pair-worker-{n}" and pod["spec"]["subdomain"] == "pair-workers"
    for partition in vipu.partitions().values():
        assert (len(partition.spec.ipus), partition.spec.num_gcds, partition.spec.num_replicas) == (4, 2, 4)
        assert not partition.spec.reconfigurable
    service = world.api.get("services", world.ns, "pair-workers")
    assert service["spec"]["clusterIP"] == "None" and "selector" not in service["spec"]
    assert service["metadata"]["ownerReferences"][0]["uid"] == job.uid

    for pod in pods.values():
        world.kubelet.run(pod)
    assert job.wait("Running", "Running")["currentReplicas"] == 2
    for n in (0, 1):
        world.kubelet.succeed(pods[f"pair-worker-{n}"])
    until(lambda: list(vipu.partitions()) == [f"p-pair-{world.ns}-1"], "the first instance has given back its IPUs",
          tell=world.tell)
    half = until(lambda: job.status.get("completedIndexes") == "0" and job.status, "one instance is done")
    assert (half["launcherStatus"], half["currentReplicas"], half["workersStatus"]["succeeded"]) == ("Running", 1, 2)
    for n in (2, 3):
        world.kubelet.succeed(pods[f"pair-worker-{n}"])
    done = job.wait("Completed")
    assert done["completedIndexes"] == "0-1" and done["workersStatus"]["succeeded"] == 4
    job.wait_released()
    assert vipu.partitions() == {}


def test_deletion_releases_ipus_before_the_job_is_gone(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("short")
    pod = job.run_pods(1)["short-worker-0"]
    job.wait("Running")
    job.delete()
    until(lambda: job.pods()["short-worker-0"]["metadata"].get("deletionTimestamp"), "its pod is asked to go",
          tell=world.tell)
    job.wait("Terminating")
    assert list(vipu.partitions()) == [f"p-short-{world.ns}-0"], "IPUs go back only when the process has ended"
    world.kubelet.end_deleted(pod)
    until(lambda: not vipu.partitions(), "the partition has gone", tell=world.tell)
    job.wait_gone()
    assert world.records() == {}


def test_foreground_deletion_removes_the_pods_first(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("front")
    pod = job.run_pods(1)["front-worker-0"]
    job.wait("Running")
    world.api.delete("ipujobs", world.ns, "front", propagationPolicy="Foreground")
    until(lambda: job.pods()["front-worker-0"]["metadata"].get("deletionTimestamp"), "its pod is asked to go",
          tell=world.tell)
    assert "foregroundDeletion" in job.get()["metadata"]["finalizers"]
    world.kubelet.end_deleted(pod)
    job.wait_gone()
    assert job.pods() == {} and vipu.partitions() == {} and world.records() == {}


def test_deletion_before_anything_was_made(world, vipu):
    world.start_operator(vipu.address)
    filler = world.job("filler", ipusPerJobInstance="64")
    filler.wait_pods(1)
    job = world.job("waits")
    job.wait("Pending", "InsufficientIPUs")
    job.delete()
    job.wait_gone()
    assert list(vipu.partitions()) == [f"p-filler-{world.ns}-0"]


def test_failure_names_container_code_and_last_lines(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("broken", workersPerJobInstance=2)
    pods = job.run_pods(2)
    job.wait("Running")
    world.kubelet.fail(pods["broken-worker-1"], 3, "\0 \x1b[2Jloss\x9b is not a number")
    until(lambda: is_stopped(job.pods()["broken-worker-0"]), "its peer is stopped", tell=world.tell)
    assert job.is_in("Running") and vipu.partitions(), "IPUs go back only when its process has ended"
    world.kubelet.end_stopped(pods["broken-worker-0"])
    failed = job.wait("Failed", "ContainerFailed")
    assert failed["lastMessage"] == "Container train of pod broken-worker-1 exited with code 3: \ufffd \\x1b[2Jloss\\u009b is not a number"
    failure = failed["failures"][0]
    assert (failure["pod"], failure["container"], failure["exitCode"]) == ("broken-worker-1", "train", 3)
    assert failure["message"] == "\ufffd \\x1b[2Jloss\\u009b is not a number" and failure["instance"] == 0
    assert job.condition("Failed")["status"] == "True" and job.condition("Completed")["status"] == "False"
    job.wait_released()
    assert vipu.partitions() == {}
    assert "broken-worker-1" in job.pods(), "the failed pod stays, with its log"


def test_exit_code_policy_restarts_on_the_same_partition(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("retry", restartPolicy={"type": "ExitCode", "exitCodes": "1-5,137", "backOffLimit": 1})
    first = job.run_pods(1)["retry-worker-0"]
    job.wait("Running")
    world.kubelet.fail(first, 4, "try again")
    job.wait("Restarting", "Restarting")
    second = until(lambda: (pod := job.pods().get("retry-worker-0"))
                   and pod["metadata"]["uid"] != first["metadata"]["uid"] and pod, "a new pod", tell=world.tell)
    assert second["metadata"]["annotations"]["graphcore.ai/partition"] == f"p-retry-{world.ns}-0"
    assert second["metadata"]["annotations"]["graphcore.ai/run"] == "1"
    assert list(vipu.partitions()) == [f"p-retry-{world.ns}-0"]
    world.kubelet.run(second)
    assert job.wait("Running")["restartCount"] == 1
    world.kubelet.fail(second, 4, "no more")
    failed = job.wait("Failed", "BackoffLimitExceeded")
    assert failed["lastMessage"].endswith("exited with code 4; backOffLimit of 1 restart reached: no more")
    assert [failure["message"] for failure in failed["failures"]] == ["no more", "try again"]
    job.wait_released()


def test_a_restarted_pod_has_the_last_lines_of_the_one_before(world, vipu):
    """Each its own: the names are taken, and with them the logs."""
    world.start_operator(vipu.address)
    job = world.job("tells", workersPerJobInstance=2, restartPolicy={"type": "OnFailure"})
    pods = job.run_pods(2)
    job.wait("Running")
    assert not any(REPORT in pod["metadata"]["annotations"] for pod in pods.values())
    world.kubelet.fail(pods["tells-worker-1"], 4, "epoch 1\nKeyError: $(HOME)\x1b[2J\n")
    until(lambda: is_stopped(job.pods()["tells-worker-0"]), "its peer is stopped", tell=world.tell)
    world.kubelet.fail(pods["tells-worker-0"], 143, "epoch 1\n")
    uids = {pod["metadata"]["uid"] for pod in pods.values()}
    new = until(lambda: len(now := {name: pod for name, pod in job.pods().items() if pod["metadata"]["uid"] not in uids}) == 2 and now,
                "both are new", tell=world.tell)
    for name, last in [("tells-worker-0", "epoch 1\n"), ("tells-worker-1", "epoch 1\nKeyError: $(HOME)\\x1b[2J\n")]:
        report = new[name]["metadata"]["annotations"][REPORT]
        assert report.startswith("This is restart 1 of instance 0.\nThe attempt before it failed at ")
        assert "Container train of pod tells-worker-1 exited with code 4: KeyError: $(HOME)\\x1b[2J (ContainerFailed)\n" in report
        assert report.endswith(f"The last lines of {name} then:\n{last}")
        field = next(item for item in new[name]["spec"]["containers"][0]["env"] if item["name"] == "IPU_JOB_PREVIOUS_ATTEMPT")
        assert field["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.annotations['{REPORT}']"


def test_a_pod_deleted_by_hand_comes_back(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("back", workersPerJobInstance=2)
    before = job.run_pods(2)
    job.wait("Running")
    world.automatic()
    world.api.delete("pods", world.ns, "back-worker-1")

    def is_new():
        pods = job.pods()
        uids = {pod["metadata"]["uid"] for pod in pods.values()}
        return len(pods) == 2 and not uids & {pod["metadata"]["uid"] for pod in before.values()}
    until(is_new, "both pods of the instance are new", tell=world.tell)
    running = job.wait("Running", "Running")
    assert running["restartCount"] == 0, "nothing failed"
    assert list(vipu.partitions()) == [f"p-back-{world.ns}-0"]


def test_a_service_that_was_deleted_comes_back(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("meets", workersPerJobInstance=2)
    job.run_pods(2)
    job.wait("Running")
    before = world.api.get("services", world.ns, "meets-workers")["metadata"]["uid"]
    world.api.delete("services", world.ns, "meets-workers")
    until(lambda: (now := world.api.get("services", world.ns, "meets-workers")) and now["metadata"]["uid"] != before,
          "another Service", tell=world.tell)
    assert job.is_in("Running") and len(job.pods()) == 2


def names_of(world, job):
    """Slice -> host name -> addresses, as DNS has them; nothing while the slices are not there."""
    return {found["metadata"]["name"]: {one["hostname"]: one["addresses"] for one in found["endpoints"] or []}
            for found in world.api.list("endpointslices", world.ns)
            if found["metadata"]["labels"].get("kubernetes.io/service-name") == f"{job.name}-workers"}


def addresses(pods):
    return {name: [pod["status"]["podIP"]] for name, pod in pods.items()}


def test_workers_are_found_by_name(world, vipu):
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    job = world.job("found", workersPerJobInstance=2, restartPolicy={"type": "OnFailure"})
    pods = job.run_pods(2)
    job.wait("Running")
    wanted = {"found-workers-0-ipv4": addresses(job.pods())}
    until(lambda: names_of(world, job) == wanted, "both names", tell=world.tell)
    (made,) = [found for found in world.api.list("endpointslices", world.ns)]
    assert made["metadata"]["ownerReferences"][0]["uid"] == job.uid
    assert made["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == "ipu-operator"
    assert all(one["conditions"]["ready"] for one in made["endpoints"])
    writes = [seen for seen in proxy.since(0) if seen.is_write and "endpointslices" in seen.path]
    assert len(writes) == 1, "one for both workers"

    world.api.delete("endpointslices", world.ns, "found-workers-0-ipv4")
    until(lambda: names_of(world, job) == wanted, "both names again", tell=world.tell)

    world.kubelet.fail(pods["found-worker-1"], 1)
    world.automatic()
    until(lambda: job.status.get("restartCount") == 1 and job.is_in("Running"), "it is started again", tell=world.tell)
    again = {"found-workers-0-ipv4": addresses(job.pods())}
    assert again != wanted
    until(lambda: names_of(world, job) == again, "the names of the new pods", tell=world.tell)


def test_labels_and_annotations_of_others_stay(world, vipu):
    """Also on what is written again: a restart changes the record and who is behind the names."""
    world.start_operator(vipu.address)
    job = world.job("marked", workersPerJobInstance=2, restartPolicy={"type": "OnFailure"})
    pods = job.run_pods(2)
    job.wait("Running")
    first = {"marked-workers-0-ipv4": addresses(job.pods())}
    until(lambda: names_of(world, job) == first, "both names", tell=world.tell)
    marks = {"labels": {"example.com/team": "vision"}, "annotations": {"example.com/note": "kept"}}
    partition = f"p-marked-{world.ns}-0"
    things = [("configmaps", OPERATOR_NS, partition), ("endpointslices", world.ns, "marked-workers-0-ipv4"),
              ("services", world.ns, "marked-workers")]
    for thing in things:
        world.api.patch(*thing, {"metadata": marks})

    world.kubelet.fail(pods["marked-worker-1"], 1)
    world.automatic()
    until(lambda: job.status.get("restartCount") == 1 and job.is_in("Running"), "it is started again", tell=world.tell)
    again = {"marked-workers-0-ipv4": addresses(job.pods())}
    until(lambda: names_of(world, job) == again, "the names of the new pods", tell=world.tell)
    assert again != first and job.records()[partition]["run"] == "1"
    for thing in things:
        metadata = world.api.get(*thing)["metadata"]
        assert all(added.items() <= metadata[kind].items() for kind, added in marks.items()), thing


@pytest.mark.parametrize("second", [(), ("10.1.2.{}",)], ids=["alone", "first"])
def test_workers_with_ipv6_addresses_are_found_by_name(world, vipu, second):
    """In a cluster that has nothing else, or where IPv6 comes first."""
    world.start_operator(vipu.address)
    job = world.job("six", workersPerJobInstance=2)
    for number, pod in enumerate(job.wait_pods(2).values()):
        world.kubelet.run(pod, f"fd00::1:{number + 1}", *(text.format(number + 1) for text in second))
    job.wait("Running")
    until(lambda: names_of(world, job) == {"six-workers-0-ipv6": addresses(job.pods())}, "both names", tell=world.tell)
    (made,) = world.api.list("endpointslices", world.ns)
    assert made["addressType"] == "IPv6"


def test_a_service_of_an_earlier_version_is_left_to_the_cluster(world, vipu):
    """It has a selector, and the cluster's own controller says who is behind it."""
    job = world.job("older", workersPerJobInstance=2)
    owner = {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "name": "older", "uid": job.uid, "controller": True}
    labels = {"graphcore.ai/job-name": "older", "graphcore.ai/role": "worker"}
    world.api.create("services", world.ns, {
        "metadata": {"name": "older-workers", "labels": labels, "ownerReferences": [owner]},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": labels}})
    world.start_operator(vipu.address)
    job.run_pods(2)
    job.wait("Running")
    until(lambda: list(names_of(world, job).values()) == [addresses(job.pods())], "the cluster tells both names", tell=world.tell)
    assert not any(name.endswith("ipv4") for name in names_of(world, job))


def test_an_endpoint_slice_of_another_owner_is_not_adopted(world, vipu):
    world.start_operator(vipu.address)
    theirs = world.api.create("endpointslices", world.ns, {
        "metadata": {"name": "taken-workers-0-ipv4"}, "addressType": "IPv4", "endpoints": []})
    job = world.job("taken", workersPerJobInstance=2)
    job.run_pods(2)
    reported = job.wait("Starting", "NameConflict")["lastMessage"]
    assert "EndpointSlice taken-workers-0-ipv4 already exists and is not owned by this job" in reported
    assert world.api.get("endpointslices", world.ns, "taken-workers-0-ipv4") == theirs
    world.api.delete("endpointslices", world.ns, "taken-workers-0-ipv4")
    job.wait("Running")
    until(lambda: names_of(world, job) == {"taken-workers-0-ipv4": addresses(job.pods())}, "our own", tell=world.tell)


def test_what_an_earlier_job_of_the_name_has_left_is_not_adopted(world, vipu):
    """Somebody took its finalizer, and its pod still ends when the next job of that name comes."""
    world.start_operator(vipu.address)
    first = world.job("again")
    left = first.run_pods(1)["again-worker-0"]
    first.wait("Running")
    first.delete()
    first.wait("Terminating")
    first.patch({"metadata": {"finalizers": None}})
    first.wait_gone()
    second = world.job("again")
    reported = second.wait("Starting", "StoppingOldPods")["lastMessage"]
    assert "waiting for pod again-worker-0 of a previous job with this name to terminate" in reported
    assert second.pods()["again-worker-0"]["metadata"]["ownerReferences"] == left["metadata"]["ownerReferences"]
    assert second.status["workersStatus"]["active"] == 0
    world.kubelet.end_deleted(left)
    pod = second.run_pods(1)["again-worker-0"]
    assert pod["metadata"]["ownerReferences"][0]["uid"] == second.uid
    assert pod["metadata"]["annotations"]["graphcore.ai/partition"] != f"p-again-{world.ns}-0"
    second.wait("Running")


def set_status(world, name, status):
    """Without the observedGeneration of the definition's default, which a job had not whose status is older."""
    world.api.patch("ipujobs", world.ns, name, {"status": {**status, "observedGeneration": None}}, "status")


def test_another_manager_is_left_alone(world, vipu):
    world.start_operator(vipu.address)
    other = world.job("theirs", managedBy="example.com/somebody")
    reported = {"launcherStatus": "Elsewhere", "desiredReplicas": 1, "lastMessage": "run by another cluster"}
    set_status(world, "theirs", reported)
    mine = world.job("mine", managedBy="graphcore.ai/ipu-operator")
    mine.wait_pods(1)
    other.patch({"spec": {"suspend": True}})
    mine.patch({"spec": {"suspend": True}})
    mine.wait("Suspended")
    assert other.status == reported
    assert other.pods() == {} and other.records() == {}
    assert "finalizers" not in other.get()["metadata"]


# What the vendor's operator keeps in a job, as its resource definition has it.
VENDORS = {"launcherStatus": "Running", "currentReplicas": 1, "desiredReplicas": 1, "lastMessage": "Running",
           "iPUPartitionCreated": True, "workersStatus": {"active": 1}, "restartCount": 0,
           "startTime": "2023-06-01T10:00:00Z", "lastReconcileTime": "2023-06-01T10:00:00Z",
           "conditions": [{"type": "Running", "status": "True", "lastUpdateTime": "2023-06-01T10:00:00Z"}]}


def test_jobs_of_the_vendors_operator_are_left_alone_until_adopted(world, vipu):
    runs, ended = world.job("vendors-runs"), world.job("vendors-ended")
    done = {**VENDORS, "launcherStatus": "Completed", "currentReplicas": 0, "lastMessage": "All instances done"}
    set_status(world, "vendors-runs", VENDORS)
    set_status(world, "vendors-ended", done)
    waiting = world.job("vendors-waits")  # the vendor's operator has not begun it: it is ours at once
    operator = world.start_operator(vipu.address)
    waiting.wait_pods(1)
    for job, status in ((runs, VENDORS), (ended, done)):
        assert job.status == status and "finalizers" not in job.get()["metadata"]
        assert job.pods() == {} and job.records() == {}
        assert f"job={world.ns}/{job.name}" in operator.log()
    assert "\nipu_operator_unadopted_jobs 2\n" in operator.ask("/metrics")[1]
    runs.patch({"metadata": {"annotations": {"graphcore.ai/adopt": "true"}}})
    runs.wait_pods(1)
    until(lambda: runs.status.get("observedGeneration", -1) > 0, "its status is ours", tell=world.tell)
    ended.delete()
    ended.wait_gone()
