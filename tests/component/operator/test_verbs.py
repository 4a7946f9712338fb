"""The verbs of ipu-operator for admins: what stands between an operator and its end, and what of it is dead."""

import json
import re
import subprocess

import operator_program
import yaml
from ports import own_address
from test_admission import NAME, Webhooks
from waiting import until
from world import LEASE, OPERATOR_NS, RECORD, container

LOST_LEASE = 1


def before_uninstall(world, *flags):
    return subprocess.run(
        [operator_program.program(), "before-uninstall", "--kubeconfig", world.kubeconfig(), "--namespace", OPERATOR_NS,
         "--watch-namespace", world.ns, *flags],
        capture_output=True, text=True, timeout=150, env=operator_program.environment())


def test_live_jobs_are_named_and_left_alone(world, vipu):
    world.start_operator(vipu.address)
    holds, waits = world.job("holds", ipusPerJobInstance="64"), world.job("waits")
    holds.run_pods(1)
    holds.wait("Running")
    waits.wait("Pending", "InsufficientIPUs")
    for number in range(9):
        world.job(f"more-{number}").wait("Pending")
    done = before_uninstall(world)
    assert done.returncode == 1 and done.stdout == ""
    assert "11 IPUJobs using or waiting for IPUs: " in done.stderr and " and 1 more; " in done.stderr
    assert f"{world.ns}/holds (Running)" in done.stderr
    assert holds.is_in("Running") and "suspend" not in holds.get()["spec"]


def check_over(world):
    """The operator has ended, and another one begins nothing as long as it takes to delete it: new jobs are free to go."""
    until(lambda: not world.operator.is_alive(), "the operator has ended", tell=world.tell)
    assert world.operator.process.returncode == LOST_LEASE
    world.operator.start()
    late = world.job("late")
    until(lambda: world.operator.health("/readyz") == 200, "it stands by", tell=world.tell)
    assert world.lease()["spec"]["holderIdentity"] == "before-uninstall"
    late.delete()
    late.wait_gone(10)
    world.operator.kill()


def test_drained_jobs_need_no_operator(world, vipu):
    world.start_operator(vipu.address)
    holds, waits = world.job("holds", ipusPerJobInstance="64"), world.job("waits")
    holds.run_pods(1)
    holds.wait("Running")
    waits.wait("Pending", "InsufficientIPUs")
    world.automatic()
    done = before_uninstall(world, "--drain", "--seconds", "120")
    assert (done.returncode, done.stderr) == (0, "") and "Ready to uninstall" in done.stdout
    for job in (holds, waits):
        assert job.is_in("Suspended") and not job.get()["metadata"].get("finalizers")
    assert vipu.partitions() == {}
    check_over(world)
    waits.delete()
    waits.wait_gone()
    world.restart_operator()
    holds.patch({"spec": {"suspend": False}})
    holds.wait("Running")
    assert holds.get()["metadata"]["finalizers"]


def test_without_an_operator_nothing_is_waited_for_without_end(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("holds")
    job.run_pods(1)
    job.wait("Running")
    world.operator.end()
    done = before_uninstall(world, "--drain", "--seconds", "10")
    assert done.returncode == 1
    assert "timed out after 10 s waiting for 1 IPUJob to stop: " in done.stderr and f"{world.ns}/holds (Running)" in done.stderr
    assert job.get()["spec"]["suspend"] is True
    world.automatic()
    world.operator.start().until_working()
    assert before_uninstall(world, "--seconds", "120").returncode == 0, "it was on its way already"
    world.restart_operator()


def test_an_annotation_asks_for_the_same(world, vipu):
    """Who was rejected by Helm cannot change what the release says, until it is rolled back."""
    world.start_operator(vipu.address)
    job = world.job("holds")
    job.run_pods(1)
    job.wait("Running")
    world.automatic()
    asks = ("--drain-asked-by", "controllers", "--seconds", "120")
    rejected = before_uninstall(world, *asks)
    assert rejected.returncode == 1
    assert f"kubectl -n {OPERATOR_NS} annotate configmap controllers graphcore.ai/drain=true\n" in rejected.stderr
    assert "suspend" not in job.get()["spec"]
    world.api.create("configmaps", OPERATOR_NS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "controllers", "annotations": {"graphcore.ai/drain": "true"}}})
    try:
        done = before_uninstall(world, *asks)
    finally:
        world.api.delete("configmaps", OPERATOR_NS, "controllers")
    assert done.returncode == 0, done.stderr
    assert job.is_in("Suspended")
    world.restart_operator()


