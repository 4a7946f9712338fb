"""Jobs with a launcher in real pods: mpirun and poprun reach the workers, and what a death of one of them leads to."""

import contextlib
import os
import re
import signal

import kube
import pytest
import yaml
from jobs import MEET, UNTIL_TOLD, Job, job, mpi, over_both_nodes, told_as_event, untagged
from network_policy import admits
from stack import SECOND, SPARE, processes_of
from tcp_table import incoming, listening

EXAMPLES = kube.ROOT / "deploy" / "examples"
# A rank that runs until the test lets it end.
RANK = 'echo $BASHPID > /tmp/rank; echo "rank $OMPI_COMM_WORLD_RANK on worker $IPU_JOB_WORKER_INDEX"; ' \
       'until [ -e /tmp/end ]; do sleep 0.1; done; echo over'
START_S = 90


def losses(log):
    return [float(loss) for loss in re.findall(r"epoch +\d+/12 +loss ([\d.]+)", log)]


def launcher_log(namespace, made):
    return namespace.attempt("logs", f"{made.name}-launcher").stdout


def wait_for_ranks(namespace, *jobs, workers=2):
    for made in jobs:
        kube.wait_for(lambda: f"all ranks run; {made.reported()}\n{launcher_log(namespace, made)}",
                      lambda: all(f"rank {n} on worker {n}" in launcher_log(namespace, made) for n in range(workers)),
                      2 * START_S)


def kill_container(namespace, pod):
    """kill -9 of all that runs in it."""
    for pid in processes_of(container_of(namespace, pod)):
        with contextlib.suppress(ProcessLookupError):  # the death of another has ended it
            os.kill(pid, signal.SIGKILL)


def check_free(stack, made):
    kube.wait_for(lambda: f"the partition is given back; {made.reported()}", lambda: not stack.partitions())
    kube.wait_for("no keys are left", lambda: not made.kubectl.items("secrets"))


# ---- the examples


def check_mpi(namespace, log):
    partition = f"p-mpi-{namespace.namespace}-0"
    assert "[1,3]<stdout>:rank 3 of 4" in log
    assert untagged(log) == [*(f"rank {n} of 4: worker {n}, partition {partition}, GCD {n}" for n in range(4)),
                             "the token came back as 1004"]


def check_poprun(log):
    lines = untagged(log)
    assert lines.count('poprun is invoked with "--num-replicas 4", "--num-instances 2" and "--ipus-per-replica 2".') == 2
    for index in (0, 1):
        assert f"        - This message is generated from instance with index {index}." in lines
        assert f"        - The first replica index associated with this instance is {2 * index}." in lines


def check_digits(log, alone):
    """The losses of four pods are those of one process."""
    assert len(losses(log)) == 12 and losses(log) == pytest.approx(losses(alone), abs=2e-3)


def test_the_examples(namespace, start):
    alone = start(job("alone", "exec python3 /examples/digits_distributed.py"))
    for name in ("mpi", "poprun", "digits-pods"):
        namespace("apply", "-f", EXAMPLES / f"{name}.yaml")
    for name in ("mpi", "poprun", "digits-pods", "alone"):
        Job(namespace, name).wait_for_state("Completed", seconds=2 * START_S)
    check_mpi(namespace, namespace("logs", "mpi-launcher"))
    check_poprun(namespace("logs", "poprun-launcher"))
    check_digits(namespace("logs", "digits-pods-launcher"), alone.log())


# ---- what pods can be like


def test_two_jobs_and_two_instances_share_a_node(namespace, start):
    """In the node's network: every agent has a port of its own."""
    say = 'echo "rank $OMPI_COMM_WORLD_RANK in $IPUOF_VIPU_API_PARTITION_ID"'
    made = [start(mpi("one", say, instances=2)), start(mpi("two", say))]
    for each in made:
        each.wait_for_state("Completed", seconds=START_S)
    for pod, partition in (("one-launcher", "one-{}-0"), ("one-launcher-1", "one-{}-1"), ("two-launcher", "two-{}-0")):
        assert namespace.get("pod", pod)["spec"]["hostNetwork"]
        output = untagged(namespace("logs", pod))
        assert output == [f"rank {n} in p-{partition.format(namespace.namespace)}" for n in (0, 1)]


