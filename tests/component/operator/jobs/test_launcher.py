"""Jobs with a launcher on a real API server: what is made in which order, and under the chart's permissions."""

import base64

import pytest
from kubelet import statuses
from waiting import until
from world import container, pod_template

MPI = {"command": ["mpirun", "train"], "env": [{"name": "EPOCHS", "value": "3"}]}


def launched(world, name, **spec):
    return world.job(name, **{"workersPerJobInstance": 2, "launcher": MPI, **spec})


def ready(world, job, workers=2):
    """Its workers are ready; their pods."""
    pods = job.wait_pods(workers)
    for pod in pods.values():
        world.kubelet.run(pod)
    return pods


def launcher(world, job, name=None):
    """The launcher pod, once it is there."""
    name = name or f"{job.name}-launcher"
    return until(lambda: job.pods().get(name), f"there is {name}", tell=world.tell)


def running(world, job, workers=2):
    ready(world, job, workers)
    pod = launcher(world, job)
    world.kubelet.run(pod)
    job.wait("Running")
    return job.pods()


def env_of(pod):
    return {item["name"]: item.get("value") for item in pod["spec"]["containers"][0]["env"]}


def secrets(world):
    return {item["metadata"]["name"]: item for item in world.api.list("secrets", world.ns)}


def port_of(pod):
    return next(port for port in pod["spec"]["containers"][0]["ports"] if port["name"] == "ipu-agent")


def test_a_launch_from_keys_to_completion(world, vipu):
    world.start_operator(vipu.address)
    job = launched(world, "mpi")
    workers = job.wait_pods(2)
    assert sorted(workers) == ["mpi-worker-0", "mpi-worker-1"]
    keys = f"mpi-mpi-{job.uid[:8]}-0"
    secret = secrets(world)[keys]
    assert secret["type"] == "Opaque" and secret["immutable"]
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job.uid
    assert sorted(secret["data"]) == ["0", "1"] and len(set(secret["data"].values())) == 2
    assert {len(base64.b64decode(key)) for key in secret["data"].values()} == {32}
    for n in (0, 1):
        pod = workers[f"mpi-worker-{n}"]
        main = pod["spec"]["containers"][0]
        assert main["command"] == ["/opt/ipu-launcher/ipu-launch", "agent", "--", "train"]
        assert main["startupProbe"]["exec"]["command"] == ["/opt/ipu-launcher/ipu-launch", "agent-ready"]
        volume = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == "ipu-launch-keys")
        assert volume["secret"]["secretName"] == keys
        assert [(item["key"], item["path"]) for item in volume["secret"]["items"]] == [(str(n), "key")]
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert env_of(pod)["IPU_JOB_ATTEMPT"] == "0" and env_of(pod)["IPU_JOB_UID"] == job.uid
        assert "IPU_JOB_MASTER_ADDR" not in env_of(pod)
    assert world.api.get("services", world.ns, "mpi-workers") is None
    policy = world.api.get("networkpolicies", world.ns, "mpi-peers")
    assert policy["spec"]["podSelector"]["matchLabels"] == {"graphcore.ai/job-name": "mpi"}
    assert policy["metadata"]["ownerReferences"][0]["uid"] == job.uid

    world.kubelet.run(workers["mpi-worker-0"])
    world.kubelet.bind(workers["mpi-worker-1"])
    world.kubelet.report(workers["mpi-worker-1"], "Pending", [])
    reported = job.wait("Starting", "WaitingForWorkers")
    assert "Waiting for workers: " in reported["lastMessage"] and "mpi-launcher" not in job.pods()
    world.kubelet.run(workers["mpi-worker-1"])
    pod = launcher(world, job)
    main = pod["spec"]["containers"][0]
    assert main["command"] == ["/opt/ipu-launcher/ipu-launch", "run", "--", "mpirun", "train"]
    assert main["image"] == "docker.io/library/train:1" and main["name"] == "launcher"
    assert pod["metadata"]["labels"] == {"graphcore.ai/job-name": "mpi", "graphcore.ai/role": "launcher",
                                         "graphcore.ai/instance": "0"}
    port = port_of(workers["mpi-worker-0"])["containerPort"]
    ips = {name: job.pods()[name]["status"]["podIP"] for name in workers}
    assert env_of(pod)["IPU_JOB_HOSTS"] == ",".join(f"{name}={ips[name]}:{port}" for name in sorted(ips))
    assert env_of(pod)["IPUOF_VIPU_API_PARTITION_ID"] == f"p-mpi-{world.ns}-0"
    assert "IPUOF_VIPU_API_GCD_ID" not in env_of(pod) and env_of(pod)["EPOCHS"] == "3"

    world.kubelet.run(pod)
    assert job.wait("Running")["workersStatus"]["active"] == 2
    world.automatic()
    world.kubelet.succeed(pod)
    done = job.wait("Completed")
    assert (done["lastMessage"], done["currentReplicas"]) == ("All instances done", 0)
    job.wait_released()
    assert vipu.partitions() == {}
    until(lambda: keys not in secrets(world), "the keys are deleted", tell=world.tell)
    assert "mpi-launcher" in job.wait_logs_kept("mpi-worker-0", "mpi-worker-1"), "all logs stay"