def test_the_lease_and_the_pod_of_helm_test_go_with_the_release(world):
    test_pod = "ipu-operator-self-check"  # the one that the operator may delete
    world.api.create("configmaps", OPERATOR_NS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "controllers"}})
    try:
        for name in (test_pod, "other"):
            world.api.create("pods", OPERATOR_NS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                                                   "spec": {"containers": [container()]}})
        for pod in (test_pod, test_pod, "other"):  # the second time it has gone
            done = before_uninstall(world, "--drain-asked-by", "controllers", "--test-pod", pod)
            assert done.returncode == 0 and ("cannot delete pod other: " in done.stderr) == (pod == "other"), done.stderr
            assert [pod["metadata"]["name"] for pod in world.api.list("pods", OPERATOR_NS)] == ["other"]
        assert world.lease(), "operators that have not ended yet must see it"
    finally:
        world.api.delete("pods", OPERATOR_NS, "other")
        world.api.delete("configmaps", OPERATOR_NS, "controllers")
    until(lambda: world.lease() is None, "the lease goes with what belongs to the release")


def test_without_the_definition_of_ipujobs_records_are_looked_at(world):
    proxy = world.make_api_proxy()

    def misdirect(seen):
        seen.target = seen.target.replace("graphcore.ai/v1alpha1", "graphcore.ai/v0")
        return True
    proxy.before = misdirect

    def ask():
        return operator_program.run("before-uninstall", "--kubeconfig", world.kubeconfig(proxy), "--namespace", OPERATOR_NS,
                                    "--seconds", "10")
    world.api.create("configmaps", OPERATOR_NS, {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "left-behind", "labels": {RECORD: "true"}},
        "data": {"controller": "vipu:8090", "jobNamespace": "", "jobName": "", "jobUid": "nobody", "releasing": "true"}})
    try:
        rejected = ask()
    finally:
        world.api.delete("configmaps", OPERATOR_NS, "left-behind")
    assert rejected.returncode == 1 and "timed out after 10 s waiting for the release of partitions: left-behind; check" in rejected.stderr
    done = ask()
    assert done.returncode == 0 and "Ready to uninstall" in done.stdout, done.stderr


def pages_of(operator):
    return "http://127.0.0.1:" + re.search(r"health_port=(\d+)", operator.log_of_this_start())[1]


def self_check(world, *flags, pages=None):
    return subprocess.run([operator_program.program(), "self-check", "--kubeconfig", world.cluster.kubeconfig, "--namespace", world.ns,
                           "--operator-url", pages or pages_of(world.operator), *flags],
                          capture_output=True, text=True, timeout=240, env=operator_program.environment())


def down_seconds(operator):
    (controller,) = json.loads(operator.ask("/controllers")[1])["controllers"]
    return controller.get("downSeconds", 0)


def test_the_self_check_says_what_is_dead(world, vipu):
    vipu.kill()
    operator = world.start_operator(vipu.address)
    done = self_check(world, "--seconds", "3")
    # On a busy machine it has not answered for some seconds by then.
    begin = rf"operator: ok\nV-IPU controllers: {vipu.address} is not responding(, for \d+ s)?: "
    assert done.returncode == 1 and re.match(begin, done.stdout), done.stdout
    until(lambda: down_seconds(operator) > 3, "it has been silent for longer", tell=world.tell)
    done = self_check(world, "--seconds", "3", "--jobs=false")
    assert done.returncode == 1 and re.search(r": .* is not responding, for \d+ s: \w", done.stdout), done.stdout
    vipu.start()  # as when both were installed at once, and the operator was faster
    done = self_check(world, "--seconds", "30")
    assert done.returncode == 0 and done.stdout == "operator: ok\nV-IPU controllers: ok\nIPUJobs: ok\n", done.stdout
    done = self_check(world, "--seconds", "3", "--admission")
    assert done.returncode == 1 and "IPUJobs: the mutating webhook was not called" in done.stdout
    done = self_check(world, "--seconds", "60", "--admission", "--jobs=false")
    assert done.returncode == 0 and done.stdout == "operator: ok\nV-IPU controllers: ok\n", "without permission to create jobs it tries none"
    pages = pages_of(operator)
    operator.end()
    done = self_check(world, "--seconds", "3", pages=pages)
    assert done.returncode == 1 and re.match("operator: .*connect.*\nV-IPU controllers: .*connect.*\nIPUJobs: ok\n$", done.stdout)