def test_pods_with_and_without_networks_of_their_own_need_no_dns(namespace, start):
    # A name that is looked up costs a minute.
    nobody = {"nameservers": ["192.0.2.1"], "options": [{"name": "timeout", "value": "30"}]}
    script = 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"'
    both = [start(mpi(name, script, pod={"hostNetwork": hosts, "dnsPolicy": "None", "dnsConfig": nobody}))
            for name, hosts in (("own", False), ("nodes", True))]
    for made in both:
        made.wait_for_state("Completed", seconds=START_S)
        assert untagged(launcher_log(namespace, made)) == ["rank 0 of 2", "rank 1 of 2"]
    addresses = {alias["ip"] for alias in namespace.get("pod", "own-launcher")["spec"]["hostAliases"]}
    assert len(addresses) == 2
    assert namespace.get("networkpolicy", "own-peers")["spec"]["policyTypes"] == ["Ingress"]


# Ranks that have reached each other, and wait until the test lets them end.
MEETING = """
import numpy, os, popdist, time, popdist.collectives as collectives
popdist.init()
ranks = numpy.ones(1)
collectives.allReduceSum(ranks, "ranks")
os.write(1, b"rank %d on worker %s, one of %d\\n" % (popdist.getInstanceIndex(), os.environ["IPU_JOB_WORKER_INDEX"].encode(), ranks[0]))
while not os.path.exists("/tmp/end"):
    time.sleep(0.1)
"""


def process_of(pod):
    """One of a pod's processes: they share its network."""
    return processes_of(pod["status"]["containerStatuses"][0]["containerID"].split("//")[1])[0]


def test_the_network_policy_admits_what_a_job_needs_and_nothing_else(namespace, start):
    """As Kubernetes would judge it: the connections that there are, and those that others could try."""
    own = {"hostNetwork": False}
    other = start(job("other", UNTIL_TOLD, pod=own))
    made = start(mpi("guarded", f"exec python3 -c '{MEETING}'", command=("mpirun", "ipu-launch", "exec", "--"), pod=own))
    wait_for_ranks(namespace, made)
    other.wait_for_state("Running")
    policies, peers = namespace.items("networkpolicies"), {pod["status"]["podIP"]: pod for pod in made.pods()}
    assert len(policies) == 1 and len(peers) == 3
    met = [(peers[ip], target, port) for target in peers.values() for ip, port in incoming(process_of(target)) if ip in peers]
    roles = {(source["metadata"]["labels"]["graphcore.ai/role"], target["metadata"]["labels"]["graphcore.ai/role"])
             for source, target, _ in met}
    assert roles >= {("launcher", "worker"), ("worker", "launcher"), ("worker", "worker")}, "the launcher's, Open MPI's, the ranks'"
    assert all(admits(policies, source, target, port) for source, target, port in met)

    (stranger,) = other.pods()
    member = next(iter(peers.values()))
    namesake = member | {"metadata": member["metadata"] | {"namespace": "another"}}
    for target in peers.values():
        heard = listening(process_of(target))
        assert heard
        assert not any(admits(policies, source, target, port) for source in (stranger, namesake) for port in heard)
    assert admits(policies, namesake, stranger, 80), "who has no launcher may serve others"
    for number in (0, 1):
        made.let_end(number)
    other.let_end()
    made.wait_for_state("Completed")


def test_ranks_meet_as_those_of_torch_and_know_all_workers(namespace, start):
    """Whatever the network and the user; in the node's network gloo takes the interface of the pod's address."""
    script = """
for n in 0 1; do python3 -c "import socket, sys; socket.gethostbyname(sys.argv[1])" {0}-worker-$n && echo "rank $RANK knows worker $n"; done
[ -z "$IPU_JOB_ADDRESS" ] || [ "${{GLOO_SOCKET_IFNAME:-lo}}" != lo ] || echo "gloo takes loopback"
exec python3 -c '{1}'"""
    user = {"runAsUser": 1000, "runAsGroup": 1000}
    both = [start(mpi(name, script.format(name, MEET), pod={"hostNetwork": hosts, "securityContext": user}))
            for name, hosts in (("own", False), ("nodes", True))]
    for made in both:
        made.wait_for_state("Completed", seconds=START_S)
        assert untagged(launcher_log(namespace, made)) == [
            f"hello from p-{made.name}-{namespace.namespace}-0", "met rank 1",
            *(f"rank {rank} knows worker {n}" for rank in (0, 1) for n in (0, 1))]  # fmt: skip


