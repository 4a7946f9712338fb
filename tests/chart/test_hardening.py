"""What a hardened installation has beside the operator, as the chart renders it. tests/e2e/test_hardening.py has it in use."""

import re

import pytest
import yaml

from conftest import CHART
from renders import EVERYTHING, NAMESPACED
from test_templates import NO_WEBHOOKS, OPTIONAL, SIMULATED, WEBHOOKS, arguments, manager
from values_table import MAXIMAL

OPERATOR = "ipus-ipu-operator-controller"
# Authentication and authorization of clients of /metrics.
REVIEWS = {("authentication.k8s.io", "tokenreviews", "create"), ("authorization.k8s.io", "subjectaccessreviews", "create")}
HARDENED = {**SIMULATED, **yaml.safe_load((CHART / "hardened-values.yaml").read_text())}

# As on OpenShift, where the cluster chooses users; and values that look like nothing.
LEFT_TO_THE_CLUSTER = {
    "podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": 0},
    "securityContext": {"readOnlyRootFilesystem": False, "capabilities": {"add": ["CHOWN"]}}}


def rules(objects):
    """What the operator's roles allow, as (where, group, resource, verb)."""
    return {(thing["metadata"].get("namespace"), group, resource, verb)
            for (kind, name), thing in objects.items() if kind in ("Role", "ClusterRole") and not re.search("-ipujobs-|-(metrics|pages)-reader|-crd$", name)
            for rule in thing["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"]}


def labels_of(objects, deployment):
    return objects["Deployment", deployment]["spec"]["template"]["metadata"]["labels"]


def test_the_hardened_values_turn_on_all_that_is_off(render):  # noqa: F811
    kinds = {kind for kind, _ in render(HARDENED)}
    assert kinds >= {kind for kind, _ in render({**WEBHOOKS, **OPTIONAL})}
    assert render(HARDENED)["Deployment", "ipu-operator"]["spec"]["replicas"] == 2


@pytest.mark.parametrize("values", [EVERYTHING, {"fullnameOverride": "ipu", "controller": LEFT_TO_THE_CLUSTER}],
                         ids=["everything", "openshift"])
def test_hooks_run_as_the_operator_does_and_where_it_may(render, values):
    objects = render(values)
    pod = manager(objects, "ipu")
    for hook in [objects["Job", "ipu-crd"]["spec"]["template"]["spec"], objects["Pod", "ipu-self-check"]["spec"],
                 objects["Job", "ipu-before-uninstall"]["spec"]["template"]["spec"]]:
        for field in ["securityContext", "nodeSelector", "tolerations", "affinity", "imagePullSecrets"]:
            assert hook.get(field) == pod.get(field), field
        assert hook["containers"][0]["securityContext"] == pod["containers"][0]["securityContext"]


def test_security_contexts_are_the_restricted_ones_by_default(render):
    given = {"podSecurityContext": LEFT_TO_THE_CLUSTER["podSecurityContext"]}
    objects = render({"controller": LEFT_TO_THE_CLUSTER, "vipuServer": {"enabled": True, **given}})
    pod = manager(objects)
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}, "fsGroup": 0}
    assert manager(objects, "ipu-operator-vipu-server")["securityContext"] == pod["securityContext"]
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": False, "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}


