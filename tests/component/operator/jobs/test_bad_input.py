"""Bad input gets every reason at once, takes no IPUs, costs no requests while it stands, and is judged anew."""

import json

import pytest

from kube_api import Rejected
from operator_program import run
from waiting import until
from world import INVALID, container, pod_template

RENEWALS = 3
TEMPLATE_MAX = 64 * 1024
FORBIDDEN = 403


def renewals(seen):
    return [request for request in seen if request.is_lease and request.is_write]


def requests_while_renewing(world, proxy, count=RENEWALS):
    """What it sends for jobs, so beside watches, lease and the state of V-IPU controllers, until the lease was renewed that
    many times. What the last change led to may be on its way still, so it counts from the next renewal on."""
    mark = proxy.mark()
    until(lambda: renewals(proxy.since(mark)), "the lease is renewed", tell=world.tell)
    mark = proxy.mark()
    until(lambda: len(renewals(proxy.since(mark))) >= count, "the lease is renewed", tell=world.tell)
    return [str(request) for request in proxy.since(mark) if not request.is_watch and not request.is_lease
            and "vipucontrollers" not in request.path]


@pytest.fixture
def proxy(world, vipu):
    proxy = world.make_api_proxy()
    world.start_operator(vipu.address, proxy=proxy)
    return proxy


@pytest.fixture
def creates(world, vipu):
    """How many partitions were asked for."""
    seen = []
    front = world.make_vipu_proxy(vipu)
    front.before = lambda method, request: method != "CreatePartition" or seen.append(request) or True
    world.start_operator(front.address)
    return lambda: len(set(seen))  # the same one twice when its answer was late


def test_what_slips_through_the_schema_fails_with_every_reason(world, vipu, proxy):
    own = {"spec": {"containers": [container(name="launcher")]}}
    workers = pod_template({"name": "main", "image": "docker.io/library/train:1", "args": ["train"]})
    job = world.job("wrong", launcher={"command": ["mpirun"], "template": own}, workers={"template": workers})
    failed = job.wait("Failed", "InvalidSpec")
    for template, field in (("launcher", "command"), ("workers", "args")):
        assert f"spec.{template}.template.spec.containers[0].{field}: Forbidden: " in failed["lastMessage"]
    assert job.condition("Failed")["message"] == failed["lastMessage"]
    assert job.pods() == {} and job.records() == {} and vipu.partitions() == {}
    assert requests_while_renewing(world, proxy) == []


WRONG = [
    ("ipusPerJobInstance", "3"), ("ipusPerJobInstance", "0"), ("ipusPerJobInstance", "-4"), ("ipusPerJobInstance", 4.5),
    ("ipusPerJobInstance", "many"), ("ipusPerJobInstance", "96"), ("ipusPerJobInstance", None),
    ("workersPerJobInstance", "8"), ("workersPerJobInstance", "0"), ("modelReplicasPerWorker", "3"),
    ("restartPolicy", {"type": "Sometimes"}), ("restartPolicy", {"type": "ExitCode", "exitCodes": "1-900"}), ("restartPolicy", {"type": "ExitCode"}),
]
BROKEN_WORKERS = [{}, {"template": {}}, {"template": "text"}, {"template": {"spec": {"containers": []}}},
                  {"template": {"spec": {"containers": [{}]}}}, {"template": {"spec": {"containers": {"a": 1}}}}, 7]


def test_the_operator_rejects_what_an_old_definition_let_through(world, vipu):
    """A resource definition from before these rules were in it; and none of these jobs disturbs another."""
    world.start_operator(vipu.address)
    with world.lenient_definition():
        jobs = [(field, world.job(f"wrong-{n}", **{field: value})) for n, (field, value) in enumerate(WRONG)]
        jobs += [("workers", world.job(f"broken-{n}", workers=value)) for n, value in enumerate(BROKEN_WORKERS)]
        for field, job in jobs:
            reported = job.wait("Failed", "InvalidSpec")["lastMessage"]
            assert f"spec.{field}" in reported or "spec.ipusPerJobInstance" in reported
            assert job.pods() == {} and job.condition("Failed")["message"] == reported
        both = world.job("several", ipusPerJobInstance="x", workersPerJobInstance="y", modelReplicasPerWorker="z")
        reported = both.wait("Failed", "InvalidSpec")["lastMessage"]
        fields = ("ipusPerJobInstance", "workersPerJobInstance", "modelReplicasPerWorker")
        assert [field in reported for field in fields] == [True] * 3
    assert vipu.partitions() == {} and world.records() == {}
    good = world.job("good")
    world.kubelet.succeed(good.run_pods(1)["good-worker-0"])
    good.wait("Completed")
    for _, job in jobs:
        job.delete()
        job.wait_gone()