def test_mpirun_works_in_the_shell_of_a_plain_worker(namespace, start):
    made = start(job("plain", UNTIL_TOLD))
    made.wait_for_state("Running")
    assert namespace("exec", "plain-worker-0", "--", "sh", "-c", "id -u; mpirun -np 1 echo started").split() == ["0", "started"]
    made.let_end()
    made.wait_for_state("Completed")


# ---- two nodes


def example(name, **more):
    made = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    made["spec"]["workers"]["template"]["spec"] |= more
    return made


def nodes_of_workers(made):
    """As the scheduler has told: the pods go when the job ends."""
    reported = (event["note"].split() for event in made.kubectl.items("events.events.k8s.io") if event["reason"] == "Scheduled")
    return sorted(node for _, _, pod, _, node in reported if f"/{made.name}-worker-" in pod)


def test_programs_over_two_nodes(namespace, start):
    ring, poprun = (start(example(name, hostNetwork=hosts, **over_both_nodes(name)))
                    for name, hosts in (("mpi", True), ("poprun", False)))
    for made, nodes in ((ring, ["node1", "node1", SECOND, SECOND]), (poprun, ["node1", SECOND])):
        kube.wait_for(f"workers of {made.name} on both nodes", lambda made=made, nodes=nodes: nodes_of_workers(made) == nodes, START_S)
    for made in (ring, poprun):
        made.wait_for_state("Completed", seconds=START_S)
    check_mpi(namespace, namespace("logs", "mpi-launcher"))
    check_poprun(namespace("logs", "poprun-launcher"))


def test_a_port_of_the_node_that_is_taken_is_named(start):
    there = {"hostNetwork": True, "nodeSelector": {"kubernetes.io/hostname": SECOND}, "tolerations": [SPARE]}
    port = {"ports": [{"containerPort": 8099, "hostPort": 8099}]}
    first = start(job("has-it", UNTIL_TOLD, pod=there, container=port))
    first.wait_for_state("Running")
    second = start(job("wants-it", UNTIL_TOLD, pod=there, container=port))
    waits = second.wait_for_reason("HostPortConflict")
    assert waits["launcherStatus"] == "Starting" and "free ports" in waits["lastMessage"]
    first.let_end()
    second.wait_for_state("Running")
    second.let_end()
    second.wait_for_state("Completed")


# ---- names and keys


def open_gates(made):
    for pod in made.pods():
        if pod["spec"].get("schedulingGates"):
            made.kubectl.attempt("patch", "pod", pod["metadata"]["name"], "--type=json", "-p",
                                 '[{"op": "remove", "path": "/spec/schedulingGates"}]')


def test_the_longest_names_work_and_keys_that_are_deleted_before_they_are_mounted_are_created_again(namespace, start):
    meets = start(job("n" * 63, f"exec python3 -c '{MEET}'", workersPerJobInstance="2", pod={"hostNetwork": False}))
    dotted = start(mpi("a.b-" * 15 + "abc", 'echo "rank $OMPI_COMM_WORLD_RANK on $HOSTNAME"',
                       pod={"hostNetwork": False, "schedulingGates": [{"name": "example.org/wait"}]}))
    dotted.wait_for_reason("SchedulingGated")
    kube.wait_for(dotted.reported, lambda: len(dotted.pods()) == 2)
    namespace("delete", "secrets", "--all")
    open_gates(dotted)
    told_as_event(dotted, "SecretDeleted")  # its status says so only until the pods have gone
    kube.wait_for(dotted.reported, lambda: open_gates(dotted) or dotted.state() == "Completed", START_S)
    assert dotted.status["restartCount"] == 0
    output = untagged(launcher_log(namespace, dotted))
    assert [bool(re.fullmatch(rf"rank {n} on [a-z0-9-]+-worker-{n}", line)) for n, line in enumerate(output)] == [True] * 2

    meets.wait_for_state("Completed", seconds=START_S)
    assert meets.log(0).strip() == "met rank 1"


# ---- deaths


def container_of(namespace, pod):
    return namespace.get("pod", pod)["status"]["containerStatuses"][0]["containerID"].split("//")[1]


def check_killed_rank(namespace, made):
    failed = made.wait_for_state("Failed")
    assert failed["reason"] == "ContainerFailed" and "rank-launcher" in failed["lastMessage"]
    assert failed["failures"][0]["exitCode"] == 137
    kube.wait_for(made.reported, lambda: [pod["metadata"]["name"] for pod in made.pods()] == ["rank-launcher"])
    assert "rank 1 on worker 1" in launcher_log(namespace, made)