def test_a_network_policy_comes_back_and_another_is_left_alone(world, vipu):
    world.start_operator(vipu.address)
    job = launched(world, "guarded")
    running(world, job)
    policy = world.api.get("networkpolicies", world.ns, "guarded-peers")
    world.api.delete("networkpolicies", world.ns, "guarded-peers")
    until(lambda: (again := world.api.get("networkpolicies", world.ns, "guarded-peers"))
          and again["metadata"]["uid"] != policy["metadata"]["uid"], "it comes back", tell=world.tell)
    theirs = world.api.create("networkpolicies", world.ns, {
        "metadata": {"name": "taken-peers"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}})
    reported = launched(world, "taken").wait("Pending", "NameConflict")
    assert "NetworkPolicy taken-peers already exists and is not owned by this job" in reported["lastMessage"]
    assert world.api.get("networkpolicies", world.ns, "taken-peers") == theirs


def test_the_worker_is_named_not_the_launcher(world, vipu):
    world.start_operator(vipu.address)
    job = launched(world, "cause", cleanPodPolicy="Workers")
    pods = running(world, job)
    world.kubelet.fail(pods["cause-launcher"], 1, "mpirun lost a host")
    world.kubelet.fail(pods["cause-worker-1"], 137, "killed")
    world.automatic()
    failed = job.wait("Failed", "ContainerFailed")
    assert "cause-worker-1" in failed["lastMessage"] and "137" in failed["lastMessage"]
    assert failed["failures"][0]["pod"] == "cause-worker-1"
    job.wait_released()
    until(lambda: list(job.pods()) == ["cause-launcher"], "the policy keeps the launcher", tell=world.tell)


def test_a_restart_has_new_keys(world, vipu):
    world.start_operator(vipu.address)
    job = launched(world, "again", restartPolicy={"type": "ExitCode", "exitCodes": "7"})
    pods = running(world, job)
    world.automatic(starts=lambda pod: True)
    world.kubelet.fail(pods["again-launcher"], 7)
    job.wait("Restarting")
    second = until(lambda: (pod := job.pods().get("again-launcher"))
                   and pod["metadata"]["uid"] != pods["again-launcher"]["metadata"]["uid"] and pod, "a new launcher",
                   tell=world.tell)
    assert env_of(second)["IPU_JOB_ATTEMPT"] == "1"
    assert list(secrets(world)) == [f"again-mpi-{job.uid[:8]}-1"]
    assert list(vipu.partitions()) == [f"p-again-{world.ns}-0"]
    assert job.wait("Running")["restartCount"] == 1


def test_a_worker_deleted_by_hand_starts_all_again(world, vipu):
    world.start_operator(vipu.address)
    job = launched(world, "back")
    before = {pod["metadata"]["uid"] for pod in running(world, job).values()}
    world.automatic()
    world.api.delete("pods", world.ns, "back-worker-1")
    until(lambda: len(job.pods()) == 3 and not before & {pod["metadata"]["uid"] for pod in job.pods().values()},
          "all three pods are new", tell=world.tell)
    assert job.wait("Running", "Running")["restartCount"] == 0


def test_keys_that_were_deleted_in_a_crash_are_created_again(world, vipu):
    world.start_operator(vipu.address)
    job = launched(world, "keys")
    pods = job.wait_pods(2)
    until(lambda: all(record["started"] == "true" for record in job.records().values()), "the start is noted",
          tell=world.tell)
    world.operator.kill()
    name = next(iter(secrets(world)))
    world.api.delete("secrets", world.ns, name)
    for pod in pods.values():
        world.kubelet.run(pod)
    world.automatic()
    world.restart_operator()
    pod = launcher(world, job)
    assert env_of(pod)["IPU_JOB_ATTEMPT"] == "1"
    assert list(secrets(world)) == [f"keys-mpi-{job.uid[:8]}-1"]