LONGEST = "n" * 60 + "-63"


@pytest.mark.parametrize("name", [LONGEST, "v1.2", "2nd"], ids=["longest", "dots", "digit"])
def test_every_name_works_that_can(world, vipu, name):
    """The API server takes the pods, their Service and their keys, and the host names tell the pods apart."""
    world.start_operator(vipu.address)
    world.automatic()
    meeting = world.job(name, jobInstances=2, workersPerJobInstance="2")
    pods = meeting.wait_pods(4)
    hosts = {pod["spec"]["hostname"] for pod in pods.values()}
    service = pods[f"{name}-worker-0"]["spec"]["subdomain"]
    assert len(hosts) == 4 and all(len(host) <= 63 and "." not in host for host in hosts)
    owner = world.api.get("services", world.ns, service)["metadata"]["ownerReferences"][0]
    assert owner["uid"] == meeting.uid
    meeting.wait("Running")
    meeting.delete()
    meeting.wait_gone()
    led = world.job(name, workersPerJobInstance="2", launcher={"command": ["mpirun", "train"]})
    launcher = until(lambda: led.pods().get(f"{name}-launcher"), "the launcher", tell=world.tell)
    aliases = {alias for entry in launcher["spec"]["hostAliases"] for alias in entry["hostnames"]}
    workers = [led.pods()[f"{name}-worker-{n}"]["spec"] for n in (0, 1)]
    assert aliases == {spec.get("hostname", f"{name}-worker-{n}") for n, spec in enumerate(workers)}


def test_a_longer_name_is_rejected_by_the_api_server(world):
    with pytest.raises(Exception, match="metadata.name must be no more than 63 characters"):
        world.job(LONGEST + "4")


def test_a_large_template_reaches_the_pod_as_it_is(world, vipu):
    world.start_operator(vipu.address)
    main = container(env=[{"name": f"TEXT_{n}", "value": f"{n} żółw 龜 🐢 \\ \" \t\n" + "x" * 200} for n in range(120)],
                     args=["--", "$(TEXT_0)", "$$", "ü" * 5000])
    template = pod_template(main, tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2**63 - 1}])
    template["metadata"] = {"annotations": {"example.com/note": "é\u2028" * 2000}}
    assert 50_000 < len(json.dumps(template, ensure_ascii=False).encode()) < TEMPLATE_MAX
    job = world.job("large", workers={"template": template})
    pod = job.wait_pods(1)["large-worker-0"]
    made = pod["spec"]["containers"][0]
    assert made["env"][:120] == main["env"] and made["args"] == main["args"]
    assert pod["metadata"]["annotations"]["example.com/note"] == template["metadata"]["annotations"]["example.com/note"]
    assert pod["spec"]["tolerations"][0] == template["spec"]["tolerations"][0]


def test_a_template_that_is_too_large_is_answered_in_the_status(world, creates):
    job = world.job("large", workers={"template": pod_template(container(args=["x" * TEMPLATE_MAX]))})
    reported = job.wait("Failed", "InvalidSpec")["lastMessage"]
    assert "spec.workers.template: Forbidden: has 65 KiB as JSON, limit 64 KiB; put large values into a ConfigMap" in reported
    assert job.pods() == {} and creates() == 0


def test_more_ipus_than_any_controller_has(world, creates):
    job = world.job("huge", ipusPerJobInstance="128")
    reported = job.wait("Pending", "ExceedsCapacity")["lastMessage"]
    assert "128" in reported and "has 64" in reported
    small = world.job("small")
    small.wait_pods(1)
    assert job.records() == {} and creates() == 1