def test_the_self_check_in_another_pod_names_one_dead_controller_of_two(world, vipu):
    """There it reads the key of the page with the controllers' names from the lease."""
    other = world.make_vipu(name="other")
    operator = world.start_operator(f"{vipu.address},{other.address}")
    outside = f"http://{own_address()}:{pages_of(operator).rpartition(':')[2]}"

    def check(*flags):
        return self_check(world, "--jobs=false", "--operator-namespace", OPERATOR_NS, *flags, pages=outside)

    done = check("--lease-name", LEASE, "--seconds", "60")
    assert (done.returncode, done.stdout) == (0, "operator: ok\nV-IPU controllers: ok\n")
    done = check("--lease-name", "missing", "--seconds", "3")
    assert done.returncode == 1 and 'V-IPU controllers: cannot read the operator\'s lease: ' in done.stdout, done.stdout
    other.kill()
    until(lambda: not all(item["up"] for item in json.loads(operator.ask("/controllers")[1])["controllers"]), "one is dead", tell=world.tell)
    done = check("--lease-name", LEASE, "--seconds", "3")
    assert done.returncode == 1 and f"V-IPU controllers: {other.address} is not responding" in done.stdout, done.stdout
    assert vipu.address not in done.stdout


def test_the_self_check_asks_both_webhooks(world):
    def says(words):
        return lambda: f"IPUJobs: {words}\n" in self_check(world, "--seconds", "3", "--admission").stdout

    webhooks = Webhooks(world)
    try:
        until(says("ok"), "both are asked", tell=world.tell)
        for config, words in (("validating", "an invalid IPUJob was accepted"), ("mutating", "defaults were not set")):
            world.api.delete(f"{config}webhookconfigurations", None, NAME)
            until(says(f"the {config} webhook was not called: {words}"), f"the {config} webhook is missed", tell=world.tell)
    finally:
        webhooks.remove()
    assert world.api.list("ipujobs", world.ns) == []


def test_the_kubeconfig_may_name_a_credential_plugin(world, tmp_path):
    """As those of clouds do. The operator itself takes none: it could not wait for it."""
    answer = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": world.token}}
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    plugin.chmod(0o755)
    config = yaml.safe_load(world.kubeconfig().read_text())
    config["users"][0]["user"] = {"exec": {"apiVersion": answer["apiVersion"], "command": "./plugin", "interactiveMode": "IfAvailable"}}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))

    def ask(*words):
        return operator_program.run(*words, "--kubeconfig", path, "--namespace", OPERATOR_NS)
    done = ask("before-uninstall", "--watch-namespace", world.ns)
    assert done.returncode == 0 and "Ready to uninstall" in done.stdout, done.stderr
    rejected = ask()
    assert rejected.returncode == 2 and "are supported only by the subcommands of ipu-operator" in rejected.stderr
    plugin.write_text("#!/bin/sh\necho no session >&2; exit 1\n")
    failed = ask("before-uninstall", "--watch-namespace", world.ns)
    assert failed.returncode == 1 and f"credential plugin {tmp_path}/./plugin exited with status 1" in failed.stderr
    assert failed.stderr.startswith("no session\n"), "its own words are shown"


def test_all_mistakes_are_reported_together():
    done = operator_program.run("before-uninstall", "now", "--seconds", "0")
    assert done.returncode == 2
    assert 'unexpected argument "now"' in done.stderr and "--seconds" in done.stderr
