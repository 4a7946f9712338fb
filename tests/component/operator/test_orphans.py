"""Partitions without a record: never touched, until an admin assigns them to a job or releases them."""

import json
import subprocess

import pytest

import operator_program
from test_job_life import VENDORS, set_status
from test_verbs import before_uninstall, pages_of
from waiting import until
from world import OPERATOR_NS, container


def verb(world, *words):
    """A verb with the operator's own rights; the finished process."""
    return subprocess.run([operator_program.program(), *words, "--kubeconfig", world.kubeconfig(), "--operator-url", pages_of(world.operator),
                           *(["--namespace", OPERATOR_NS] if words[0] != "partitions" else [])],
                          capture_output=True, text=True, timeout=200, env=operator_program.environment())


def make(vipu, *ids, size=4):
    for name in ids:
        vipu.client.create(name, size=size, reconfigurable=True)
    until(lambda: set(ids) <= set(vipu.partitions()), "they are made")


def seen(world, partition):
    return next((item for item in json.loads(world.operator.ask("/partitions")[1])["partitions"] if item["id"] == partition), None)


def wait_seen(world, *ids):
    """The operator looks at what it does not use once a minute, at the least."""
    until(lambda: all(seen(world, name) for name in ids), "the operator has seen them", tell=world.tell)


def vendors_job(world, name, **spec):
    """Before there is an operator, which would begin it at once."""
    job = world.job(name, **spec)
    set_status(world, name, VENDORS)
    return job


def test_a_partition_without_an_owner_is_released(world, vipu):
    make(vipu, "left-behind", "My_Own", "kept")
    operator = world.start_operator(vipu.address)
    job = world.job("ours")
    job.run_pods(1)
    job.wait("Running")
    (ours,) = job.records()
    wait_seen(world, "left-behind", ours)
    listed = verb(world, "partitions")
    assert listed.returncode == 0 and {line.split()[1] for line in listed.stdout.splitlines()[1:]} == {"left-behind", "My_Own", "kept"}
    rejected = verb(world, "release", ours)
    assert rejected.returncode == 1 and f"belongs to IPUJob {world.ns}/ours" in rejected.stderr
    rejected = verb(world, "release", "My_Own")
    assert rejected.returncode == 1 and "is not a valid record name" in rejected.stderr
    rejected = verb(world, "release", "left")
    assert rejected.returncode == 1 and "partition left not found;" in rejected.stderr
    tried = verb(world, "release", "left-behind", "--dry-run")
    assert tried.returncode == 0 and "Would release partition left-behind (4 IPUs)" in tried.stdout
    assert set(vipu.partitions()) == {"left-behind", "My_Own", "kept", ours} and set(world.records()) == {ours}
    done = verb(world, "release", "left-behind")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == f"Released partition left-behind (4 IPUs) on V-IPU controller {vipu.address}.\n"
    assert set(vipu.partitions()) == {"My_Own", "kept", ours} and set(world.records()) == {ours}
    assert "releasing orphaned partition on request" in operator.log()
    assert job.is_in("Running")


def test_its_end_is_awaited_through_an_answer_that_is_lost_and_a_new_leader(world, vipu):
    make(vipu, "left-behind")
    proxy = world.make_vipu_proxy(vipu)
    operator = world.start_operator(proxy.address)
    wait_seen(world, "left-behind")
    removals = []

    def lose(method, _request):
        if method == "RemovePartition":
            removals.append(method)
        return method != "RemovePartition"
    proxy.before = lose
    waits = verb(world, "release", "left-behind", "--seconds", "3")
    assert waits.returncode == 1 and "not released after 3 s" in waits.stderr
    until(lambda: removals, "its removal is tried", tell=world.tell)
    again = verb(world, "release", "left-behind")
    assert again.returncode == 1 and "is already being released" in again.stderr
    operator.kill()
    proxy.before = lambda method, request: True
    world.restart_operator()
    until(lambda: not vipu.partitions() and not world.records(), "it is given back by the next leader", tell=world.tell)


def test_pods_that_may_use_it_are_waited_for(world, vipu):
    partition = f"p-theirs-{world.ns}-0"
    make(vipu, partition)
    job = vendors_job(world, "theirs")
    world.start_operator(vipu.address)
    until(lambda: (seen(world, partition) or {}).get("couldBeOf") == [f"{world.ns}/theirs"], "whose it could be is told", tell=world.tell)
    world.api.create("pods", world.ns, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "theirs-worker-0"},
                                        "spec": {"nodeName": "ipu-node", "containers": [container()]}})
    pod = world.api.get("pods", world.ns, "theirs-worker-0")
    world.kubelet.run(pod)
    rejected = verb(world, "release", partition)
    assert rejected.returncode == 1 and f"pod {world.ns}/theirs-worker-0 may be using this partition" in rejected.stderr
    assert partition in vipu.partitions() and not world.records()
    world.kubelet.succeed(world.api.get("pods", world.ns, "theirs-worker-0"))
    assert verb(world, "release", partition).returncode == 0
    assert not vipu.partitions()
    assert job.status == VENDORS