def test_a_rejected_template_names_the_field_and_takes_no_ipus(world, creates):
    wrong = container(image=" ", resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                      ports=[{"containerPort": 99999}])
    job = world.job("rejected", workers={"template": pod_template(wrong)})
    failed = job.wait("Failed", "InvalidPodTemplate")
    for field in ("image", "resources.requests", "ports[0].containerPort"):
        assert f"spec.workers.template.spec.containers[0].{field}" in failed["lastMessage"]
    assert "spec.workers.template" in job.condition("Failed")["message"]
    assert job.records() == {} and creates() == 0


def test_a_rejected_template_is_checked_again_when_it_changes(world, vipu, proxy):
    job = world.job("mended", workers={"template": pod_template(container(image=" "))})
    job.wait("Failed", "InvalidPodTemplate")
    assert requests_while_renewing(world, proxy) == [], "no hot loop"
    assert vipu.partitions() == {}
    job.patch({"spec": {"workers": {"template": pod_template(container(ports=[{"containerPort": 0}]))}}})
    until(lambda: "ports[0]" in job.status.get("lastMessage", ""), "the new reason", tell=world.tell)
    assert job.status["observedGeneration"] == 2
    job.patch({"spec": {"workers": {"template": pod_template()}}})
    world.kubelet.succeed(job.run_pods(1)["mended-worker-0"])
    done = job.wait("Completed")
    assert done["observedGeneration"] == 3 and job.condition("Failed")["status"] == "False"
    job.wait_released()


