"""The admission webhooks: the API server asks the operator, at the configurations of the chart, by URL."""

import base64
import contextlib
import http.client
import json
import ssl
import threading

import pytest

from kube_api import Rejected
from operator_program import Operator
from ports import free_port
from waiting import until
from world import OPERATOR_NS, container, pod_template

NAME = "ipu-operator-admission"
WITH_WEBHOOKS = ("--set", "admissionWebhooks.enabled=true")
CONFIGS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
VALIDATE = "/validate-graphcore-ai-v1alpha1-ipujob"
LOADERS = 8


class Webhooks:
    """The chart's webhooks, with an operator behind them."""

    def __init__(self, world, *flags, values=WITH_WEBHOOKS, proxy=None, secret=NAME, controllers=()):
        self.world, self.api, self.port, self._secret = world, world.api, free_port(), secret
        world.cluster.grant(*values)
        for item in world.cluster.rendered(*values):
            if item["kind"] == "Secret":
                self.api.apply("secrets", OPERATOR_NS, item)
            elif item["kind"].endswith("WebhookConfiguration"):
                for hook in item["webhooks"]:
                    path = hook["clientConfig"].pop("service")["path"]
                    hook["clientConfig"]["url"] = f"https://localhost:{self.port}{path}"
                self.api.apply(item["kind"].lower() + "s", None, item)
        world.start_operator(controllers or [], *self.flags(self.port), *flags, proxy=proxy)
        self.until_asked()

    @staticmethod
    def flags(port):
        return "--admission", NAME, "--admission-hosts", "localhost", "--admission-port", port, "--log-level", "debug"  # see well_judged

    def remove(self):
        """The operator first: it must not ask for what it no longer may."""
        self.world.operator.end()
        for config in CONFIGS:
            self.api.delete(config, None, NAME)
        self.api.delete("secrets", OPERATOR_NS, NAME)
        self.world.cluster.grant()
        until(lambda: self._says() == "", "the webhooks are not called any more", tell=self._says)

    def _says(self, **spec):
        """What the API server says to a new job; "" if it is not even filled in."""
        try:
            filled = create(self, job("trial-of-webhooks", **spec), "?dryRun=All")["spec"].get("cleanPodPolicy")
        except Rejected as rejected:
            return rejected.body["message"]
        return "filled in" if filled else ""

    def until_asked(self):
        """The API server learns of a changed configuration, and of a changed CA, in its own time."""
        wrong = {"template": pod_template({"name": "train"})}
        until(lambda: self._says() == "filled in" and "denied the request" in self._says(**wrong), "both webhooks are asked",
              tell=lambda: f"{self._says()}\n{self._says(**wrong)}\n{self.world.tell()}")

    def bundles(self):
        return [hook["clientConfig"].get("caBundle") for config in CONFIGS
                for hook in self.api.get(config, None, NAME)["webhooks"]]

    def trust(self, bundle):
        for config in CONFIGS:
            self.api.request("PATCH", self.api.path(config, None, NAME), [
                {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}], "application/json-patch+json")

    def secret(self):
        return self.api.get("secrets", OPERATOR_NS, self._secret).get("data") or {}

    def empty_secret(self):
        self.api.patch("secrets", OPERATOR_NS, NAME, {"data": None})

    def shown(self, port=None):
        """The certificate that a server shows, as PEM."""
        return ssl.get_server_certificate(("127.0.0.1", port or self.port), timeout=30)

    def kept(self):
        return base64.b64decode(self.secret().get("tls.crt", "")).decode()

    @contextlib.contextmanager
    def connection(self, port=None):
        """To the server itself, as the API server has one."""
        trusted = ssl.create_default_context(cadata=base64.b64decode(self.secret()["ca.crt"]).decode())
        with contextlib.closing(http.client.HTTPSConnection("localhost", port or self.port, context=trusted, timeout=30)) as it:
            yield it

    def verdict(self, job, port=None, ns=None, old=None):
        request = {"uid": "u", "namespace": ns or self.world.ns, "object": job, "oldObject": old}
        with self.connection(port) as connection:
            connection.request("POST", VALIDATE, json.dumps({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
            answer = connection.getresponse()
            text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)["response"]


@pytest.fixture(scope="module")
def webhooks(shared_world):
    webhooks = Webhooks(shared_world)
    yield webhooks
    webhooks.remove()


def job(name="judged", template=None, **spec):
    whole = {"jobInstances": 1, "ipusPerJobInstance": "4", "workers": {"template": template or pod_template()}, **spec}
    return {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": name}, "spec": whole}


def create(webhooks, body, query=""):
    return webhooks.api.request("POST", webhooks.api.path("ipujobs", webhooks.world.ns) + query, body)


CANNOT_SAY = "cannot validate the job's pods with the API server"


def well_judged(operator, judge):
    """The judgement. Who has no answer of the API server within a second lets pass what it could not judge: then once more."""
    def in_time():
        before = operator.log().count(CANNOT_SAY)
        found = judge()
        return operator.log().count(CANNOT_SAY) == before and [found]
    return until(in_time, "a judgement", tell=operator.tail)[0]


def causes(webhooks, body, webhook="vipujob"):
    """What is wrong with it, by field. A job whose mistakes the API server would find is rejected by the mutating webhook."""
    def rejection():
        try:
            return create(webhooks, body, "?dryRun=All") and None
        except Rejected as rejected:
            return rejected
    rejected = well_judged(webhooks.world.operator, rejection)
    assert rejected and rejected.status == 422
    assert f'admission webhook "{webhook}.graphcore.ai" denied the request' in rejected.body["message"]
    return {cause["field"]: cause["message"] for cause in rejected.body["details"]["causes"]}


def test_defaults_are_filled_in_and_given_values_stay(webhooks):
    spec = create(webhooks, job("open", ipusPerJobInstance=4))["spec"]
    assert spec["ipusPerJobInstance"] == "4"
    assert spec["restartPolicy"] == {"type": "Never", "backOffLimit": 3}
    assert spec["cleanPodPolicy"] == "None"
    given = {"restartPolicy": {"type": "Always", "backOffLimit": 7}, "cleanPodPolicy": "All"}
    spec = create(webhooks, job("given", **given))["spec"]
    assert {field: spec[field] for field in given} == given


def test_the_same_applied_again_changes_nothing(webhooks):
    path = webhooks.api.path("ipujobs", webhooks.world.ns, "twice") + "?fieldManager=user"
    body = json.loads(json.dumps(job("twice", ipusPerJobInstance=4)))
    first, second = (webhooks.api.request("PATCH", path, body, "application/apply-patch+yaml") for _ in range(2))
    assert first["metadata"]["generation"] == second["metadata"]["generation"] == 1


def test_server_side_apply_reports_wrong_types_and_nothing_else(webhooks):
    """The API server merges an applied object before it calls webhooks, and for that it needs the types of the CRD."""
    bad = job("typed", pod_template({"name": "train", "image": 7}), suspend="yes", jobInstances=-1, restartPolcy={})
    path = webhooks.api.path("ipujobs", webhooks.world.ns, "typed") + "?fieldManager=user"
    with pytest.raises(Rejected) as rejected:
        webhooks.api.request("PATCH", path, bad, "application/apply-patch+yaml")
    said = rejected.value.body["message"]
    assert ".spec.suspend: expected boolean, got &{yes}" in said
    assert '.spec.workers.template.spec.containers[name="train"].image: expected string' in said
    assert "jobInstances" not in said and "restartPolcy" not in said


def test_mistakes_of_all_kinds_are_named_at_once_with_their_values(webhooks):
    """Without the webhook a field that no job has is the decoder's to reject, then a type the schema's, then a rule CEL's; only
    then are pods and environments judged."""
    bad = pod_template({"name": "train", "command": "train", "imaeg": "typo", "env": [
        {"name": "A", "value": 1}, {"name": "IPUOF_VIPU_API_PARTITION_ID", "value": "mine"}], "resources": {"limits": {
            "memory": "4 GB", "graphcore.ai/ipu": "4"}}, "volumeMounts": [{"name": "none", "mountPath": "/x"}]})
    found = causes(webhooks, job(template=bad, jobInstances="two", ipusPerJobInstance="12", restartPolcy={},
                                 interactive={"ttl": 0, "unit": "s"}, activeDeadlineSeconds="60"), webhook="mipujob")
    container = "spec.workers.template.spec.containers[0]"
    assert found == {
        "spec.jobInstances": 'Invalid value: "two": must be a whole number from 0 to 10000',
        "spec.ipusPerJobInstance": 'Invalid value: "12": must be a power of two up to 64, or a multiple of 64 up to 65536',
        "spec.restartPolcy": "Forbidden: unknown field; did you mean restartPolicy?",
        "spec.interactive.ttl": "Invalid value: 0: must be a whole number of seconds from 1 to 2147483647",
        "spec.interactive.unit": "Forbidden: unknown field",
        "spec.activeDeadlineSeconds": 'Invalid value: "60": must be a whole number of seconds from 1 to 2147483647, without quotes',
        f"{container}.command": 'Invalid value: "train": must be a list of strings, such as ["sleep", "10"]',
        f"{container}.imaeg": "Forbidden: unknown field",
        f"{container}.image": "Required value",
        f"{container}.env[0].value": "Invalid value: 1: must be a string; put it in quotes",
        f"{container}.env[1].value": 'Invalid value: "mine": is set by the operator; remove it',
        f"{container}.resources.limits[memory]": 'Invalid value: "4 GB": must be a quantity such as 2, 500m or 4Gi',
        f"{container}.resources.limits[graphcore.ai/ipu]":
            "Forbidden: no node has this resource; remove it, spec.ipusPerJobInstance requests IPUs",
        f"{container}.volumeMounts[0].name": 'Not found: "none"',
    }


def test_a_change_is_rejected_with_all_of_its_mistakes(webhooks):
    create(webhooks, job("changed"))
    with pytest.raises(Rejected) as rejected:
        webhooks.api.patch("ipujobs", webhooks.world.ns, "changed", {"spec": {
            "ipusPerJobInstance": "8", "jobInstances": -1, "suspnd": True, "managedBy": "example.com/other"}})
    assert {cause["field"] for cause in rejected.value.body["details"]["causes"]} == {
        "spec.ipusPerJobInstance", "spec.jobInstances", "spec.suspnd", "spec.managedBy"}


def test_every_mistake_in_the_template_is_named_at_once(webhooks):
    bad = pod_template({"name": "train", "command": ["train"], "imaeg": "typo", "volumeMounts": [{"name": "none", "mountPath": "/x"}]},
                       dnsPolicy="Sometimes", volums=[])
    found = causes(webhooks, job(template=bad))
    template = "spec.workers.template.spec"
    assert set(found) == {f"{template}.containers[0].image", f"{template}.containers[0].imaeg", f"{template}.volums",
                          f"{template}.containers[0].volumeMounts[0].name", f"{template}.dnsPolicy"}
    assert "Required value" in found[f"{template}.containers[0].image"]


def test_values_of_wrong_types_are_named_beside_other_mistakes(webhooks):
    bad = pod_template(container(volumeMounts=[{"name": "data", "mountPath": "/a", "readOnly": "true"}]),
                       {"name": "beside", "ports": [{"containerPort": 1}, {"containerPort": "80"}], "stdni": True},
                       volumes=[{"name": "data", "emptyDir": {}}], hostNetwork="yes")
    found = causes(webhooks, job(template=bad))
    template = "spec.workers.template.spec"
    assert set(found) == {f"{template}.{field}" for field in (
        "hostNetwork", "containers[0].volumeMounts[0].readOnly", "containers[1].ports[1].containerPort", "containers[1].stdni",
        "containers[1].image")}
    assert found[f"{template}.hostNetwork"] == 'Invalid value: "yes": must be true or false'
    own = pod_template({"name": "head", "tty": "no", "volumeMounts": [{"name": "data", "mountPath": "/b", "readOnly": "true"}]})
    assert set(causes(webhooks, led(pod_template(volumes=[{"name": "data", "emptyDir": {}}]), own))) == {
        f"spec.launcher.template.spec.containers[0].{field}" for field in ("tty", "volumeMounts[0].readOnly")}


def led(template, own, name="led"):
    """A job with a launcher that has a template of its own."""
    return job(name, template, launcher={"command": ["mpirun", "train"], "template": own})


BAD_POD = {"dnsPolicy": "Sometimes", "volums": []}
BAD_CONTAINER = {"imaeg": "typo", "volumeMounts": [{"name": "none", "mountPath": "/x"}]}
BAD_FIELDS = {"dnsPolicy", "volums", "containers[0].imaeg", "containers[0].volumeMounts[0].name"}


def test_every_mistake_in_a_launchers_template_is_named_at_once(webhooks):
    template = pod_template(container(volumeMounts=[{"name": "data", "mountPath": "/data"}]), volumes=[{"name": "data", "emptyDir": {}}])
    found = causes(webhooks, led(template, pod_template({"name": "head", **BAD_CONTAINER}, **BAD_POD)))
    assert set(found) == {f"spec.launcher.template.spec.{field}" for field in BAD_FIELDS}
    assert "Unsupported value" in found["spec.launcher.template.spec.dnsPolicy"]


def test_mistakes_of_both_templates_are_named_at_once_and_none_twice(webhooks):
    """The launcher takes the workers' volumes, their network and the missing image over; its own mistakes are like theirs."""
    workers = pod_template(container(), volumes=[{"name": "data", "emptyDir": {"sizeLimit": "large"}}])
    found = causes(webhooks, led(workers, {"metadata": {"labels": {"a b": "c"}}}))
    assert set(found) == {"spec.workers.template.spec.volumes[0].emptyDir.sizeLimit", "spec.launcher.template.metadata.labels"}
    workers = pod_template({"name": "train", **BAD_CONTAINER}, **BAD_POD, volumes=[{"name": "Data", "emptyDri": {}}])
    own = pod_template({"name": "head", "volumeMounts": [{"name": "neither", "mountPath": "/y"}], "imaeg": "typo"}, **BAD_POD)
    workers["metadata"] = own["metadata"] = {"labels": {"a b": "c"}}
    found = causes(webhooks, led(workers, own))
    assert set(found) == {f"spec.workers.template.spec.{field}" for field in BAD_FIELDS | {
        "containers[0].image", "volumes[0].name", "volumes[0].emptyDri"}} | {
            f"spec.launcher.template.spec.{field}" for field in BAD_FIELDS} | {
                f"spec.{owner}.template.metadata.labels" for owner in ("workers", "launcher")}


def test_a_launchers_template_may_count_on_the_workers(webhooks):
    """Its container has no image, its mount no volume and its DNS policy no servers but theirs."""
    workers = pod_template(container(), volumes=[{"name": "data", "emptyDir": {}}], dnsConfig={"nameservers": ["192.0.2.1"]})
    own = pod_template({"name": "head", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}, dnsPolicy="None")
    assert create(webhooks, led(workers, own), "?dryRun=All")
    assert create(webhooks, led(workers, {"spec": {"nodeSelector": {"pool": "head"}}}), "?dryRun=All")
    del workers["spec"]["volumes"], workers["spec"]["dnsConfig"]
    found = causes(webhooks, led(workers, own))
    assert sorted(field.partition("spec.launcher.template.spec.")[2].partition(".")[0] for field in found) == [
        "containers[0]", "dnsConfig"]


def test_mistakes_in_the_launchers_variables_are_named(webhooks):
    with_env = led(pod_template(container(env=[{"name": "C", "value": "1"}])), {})
    with_env["spec"]["launcher"]["env"] = [{"name": "A", "valueFrom": {"secretKeyRf": {"name": "x"}}},
                                           {"name": "B", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}},
                                           {"name": "C", "vlaue": "2"}]
    assert set(causes(webhooks, with_env)) == {f"spec.launcher.env[{field}" for field in (
        "0].valueFrom", "0].valueFrom.secretKeyRf", "1].valueFrom", "1].valueFrom.fieldRef.fieldPath", "2].vlaue")}


@pytest.mark.since_kubernetes(1, 33)  # user namespaces
def test_a_quota_that_fits_the_workers_but_not_their_launcher_is_reported(webhooks):
    workers = pod_template(container(volumeDevices=[{"name": "disk", "devicePath": "/data"}]),
                           volumes=[{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}], hostNetwork=True)
    own = pod_template({"name": "head", "volumeMounts": [{"name": "x", "mountPath": "/data"}]},
                       volumes=[{"name": "x", "emptyDir": {}}], hostUsers=False)
    assert create(webhooks, job("fits", workers), "?dryRun=All")
    found = causes(webhooks, led(workers, own))
    assert {"spec.workers.template.spec.hostNetwork", "spec.workers.template.spec.containers[0].volumeDevices[0].devicePath"} <= set(found)
    assert all("(inherited by the launcher pod)" in found[field] for field in found if "workers" in field)


def test_a_changed_launchers_template_is_judged(webhooks):
    was = led(pod_template(), {"spec": {"dnsPolicy": "Default"}})
    operator = webhooks.world.operator
    reported = well_judged(operator, lambda: webhooks.verdict(led(pod_template(), {"spec": {"dnsPolicy": "Sometimes"}}), old=was))
    assert [cause["field"] for cause in reported["status"]["details"]["causes"]] == ["spec.launcher.template.spec.dnsPolicy"]
    assert webhooks.verdict(led(pod_template(), {"spec": {"dnsPolicy": "ClusterFirst"}}), old=was)["allowed"] is True
    mounting = pod_template({"name": "head", "volumeMounts": [{"name": "data", "mountPath": "/data"}]})
    was = led(pod_template(volumes=[{"name": "data", "emptyDir": {}}]), mounting)
    reported = well_judged(operator, lambda: webhooks.verdict(led(pod_template(), mounting), old=was))
    assert [cause["field"] for cause in reported["status"]["details"]["causes"]] == [
        "spec.launcher.template.spec.containers[0].volumeMounts[0].name"], "the workers' volume has gone under it"


def test_what_shapes_partitions_cannot_change(webhooks):
    reported = webhooks.verdict(job(ipusPerJobInstance="8"), old=job(ipusPerJobInstance="4"))
    assert reported["allowed"] is False and "spec.ipusPerJobInstance" in reported["status"]["message"]
    assert webhooks.verdict(job(ipusPerJobInstance="4", jobInstances=3), old=job(ipusPerJobInstance="4"))["allowed"] is True


def test_quota_accounts_and_pod_security_are_not_judged(webhooks):
    template = pod_template(container(securityContext={"privileged": True}), serviceAccountName="to-come")
    assert create(webhooks, job("later", template), "?dryRun=All")


@pytest.mark.parametrize("length, body, status", [
    (2, b"{}", 400), (9, b"no JSON {", 400), (8_000_000, b"", 413), (1_000_000_000_000, b"", 413)])
def test_what_is_no_review_is_rejected(webhooks, length, body, status):
    with webhooks.connection() as connection:
        connection.putrequest("POST", VALIDATE)
        connection.putheader("Content-Length", str(length))
        connection.endheaders(body)
        assert connection.getresponse().status == status
    assert webhooks.verdict({})["allowed"] is False


def test_a_job_that_is_nested_too_deep_is_rejected_with_the_reason(webhooks, monkeypatch):
    text = json.dumps(job(template=pod_template(more="deep"))).replace('"deep"', '{"in":' * 1100 + "1" + "}" * 1100)
    monkeypatch.setattr(json, "dumps", lambda body: text)  # which does not go so deep itself
    with pytest.raises(Rejected) as rejected:
        create(webhooks, {})
    assert "or nested deeper than 1000" in rejected.value.body["message"]


def test_a_job_of_too_many_values_is_rejected_with_their_number(webhooks):
    with pytest.raises(Rejected) as rejected:
        create(webhooks, job("many", pod_template(container(args=[""] * 100_000))), "?dryRun=All")
    assert "the job is too large: its AdmissionReview has 100" in rejected.value.body["message"]
    assert create(webhooks, job("some", pod_template(container(args=[""] * 20_000))), "?dryRun=All")


def test_pods_are_not_judged_when_the_api_server_cannot_say(webhooks):
    bad = job(template=pod_template({"name": "train"}))
    assert well_judged(webhooks.world.operator, lambda: webhooks.verdict(bad))["allowed"] is False
    assert webhooks.verdict(bad, ns="no-such-namespace")["allowed"] is True
    assert webhooks.verdict(led(pod_template(), {"spec": {"dnsPolicy": "Sometimes"}}), ns="no-such-namespace")["allowed"] is True
    webhooks.world.operator.until_logged(CANNOT_SAY)


def test_a_changed_ca_is_put_right(webhooks):
    good, other = webhooks.bundles(), base64.b64encode(base64.b64decode(webhooks.api.server.ca)).decode()
    webhooks.trust(base64.b64encode(b"rubbish").decode())
    until(lambda: webhooks.bundles() == good, "the CA is put right", tell=webhooks.world.tell)
    webhooks.trust(other)
    until(lambda: all(bundle != other for bundle in webhooks.bundles()), "the CA is there again", tell=webhooks.world.tell)
    for bundle in webhooks.bundles():
        assert base64.b64decode(bundle).startswith(base64.b64decode(good[0])), "another's goes later"
    webhooks.until_asked()
    webhooks.trust(good[0])


def test_a_standby_answers_with_the_same_certificate(webhooks, tmp_path):
    port = free_port()
    first = webhooks.world.operator
    standby = Operator(tmp_path, *first.flags[:-len(Webhooks.flags(port))], *Webhooks.flags(port), "--pod-name", "standby").start()
    try:
        until(lambda: standby.health("/readyz") == 200, "the standby is ready", tell=standby.tail)
        assert "leading" not in standby.log()
        assert webhooks.shown(port) == webhooks.shown() == webhooks.kept()
        wrong = job(template=pod_template({"name": "train"}))
        assert well_judged(standby, lambda: webhooks.verdict(wrong, port=port))["allowed"] is False
        assert webhooks.verdict(job(), port=port)["allowed"] is True
        code = standby.end()
    finally:
        standby.kill()
    standby.check_sanitizers()
    assert code == 0


class Load:
    """Jobs that are created (dry run) without a pause, on several connections; what went wrong."""

    def __init__(self, webhooks):
        self._webhooks, self._end = webhooks, threading.Event()
        self.answers, self.wrong = [0] * LOADERS, []
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(LOADERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def _run(self, number):
        while not self._end.is_set():
            try:
                create(self._webhooks, job(f"load-{number}"), "?dryRun=All")
                self.answers[number] += 1
            except Exception as wrong:  # noqa: BLE001 - whatever it is, it is what the test looks for
                self.wrong.append(wrong)

    def until_all_answered(self):
        so_far = list(self.answers)
        until(lambda: all(now > then + 5 for now, then in zip(self.answers, so_far)) or self.wrong,
              "every connection is answered", tell=self._webhooks.world.tell)

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()


def test_a_rotation_under_load_drops_no_request(webhooks):
    with Load(webhooks) as load:
        for _ in range(2):
            load.until_all_answered()
            old = webhooks.shown()
            webhooks.empty_secret()
            until(lambda old=old: webhooks.shown() not in ("", old), "a new certificate is shown", tell=webhooks.world.tell)
            load.until_all_answered()
            assert webhooks.shown() == webhooks.kept()
            assert webhooks.bundles() == [webhooks.secret()["ca.crt"]] * 2
            assert webhooks.secret()["tls.key"] not in webhooks.world.operator.log()
    assert load.wrong == []


def test_a_secret_that_goes_with_its_release_is_not_made_again(webhooks):
    """`helm uninstall` takes policy, configurations and Secret away while the operator ends, however long that takes; a Secret
    that came back would stand in the way of the next release."""
    api, world = webhooks.api, webhooks.world
    api.delete("validatingadmissionpolicybindings", None, f"{OPERATOR_NS}-ipu-operator-controller")
    configurations = {config: api.get(config, None, NAME) for config in CONFIGS}
    for config in CONFIGS:
        api.delete(config, None, NAME)
    api.delete("secrets", OPERATOR_NS, NAME)
    world.operator.until_logged("no webhook configurations found, not creating the certificate Secret")
    assert api.get("secrets", OPERATOR_NS, NAME) is None
    for config, was in configurations.items():
        api.create(config, None, {"metadata": {"name": NAME}, "webhooks": was["webhooks"]})
    until(lambda: api.get("secrets", OPERATOR_NS, NAME), "it is created again in a namespace that stays", tell=world.tell)
    until(lambda: webhooks.shown() == webhooks.kept(), "and shown", tell=world.tell)
    api.delete("secrets", OPERATOR_NS, NAME)
    world.operator.end()
    assert api.get("secrets", OPERATOR_NS, NAME) is None
    world.start_operator([], *webhooks.flags(webhooks.port))
    until(lambda: api.get("secrets", OPERATOR_NS, NAME), "it is made by who begins without one", tell=world.tell)
    until(lambda: webhooks.shown() == webhooks.kept(), "and shown", tell=world.tell)
    world.cluster.grant(*WITH_WEBHOOKS)


def test_without_an_operator_nothing_but_ipujobs_waits(webhooks):
    """It is dead, and the CA is another's."""
    api, ns = webhooks.api, webhooks.world.ns
    webhooks.until_asked()
    made = create(webhooks, job("going"))
    api.patch("ipujobs", ns, "going", {"metadata": {"finalizers": ["example.com/held"]}})
    webhooks.world.operator.kill()
    webhooks.trust(base64.b64encode(base64.b64decode(api.server.ca)).decode())
    with pytest.raises(Rejected) as rejected:
        create(webhooks, job("rejected"))
    assert "mipujob.graphcore.ai" in rejected.value.body["message"]
    api.create("configmaps", ns, {"metadata": {"name": "unrelated"}})
    api.patch("ipujobs", ns, "going", {"metadata": {"labels": {"a": "b"}}})
    api.delete("ipujobs", ns, "going")
    going = api.get("ipujobs", ns, "going")
    assert going["metadata"]["uid"] == made["metadata"]["uid"] and going["metadata"]["deletionTimestamp"]
    api.patch("ipujobs", ns, "going", {"metadata": {"finalizers": None}})
    assert api.get("ipujobs", ns, "going") is None
    webhooks.world.restart_operator()
    webhooks.until_asked()
    assert create(webhooks, job("again"))