def test_keys_that_a_worker_still_waits_for_are_missed(world, vipu):
    """Its kubelet cannot mount them and reports that only in events."""
    world.start_operator(vipu.address)
    job = launched(world, "mount")
    pods = job.wait_pods(2)
    world.api.delete("secrets", world.ns, next(iter(secrets(world))))
    for pod in pods.values():
        world.kubelet.bind(pod)
        world.kubelet.report(pod, "Pending", statuses(pod, {"waiting": {"reason": "ContainerCreating"}}))
    job.wait("Restarting", "SecretDeleted")
    world.automatic()
    pod = launcher(world, job)
    assert env_of(pod)["IPU_JOB_ATTEMPT"] == "1"
    assert list(secrets(world)) == [f"mount-mpi-{job.uid[:8]}-1"]
    assert job.wait("Running", "Running")["restartCount"] == 0


def test_pods_on_one_node_share_no_port(world, vipu):
    world.start_operator(vipu.address, "--host-network=true", "--network-policy=false", "--mpi-network=10.0.0.0/8")
    job = launched(world, "ports", jobInstances=2)
    other = launched(world, "others")
    pods = {**job.wait_pods(4), **other.wait_pods(2)}
    ports = {}
    for pod in pods.values():
        assert pod["spec"]["hostNetwork"]
        port = port_of(pod)
        assert port["hostPort"] == port["containerPort"] and 12000 <= port["hostPort"] < 20000
        ports[pod["metadata"]["name"]] = port["hostPort"]
    assert len(set(ports.values())) == 6
    assert world.api.list("networkpolicies", world.ns) == []
    for pod in pods.values():
        world.kubelet.run(pod)
    second = launcher(world, job, "ports-launcher-1")
    hosts = env_of(second)["IPU_JOB_HOSTS"].split(",")
    assert [host.split("=")[0] for host in hosts] == ["ports-worker-2", "ports-worker-3"]
    assert [int(host.rsplit(":", 1)[1]) for host in hosts] == [ports["ports-worker-2"], ports["ports-worker-3"]]
    assert env_of(second)["IPU_JOB_NETWORK"] == "10.0.0.0/8"
    assert "ipu-agent" not in str(second["spec"]["containers"][0].get("ports"))


@pytest.mark.parametrize("template, field", [
    ({"containers": [{"name": "a", "image": " "}]}, "spec.launcher.template.spec.containers[0].image"),
    ({"containers": [{"name": "a"}], "volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/a"}}]},
     "spec.launcher.template.spec.volumes"),
])
def test_a_wrong_launcher_template_takes_no_ipus(world, vipu, template, field):
    world.start_operator(vipu.address)
    job = launched(world, "wrong", launcher={**MPI, "template": {"spec": template}})
    failed = job.wait("Failed", "InvalidPodTemplate")
    assert field in failed["lastMessage"]
    assert job.records() == {} and vipu.partitions() == {} and secrets(world) == {}


def test_restricted_pod_security_admits_the_pods(world, vipu):
    world.api.patch("namespaces", None, world.ns,
                    {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    world.start_operator(vipu.address)
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    template = pod_template(container(securityContext=context),
                            securityContext={"runAsNonRoot": True, "runAsUser": 1000,
                                             "seccompProfile": {"type": "RuntimeDefault"}})
    job = launched(world, "strict", workers={"template": template})
    pods = running(world, job)
    assert pods["strict-launcher"]["spec"]["securityContext"]["runAsUser"] == 1000


def test_an_upgrade_before_the_launch_gives_all_pods_one_version(world, vipu):
    """Workers that wait for a launcher are started again by an operator that has another image of ipu-launch."""
    world.start_operator(vipu.address, "--launcher-image", "ipu-launch:1")
    job = launched(world, "upgraded")
    old = job.wait_pods(2)
    world.kubelet.run(old["upgraded-worker-0"])
    world.operator.kill()
    world.forget_lease()
    world.start_operator(vipu.address, "--launcher-image", "ipu-launch:2")

    def of_new_version():
        pods = job.pods()
        return pods if {pod["spec"]["initContainers"][0]["image"] for pod in pods.values()} == {"ipu-launch:2"} else None
    world.automatic()
    new = until(of_new_version, "all pods are new", tell=world.tell)
    assert not {pod["metadata"]["uid"] for pod in old.values()} & {pod["metadata"]["uid"] for pod in new.values()}
    assert job.wait("Running")["restartCount"] == 0