def test_a_quota_is_waited_for_without_ipus(world, vipu, proxy):
    world.api.create("resourcequotas", world.ns, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    until(lambda: world.api.get("resourcequotas", world.ns, "none").get("status", {}).get("hard"), "the quota counts")
    job = world.job("quota")
    reported = job.wait("Pending", "QuotaExceeded")["lastMessage"]
    assert "exceeded quota: none" in reported
    sent = requests_while_renewing(world, proxy)
    assert len(sent) <= 1 and all("dryRun" in line for line in sent), "asked again now and then, and nothing else"
    assert vipu.partitions() == {} and job.records() == {}
    world.api.delete("resourcequotas", world.ns, "none")
    job.run_pods(1)
    job.wait("Running")


def test_a_job_that_a_quota_takes_in_part_leaves_its_ipus_to_others(world, vipu):
    world.api.create("resourcequotas", world.ns, {"metadata": {"name": "three"}, "spec": {"hard": {"pods": "3"}}})
    until(lambda: world.api.get("resourcequotas", world.ns, "three").get("status", {}).get("hard"), "the quota counts")
    world.start_operator(vipu.address)
    crowd = world.job("crowd", workersPerJobInstance=4, ipusPerJobInstance="64")
    reported = crowd.wait("Pending", "QuotaExceeded")
    assert "Instance 0 could not start; IPUs released" in reported["lastMessage"] and "exceeded quota: three" in reported["lastMessage"]
    assert reported["stuckSince"]
    until(lambda: crowd.pods() == {} and crowd.records() == {} and vipu.partitions() == {}, "all is taken back", tell=world.tell)
    pair = world.job("pair", workersPerJobInstance=2, ipusPerJobInstance="64")
    for pod in pair.run_pods(2).values():
        world.kubelet.succeed(pod)
    pair.wait("Completed")
    world.api.patch("resourcequotas", world.ns, "three", {"spec": {"hard": {"pods": "4"}}})
    crowd.wait_pods(4, 300)
    crowd.run_pods(4)
    assert crowd.wait("Running")["restartCount"] == 0


def test_a_limit_range_asks_of_the_program_alone(world, vipu):
    """What the operator adds to the pod asks for what the program asks for."""
    least, most = {"cpu": "300m", "memory": "200Mi"}, {"cpu": "1", "memory": "200Mi"}
    world.api.create("limitranges", world.ns, {"metadata": {"name": "large"}, "spec": {"limits": [
        {"type": "Container", "min": least, "maxLimitRequestRatio": {"cpu": "4"}}]}})
    world.start_operator(vipu.address)
    world.automatic()
    small = world.job("small", workers={"template": pod_template(container(resources={"requests": {"memory": "100Mi"}}))})
    assert "minimum memory usage per Container is 200Mi" in small.wait("Pending", "PodsForbidden")["lastMessage"]
    world.job("large", workers={"template": pod_template(container(resources={"requests": least, "limits": most}))}).wait("Running")


def rejects_pods(world, status):
    body = {"metadata": {"name": "any"}, "spec": {"containers": [container()]}}
    try:
        world.api.request("POST", world.api.path("pods", world.ns) + "?dryRun=All", body)
    except Rejected as rejected:
        return rejected.status == status
    return False


@pytest.mark.since_kubernetes(1, 30)
def test_an_admission_policy_is_waited_for(world, vipu):
    """Such a policy rejects with the status of an invalid object; the pods are none."""
    name = f"no-{world.ns}"
    world.api.create("validatingadmissionpolicies", None, {"metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
        "validations": [{"expression": "has(object.metadata.labels.team)", "message": "pods name their team"}]}})
    world.api.create("validatingadmissionpolicybindings", None, {"metadata": {"name": name}, "spec": {
        "policyName": name, "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.ns}}}}})
    try:
        until(lambda: rejects_pods(world, INVALID), "the policy counts")
        world.start_operator(vipu.address)
        job = world.job("policy")
        assert "denied request: pods name their team" in job.wait("Pending", "PodsForbidden")["lastMessage"]
        assert vipu.partitions() == {} and job.records() == {}
    finally:
        world.api.delete("validatingadmissionpolicybindings", None, name)
        world.api.delete("validatingadmissionpolicies", None, name)
    job.run_pods(1)
    job.wait("Running")


def test_a_missing_service_account_is_waited_for(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("account", workers={"template": pod_template(serviceAccountName="trainer")})
    reported = job.wait("Pending", "PodsForbidden")["lastMessage"]
    assert 'serviceaccount "trainer" not found' in reported
    assert vipu.partitions() == {}
    world.api.create("serviceaccounts", world.ns, {"metadata": {"name": "trainer"}})
    assert job.wait_pods(1)["account-worker-0"]["spec"]["serviceAccountName"] == "trainer"


def test_a_pod_of_another_owner_is_not_adopted(world, vipu):
    world.start_operator(vipu.address)
    theirs = world.api.create("pods", world.ns, {
        "metadata": {"name": "taken-worker-0", "labels": {"graphcore.ai/job-name": "taken"}},
        "spec": {"containers": [container()]}})
    job = world.job("taken")
    reported = job.wait("Pending", "NameConflict")["lastMessage"]
    until(lambda: "NameConflict" in job.reasons_reported(), "an event tells it", tell=world.tell)
    assert job.condition("PodsReady")["reason"] == "NameConflict"
    assert "pod taken-worker-0 already exists and is not owned by this job" in reported
    now = world.api.get("pods", world.ns, "taken-worker-0")
    assert now["metadata"]["uid"] == theirs["metadata"]["uid"] and "ownerReferences" not in now["metadata"]
    world.api.delete("pods", world.ns, "taken-worker-0", gracePeriodSeconds=0)
    until(lambda: (pod := world.api.get("pods", world.ns, "taken-worker-0")) and pod["metadata"].get("ownerReferences"),
          "our own pod", tell=world.tell)


def test_a_service_of_another_owner_is_not_adopted(world, vipu):
    world.start_operator(vipu.address)
    theirs = world.api.create("services", world.ns, {"metadata": {"name": "shared-workers"},
                                                     "spec": {"ports": [{"port": 80}]}})
    job = world.job("shared", workersPerJobInstance=2)
    reported = job.wait("Pending", "NameConflict")["lastMessage"]
    assert "Service shared-workers already exists and is not owned by this job" in reported
    now = world.api.get("services", world.ns, "shared-workers")
    assert now["metadata"]["uid"] == theirs["metadata"]["uid"] and "ownerReferences" not in now["metadata"]
    world.api.delete("services", world.ns, "shared-workers")
    job.wait_pods(2)
    assert world.api.get("services", world.ns, "shared-workers")["metadata"]["ownerReferences"][0]["uid"] == job.uid


def test_pod_security_is_waited_for_without_ipus(world, vipu):
    world.start_operator(vipu.address)
    level = "pod-security.kubernetes.io/enforce"
    world.api.patch("namespaces", None, world.ns, {"metadata": {"labels": {level: "restricted"}}})
    until(lambda: rejects_pods(world, FORBIDDEN), "the level counts")
    job = world.job("privileged")
    reported = job.wait("Pending", "PodSecurityViolation")["lastMessage"]
    assert 'violates PodSecurity "restricted' in reported
    assert vipu.partitions() == {} and job.records() == {}
    world.api.patch("namespaces", None, world.ns, {"metadata": {"labels": {level: None}}})
    job.wait_pods(1)


def test_a_restart_policy_in_the_template_is_warned_of(world, vipu):
    world.start_operator(vipu.address)
    job = world.job("template", workers={"template": pod_template(restartPolicy="OnFailure")})
    pod = job.wait_pods(1)["template-worker-0"]
    assert pod["spec"]["restartPolicy"] == "Never"
    event = until(lambda: next((e for e in job.events() if e["reason"] == "RestartPolicyIgnored"), None),
                  "a warning", tell=world.tell)
    assert event["type"] == "Warning"


def test_a_record_of_another_owner_is_not_adopted(world, vipu):
    world.start_operator(vipu.address)
    name = f"p-booked-{world.ns}-0"
    world.api.create("configmaps", "ipu-system", {"metadata": {"name": name}, "data": {"what": "something else"}})
    world.keep(name, lambda: world.api.delete("configmaps", "ipu-system", name))
    job = world.job("booked")
    pod = job.wait_pods(1)["booked-worker-0"]
    assert pod["metadata"]["annotations"]["graphcore.ai/partition"] not in ("", name)
    assert world.api.get("configmaps", "ipu-system", name)["data"] == {"what": "something else"}


# The command line and its files.


def one_line(done):
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr.strip()


def test_unknown_options_are_named():
    done = run("--no-such-flag", "--log-level", "loud", "--health-port", "many")
    assert done.returncode == 2 and "no-such-flag" in done.stderr
    assert "loud" in run("--log-level", "loud").stderr
    assert "65535" in run("--health-port", "65536").stderr
    assert "stray" in run("stray").stderr


def test_every_mistake_of_the_command_line_at_once(tmp_path):
    """One that is not known, or has no fitting value, hides none of the others, nor those in the file."""
    path = tmp_path / "controllers.yaml"
    path.write_text("vipuControllers: [a:x]\nvipuContrlers: x\n")
    done = run("--no-such-flag", "--log-level", "loud", "stray", "--partition-prefix", "-P-", "--health-port", "many",
               "--launcher-pull-policy", "Sometimes", "--config", path, "--context")
    words = ("--no-such-flag", '"stray"', '"many"', "--context requires a value", '"Sometimes"', '"loud"', '"-P-"', '"vipuContrlers"',
             '"x"')
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == len(words), lines
    assert [word for word, line in zip(words, lines) if word not in line] == [], lines


@pytest.mark.parametrize("text, line, words", [
    ("vipuControllers: [{host: a, port: 99999}]\n", 1, "port"),
    ("vipuControllers:\n- host: a\n- {port: 8090}\n", 3, "host"),
    ("vipuControllers: \"a:8090\"\nvipuContrlers: x\n", 2, "vipuContrlers"),
    ("vipuControllers: {a: b}\n", 1, "string or a list"),
    ("vipuControllers: [a\nb: [\n", 2, ""),
    ("vipuControllers: \"a:1,a:1\"\n", 1, "listed twice"),
])
def test_a_bad_configuration_file_is_one_line(tmp_path, text, line, words):
    path = tmp_path / "controllers.yaml"
    path.write_text(text)
    output = one_line(run("--config", path))
    assert f"{path}: line {line}" in output and words in output


def test_unreadable_files_are_named(tmp_path):
    missing = tmp_path / "nothing"
    assert str(missing) in one_line(run("--config", missing))
    assert str(missing) in one_line(run("--kubeconfig", missing))
    folder = tmp_path / "folder"
    folder.mkdir()
    assert str(folder) in one_line(run("--kubeconfig", folder))


@pytest.mark.parametrize("text, line, words", [
    ("clusters: [\n", 2, ""),
    ("current-context: a\ncontexts: []\n", None, "a"),
    ("current-context: a\ncontexts:\n- name: a\n  context: {cluster: b, user: c}\n", None, "b"),
])
def test_a_bad_kubeconfig_is_one_line(tmp_path, text, line, words):
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    output = one_line(run("--kubeconfig", path))
    assert str(path) in output and words in output
    assert line is None or f"line {line}" in output