def test_a_job_of_the_vendors_operator_keeps_it_until_it_goes(world, vipu):
    fits, small = f"p-theirs-{world.ns}-0", f"p-theirs-{world.ns}-1"
    make(vipu, fits)
    make(vipu, small, size=2)
    job = vendors_job(world, "theirs", jobInstances=2)
    world.start_operator(vipu.address)
    own = world.job("own")
    own.wait_pods(1)
    wait_seen(world, fits, small)
    rejected = verb(world, "adopt", small, "--job", f"{world.ns}/theirs")
    assert rejected.returncode == 1 and "IPUs do not match: the partition has 2, an instance of the job needs 4" in rejected.stderr
    rejected = verb(world, "adopt", fits, "--job", f"{world.ns}/own")
    assert rejected.returncode == 1 and "is managed by this operator" in rejected.stderr and "the ID does not match" in rejected.stderr
    assert verb(world, "adopt", fits, "--job", f"{world.ns}/nobody").returncode == 1
    assert verb(world, "adopt", fits, "--job", "nobody").returncode == 1
    tried = verb(world, "adopt", fits, "--job", f"{world.ns}/theirs", "--dry-run")
    assert tried.returncode == 0 and not job.records()
    done = verb(world, "adopt", fits, "--job", f"{world.ns}/theirs")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    until(lambda: seen(world, fits).get("job") == f"{world.ns}/theirs", "it is the job's", tell=world.tell)
    assert verb(world, "release", fits).returncode == 1
    job.patch({"spec": {"jobInstances": 0}})
    world.operator.kill()
    world.restart_operator()
    until(lambda: (seen(world, fits) or {}).get("job") == f"{world.ns}/theirs", "the next leader knows it", tell=world.tell)
    assert job.status == VENDORS and fits in vipu.partitions(), "nothing of it is touched while it lives"
    job.delete()
    until(lambda: fits not in vipu.partitions(), "it is given back with its job", tell=world.tell)
    assert small in vipu.partitions()


def adopted(world, vipu):
    """A job of the vendor's operator and the partition that was made its."""
    partition = f"p-theirs-{world.ns}-0"
    make(vipu, partition)
    job = vendors_job(world, "theirs")
    world.start_operator(vipu.address)
    wait_seen(world, partition)
    assert verb(world, "adopt", partition, "--job", f"{world.ns}/theirs").returncode == 0
    return job, partition


def test_an_adopted_job_restarts_on_another_partition(world, vipu):
    job, partition = adopted(world, vipu)
    job.annotate(**{"graphcore.ai/adopt": "true"})
    job.run_pods(1)
    job.wait("Running")
    until(lambda: partition not in vipu.partitions(), "the old one is given back", tell=world.tell)
    assert len(vipu.partitions()) == 1


def test_the_operator_is_needed_until_an_adopted_partition_is_released(world, vipu):
    job, partition = adopted(world, vipu)
    for flags in ((), ("--drain",)):
        rejected = before_uninstall(world, *flags)
        assert rejected.returncode == 1 and rejected.stdout == ""
        assert rejected.stderr == ("ipu-operator: cannot uninstall: partitions held for IPUJobs of the vendor's operator, which cannot be suspended: "
                                  f"{partition} ({world.ns}/theirs); delete these IPUJobs, then uninstall again\n")
    assert job.status == VENDORS and "suspend" not in job.get()["spec"]
    world.operator.end()
    job.delete()
    job.wait_gone()
    late = before_uninstall(world, "--seconds", "10")
    assert late.returncode == 1
    assert f"timed out after 10 s waiting for the release of partitions: {partition} ({world.ns}/theirs); check" in late.stderr
    world.operator.start().until_working()
    done = before_uninstall(world, "--seconds", "120")
    assert (done.returncode, done.stderr) == (0, "") and "Ready to uninstall" in done.stdout
    assert not vipu.partitions()
    world.restart_operator()


@pytest.mark.parametrize("words, complaint", [
    (("release",), "missing partition ID"), (("adopt",), "missing partition ID"),
    (("release", "a", "b"), 'unexpected argument "b"'), (("partitions", "a"), 'unexpected argument "a"')])
def test_a_wrong_command_line(words, complaint):
    done = operator_program.run(*words)
    assert done.returncode == 2 and complaint in done.stderr