def test_a_drain_takes_one_replica_at_a_time(render):
    objects = render({})
    budget = objects["PodDisruptionBudget", "ipu-operator-controller-manager"]["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert budget["selector"]["matchLabels"].items() <= labels_of(objects, "ipu-operator").items()


def test_replicas_are_spread_over_nodes_by_default(render):
    objects = render({})
    (spread,) = manager(objects)["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    assert spread["labelSelector"]["matchLabels"].items() <= labels_of(objects, "ipu-operator").items()
    (given,) = MAXIMAL["controller"]["topologySpreadConstraints"]
    everything = render(EVERYTHING)
    (made,) = manager(everything, "ipu")["topologySpreadConstraints"]
    selector = made.pop("labelSelector")
    assert made == given, "but for the pods that it counts, without which it would count none"
    assert selector["matchLabels"].items() <= labels_of(everything, "ipu").items()
    own = {**given, "labelSelector": {"matchLabels": {"a": "b"}}}
    assert manager(render({"controller": {"topologySpreadConstraints": [own]}}))["topologySpreadConstraints"] == [own]


def test_the_priority_class_is_that_of_the_operators_pods(render):
    objects = render(OPTIONAL)
    made = objects["PriorityClass", OPERATOR]
    assert (made["value"], made["globalDefault"]) == (1000000, False)
    assert manager(objects)["priorityClassName"] == OPERATOR
    other = render({"controller": {"priorityClassName": "system-cluster-critical"}})
    assert manager(other)["priorityClassName"] == "system-cluster-critical"


def test_the_api_server_distinguishes_the_operators_requests(render):
    objects = render(OPTIONAL)
    level = objects["PriorityLevelConfiguration", OPERATOR]["spec"]["limited"]
    assert level["nominalConcurrencyShares"] == 20
    flows = {name: thing["spec"] for (kind, name), thing in objects.items() if kind == "FlowSchema"}
    assert {name: flow["priorityLevelConfiguration"]["name"] for name, flow in flows.items()} == {
        OPERATOR: OPERATOR, f"{OPERATOR}-lease": "leader-election"}
    assert flows[f"{OPERATOR}-lease"]["matchingPrecedence"] < flows[OPERATOR]["matchingPrecedence"], "the first match counts"
    for flow in flows.values():
        assert flow["rules"][0]["subjects"] == [
            {"kind": "ServiceAccount", "serviceAccount": {"name": "ipu-operator-controller", "namespace": "ipus"}}]


def test_the_policy_concerns_the_operator_alone(render):
    objects = render({"controller": {"serviceAccount": {"name": "other"}}})
    policy = objects["ValidatingAdmissionPolicy", OPERATOR]["spec"]
    assert "request.userInfo.username == 'system:serviceaccount:ipus:other'" in [
        one["expression"] for one in policy["matchConditions"]], "all of them must be true"
    assert objects["ValidatingAdmissionPolicyBinding", OPERATOR]["spec"] == {
        "policyName": OPERATOR, "validationActions": ["Deny"]}


def rejections(objects):
    return " ".join(one["message"] for one in objects["ValidatingAdmissionPolicy", OPERATOR]["spec"]["validations"])


def test_the_policy_is_widened_by_values(render):
    everything = ["privileged", "hostPID", "hostPath", "nodeName"]
    strict, wide = (rejections(render({"admissionPolicy": policy})) for policy in (
        {}, {"namespaces": ["kube-system", "ipus"], "allow": everything}))
    for words in (*everything, "capability", "namespace kube-system or ipus"):
        assert words in strict and words not in wide, words
    some = render({"admissionPolicy": {"namespaces": ["ipus"], "capabilities": ["NET_ADMIN"]}})
    assert "namespace kube-system;" in rejections(some)
    listed = [one["expression"] for one in some["ValidatingAdmissionPolicy", OPERATOR]["spec"]["validations"] if "SYS_CHROOT" in one["expression"]]
    assert len(listed) == 1 and "'NET_ADMIN'" in listed[0] and "SYS_ADMIN" not in listed[0]


@pytest.mark.parametrize("controllers, labels", [
    ("a:8090:ipus=one,b:8090:ipus=two", ["object.spec.?nodeSelector[?'ipus'] == optional.of('one')",
                                         "object.spec.?nodeSelector[?'ipus'] == optional.of('two')"]),
    ("a:8090:ipus=one,b:8090", []), ("", [])], ids=["labels", "one without", "none"])
def test_the_policy_names_the_nodes_of_all_controllers(render, controllers, labels):
    objects = render({"global": {"vipuControllers": controllers}})
    found = [one["expression"] for one in objects["ValidatingAdmissionPolicy", OPERATOR]["spec"]["validations"] if "nodeSelector" in one["expression"]]
    assert len(found) == bool(labels)
    assert all(label in found[0] for label in labels)


def test_the_policy_holds_whatever_the_role_lets_make_change_or_delete(render):
    objects = render(WEBHOOKS)
    policy = objects["ValidatingAdmissionPolicy", OPERATOR]["spec"]["matchConstraints"]["resourceRules"]
    held = {(group, resource, verb.lower()) for rule in policy for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["operations"]}
    operations = {"create": "create", "patch": "update", "update": "update", "delete": "delete"}
    allowed = {(group, resource, operations[verb]) for where, group, resource, verb in rules(objects)
               if where is None and verb in operations}
    # Events, reviews and VIPUControllers say or ask something, and do nothing; jobs are its own, and deleted when their time is over.
    assert {one for one in allowed - held if one[2] != "update"} == {
        ("events.k8s.io", "events", "create"), ("graphcore.ai", "ipujobs", "delete"),
        ("graphcore.ai", "vipucontrollers", "create"), ("graphcore.ai", "vipucontrollers", "delete"), *REVIEWS}
    assert {one for one in allowed if one[1] == "pods"} <= held


def test_roles_of_users_become_part_of_the_clusters_own(render):
    objects = render({})
    for role, verbs in {"view": {"get", "list", "watch"},
                        "edit": {"create", "update", "patch", "delete", "deletecollection"},
                        "admin": {"update", "patch"}}.items():
        thing = objects["ClusterRole", f"ipus-ipu-operator-ipujobs-{role}"]
        assert thing["metadata"]["labels"][f"rbac.authorization.k8s.io/aggregate-to-{role}"] == "true"
        assert {rule["apiGroups"][0] for rule in thing["rules"]} == {"graphcore.ai"}
        assert {verb for rule in thing["rules"] for verb in rule["verbs"]} == verbs


@pytest.mark.parametrize("values, name", [(HARDENED, "ipu-operator"), (EVERYTHING, "ipu")], ids=["hardened", "everything"])
def test_every_port_of_the_charts_pods_is_in_a_network_policy(render, values, name):
    objects = render(values)
    for deployment, policy in [(name, f"{name}-controller-manager"), (f"{name}-vipu-server",) * 2]:
        spec = objects["NetworkPolicy", policy]["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert spec["podSelector"]["matchLabels"].items() <= labels_of(objects, deployment).items()
        pod = objects["Deployment", deployment]["spec"]["template"]["spec"]
        ports = {port["name"] for container in pod["containers"] for port in container["ports"]}
        assert {port["port"] for rule in spec["ingress"] for port in rule["ports"]} == ports


def test_network_policies_name_who_may_connect(render):
    nodes = [{"ipBlock": {"cidr": cidr}} for cidr in MAXIMAL["networkPolicy"]["nodeNetworks"]]
    objects = render(EVERYTHING)
    of_operator = objects["NetworkPolicy", "ipu-controller-manager"]["spec"]
    senders = [([port["port"] for port in rule["ports"]], rule["from"]) for rule in of_operator["ingress"]]
    asked, others = senders.pop(1)
    policy_values = MAXIMAL["networkPolicy"]
    assert senders == [(["health"], policy_values["pagesFrom"]), (["metrics"], policy_values["metricsFrom"]),
                       (["live-page"], policy_values["livePageFrom"]), (["webhooks"], nodes)]
    assert asked == ["health"], "which every replica and `helm test` ask"
    pods = [objects["Deployment", "ipu"]["spec"]["template"], objects["Pod", "ipu-self-check"]]
    assert len(others) == len(pods)
    for peer, pod in zip(others, pods):
        assert peer["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (to_vipu,) = objects["NetworkPolicy", "ipu-vipu-server"]["spec"]["ingress"]
    assert to_vipu["from"][2:] == nodes
    assert to_vipu["from"][0]["podSelector"]["matchLabels"].items() <= labels_of(objects, "ipu").items()
    assert to_vipu["from"][1] == {"namespaceSelector": {}, "podSelector": {"matchExpressions": [
        {"key": "graphcore.ai/job-name", "operator": "Exists"}]}}


def test_job_pods_in_the_hosts_network_reach_the_simulated_controller(render):
    def senders(**worker):
        objects = render({**HARDENED, "worker": worker})
        return objects["NetworkPolicy", "ipu-operator-vipu-server"]["spec"]["ingress"][0].get("from")

    assert senders(hostNetwork=True) is None, "they have their node's address, which no value names"
    assert len(senders(hostNetwork=False)) == 2


def test_the_operator_reaches_dns_api_servers_and_its_v_ipu_controllers(render):
    def ports(controllers):
        objects = render({**OPTIONAL, "global": {"vipuControllers": controllers}})
        policy = objects["NetworkPolicy", "ipu-operator-controller-manager"]["spec"]
        rule, replicas = policy["egress"]
        assert "to" not in rule
        assert replicas == {"ports": [{"port": "health"}], "to": [{"podSelector": policy["podSelector"]}]}
        return [port["port"] for port in rule["ports"] if port.get("protocol") != "UDP"]

    assert ports("") == [53, 443, 6443]
    assert ports("pod1,pod2:81, [fd00::1]:82:a=b,[fd00::2]") == [53, 443, 6443, 8090, 81, 82]
    assert ports([{"host": "pod1"}, {"host": "pod2", "port": 9000}]) == [53, 443, 6443, 8090, 9000]


def test_with_one_namespace_nothing_is_made_outside_of_namespaces(render):
    objects = render({**SIMULATED, **NAMESPACED})
    assert {thing["metadata"].get("namespace") for thing in objects.values()} == {"ipus", "research"}
    binding = objects["RoleBinding", "ipu-operator-jobs"]
    assert binding["metadata"]["namespace"] == "research"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "ipu-operator-controller", "namespace": "ipus"}]
    assert arguments(manager(objects))["watch-namespace"] == "research"


WIDE = {"nodes", "vipucontrollers", "vipucontrollers/status"}


def test_one_namespace_takes_the_rules_of_all_of_them_but_for_objects_of_the_cluster(render):
    everywhere = {rule for rule in rules(render(NO_WEBHOOKS)) if rule[0] is None}
    there = {rule for rule in rules(render(NAMESPACED)) if rule[0] == "research"}
    assert there == {("research", *rule[1:]) for rule in everywhere if rule[2] not in WIDE and rule[1:] not in REVIEWS}


def test_one_namespace_rejects_what_needs_more_and_names_all_of_it(helm):
    done = helm("template", {**NAMESPACED, **WEBHOOKS, **OPTIONAL})
    assert done.returncode != 0
    for value in ["admissionWebhooks.enabled", "flowSchema.enabled", "priorityClass.create"]:
        assert f"  {value}: not supported with controller.watchNamespace" in done.stderr


@pytest.mark.parametrize("helm", ["helm"], indirect=True)
@pytest.mark.parametrize("several, word", [("a,b", '"a,b" must be one namespace'), ("a b", '"a b" must be one namespace'), ("A", '"A" is not a valid namespace name')])
def test_several_namespaces_are_rejected_with_what_to_do_instead(helm, several, word):
    done = helm("template", {**NO_WEBHOOKS, "controller": {"watchNamespace": several}})
    assert done.returncode != 0 and f"  controller.watchNamespace: {word}" in done.stderr
    assert ("Install the chart once for each" in done.stderr) == ("one namespace" in word)


def test_a_cluster_without_admission_policies_gets_none(helm):
    done = helm("template", {}, "--kube-version", "1.29.0")
    assert done.returncode == 0, done.stderr
    assert "ValidatingAdmissionPolicy" not in {thing["kind"] for thing in yaml.safe_load_all(done.stdout) if thing}


@pytest.mark.parametrize("version", ["1.25.0", "1.28.9-gke.1"])
def test_an_older_cluster_is_rejected(helm, version):
    done = helm("template", {}, "--kube-version", version)
    assert done.returncode != 0 and "kubeVersion: >=1.29.0-0 which is incompatible with Kubernetes" in done.stderr