def check_killed_worker(namespace, made):
    failed = made.wait_for_state("Failed")
    assert "worker-worker-1" in failed["lastMessage"] and "137" in failed["lastMessage"]
    assert [failure["pod"] for failure in failed["failures"]] == ["worker-worker-1"]
    assert "rank 0 on worker 0" in launcher_log(namespace, made)


def test_deaths_that_end_a_job_and_free_its_ipus(stack, namespace, start):
    rank, worker, deleted = made = [start(mpi("rank", RANK, cleanPodPolicy="Workers")), start(mpi("worker", RANK)),
                                    start(mpi("deleted", RANK))]
    wait_for_ranks(namespace, *made)
    namespace.attempt("exec", "rank-worker-1", "--", "/bin/bash", "-c", "kill -9 $(cat /tmp/rank)")  # ends with its container
    kill_container(namespace, "worker-worker-1")
    containers = [container_of(namespace, f"deleted-worker-{n}") for n in (0, 1)]
    namespace("delete", "ipujob", deleted.name, "--timeout=60s")
    assert [processes_of(container) for container in containers] == [[], []]
    kube.wait_for("its pods are gone", lambda: not deleted.pods())
    check_killed_rank(namespace, rank)
    check_killed_worker(namespace, worker)
    check_free(stack, rank)


# Rank 0 talks on, rank 1 ends.
# Few lines: a kubelet keeps the last 80 for the status, of which those between a rank's end and its mpirun's are some.
BESIDE_A_TALKER = 'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then while :; do echo epoch; sleep 0.1; done; fi; '
HOG = "python3 -IS -c 'b\"x\" * (1 << 30)'"
LITTLE_MEMORY = {"resources": {"limits": {"memory": "96Mi"}}}


def test_a_rank_that_dies_names_its_worker_its_signal_and_its_last_line(stack, start):
    hungry = start(mpi("hungry", f"{BESIDE_A_TALKER} {HOG}", container=LITTLE_MEMORY))
    crashed = start(mpi("crashed", BESIDE_A_TALKER + "sleep 1; echo the very last; sleep 0.5; kill -SEGV $BASHPID"))
    failed = hungry.wait_for_state("Failed", seconds=START_S)
    assert failed["reason"] == "OOMKilled", hungry.reported()
    assert failed["lastMessage"].startswith("Worker pod hungry-worker-1 ran out of memory: the kernel killed 1 process; ")
    assert [failure["pod"] for failure in failed["failures"]] == ["hungry-worker-1"] and failed["failures"][0]["outOfMemory"]
    told_as_event(hungry, "OOMKilled")
    failed = crashed.wait_for_state("Failed", seconds=START_S)
    assert failed["reason"] == "ContainerFailed" and failed["failures"][0]["signal"] == signal.SIGSEGV
    assert failed["lastMessage"] == ("Rank 1 on crashed-worker-1 was killed by SIGSEGV; container launcher of pod crashed-launcher "
                                     "exited with code 139: the very last")
    for made in (hungry, crashed):
        check_free(stack, made)


def wait_for_new_pods(made, before):
    kube.wait_for(made.reported, lambda: len(made.pods()) == 3 and not before & uids(made), START_S)


def uids(made):
    return {pod["metadata"]["uid"] for pod in made.pods()}


def test_deaths_that_start_a_job_again(stack, namespace, start):
    gone, again = made = [start(mpi("gone", RANK)),
                          start(mpi("again", RANK, restartPolicy={"type": "ExitCode", "exitCodes": "137", "backOffLimit": 1}))]
    wait_for_ranks(namespace, *made)
    before = {each.name: uids(each) for each in made}
    namespace("delete", "pod", "gone-worker-0", "--wait=false")
    kill_container(namespace, "again-launcher")
    for each in made:
        wait_for_new_pods(each, before[each.name])
    wait_for_ranks(namespace, *made)
    for each in made:
        for number in range(2):
            each.let_end(number)
    assert gone.wait_for_state("Completed")["restartCount"] == 0
    done = again.wait_for_state("Completed")
    assert done["restartCount"] == 1 and done["failures"][0]["pod"] == "again-launcher"
    check_free(stack, gone)
