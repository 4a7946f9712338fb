"""What the operator may do, what it does, and what holds it to that."""

import json
import subprocess

import pytest

import workers
from permissions import Audit, Right, not_allowed, rights, unused
from test_admission import WITH_WEBHOOKS, Webhooks, create, job
from test_given_certificate import WITH_GIVEN
from test_orphans import make, vendors_job, verb, wait_seen
from waiting import until
from world import ACCOUNT, LEASE, OPERATOR_NS, container

ADMISSION_POLICIES = pytest.mark.since_kubernetes(1, 30)
USER = f"system:serviceaccount:{OPERATOR_NS}:{ACCOUNT}"
# Asked of the authorizer and not of the server: test_owner_references_need_their_right.
FINALIZERS = Right("", "graphcore.ai", "ipujobs/finalizers", "update", "")
# Likewise, when before-uninstall gives the lease an owner: test_the_lease_and_the_pod_of_helm_test_go_with_the_release.
LEASE_OWNER = Right(OPERATOR_NS, "coordination.k8s.io", "leases", "delete", LEASE)
OWNER = {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "name": "owner", "uid": "0", "controller": True,
         "blockOwnerDeletion": True}
OTHER = {**OWNER, "apiVersion": "batch/v1", "kind": "Job", "blockOwnerDeletion": False}


def kubectl(cluster, user, *words, body=None):
    """kubectl as that user, as far as the API server is concerned; the finished process."""
    return subprocess.run([f"{cluster._run('bin')}/kubectl", "--kubeconfig", cluster.kubeconfig, "--as", user, *words],
                          input=body and json.dumps(body), capture_output=True, text=True, timeout=300)


def pod(ns, *owners, name="made", labels=None, **spec):
    """A worker, but for what the arguments say."""
    marks = {"labels": {"graphcore.ai/job-name": "owner", "graphcore.ai/role": "worker", **(labels or {})},
             "annotations": {"graphcore.ai/partition": "p-owner-0"}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": ns, "ownerReferences": list(owners), **marks},
            "spec": {"restartPolicy": "Never", "initContainers": [container("ipu-launcher")], "containers": [container()], **spec}}


def thing(kind, ns, *owners, name="made"):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": ns, "ownerReferences": list(owners)}}


def slice_of(ns, *owners, service="made-workers"):
    body = thing("EndpointSlice", ns, *owners)
    body["metadata"]["labels"] = {"kubernetes.io/service-name": service}
    return {**body, "apiVersion": "discovery.k8s.io/v1", "addressType": "IPv4", "endpoints": []}


def rejected(cluster, *words, body=None):
    """What the policy says; nothing while it is not in force yet, or lets it pass."""
    done = kubectl(cluster, USER, *words, body=body)
    return done.stderr if done.returncode and "ValidatingAdmissionPolicy" in done.stderr else ""


@ADMISSION_POLICIES
@pytest.mark.parametrize("made", [pod, lambda ns, *owners: thing("Secret", ns, *owners), slice_of],
                         ids=["pod", "secret", "slice"])
@pytest.mark.parametrize("owners", [(), ({**OWNER, "controller": False},), (OTHER,)],
                         ids=["nobody", "not its controller", "another kind"])
def test_what_no_ipujob_controls_is_not_made(cluster, world, made, owners):
    words = "create", "--dry-run=server", "-f", "-"
    until(lambda: rejected(cluster, *words, body=made(world.ns, *owners)), "the policy is in force")
    assert "may only create, update or delete objects controlled by an IPUJob" in rejected(cluster, *words, body=made(world.ns, *owners))
    done = kubectl(cluster, USER, *words, body=made(world.ns, OWNER))
    assert done.returncode == 0, done.stderr


CREATE = "create", "--dry-run=server", "--validate=false", "-f", "-"


@ADMISSION_POLICIES
def test_a_stolen_token_makes_no_pod_with_power_over_its_node(cluster, world):
    def privileged(name):
        return container(name, securityContext={"privileged": True})

    attacks = {
        "with hostPID": {"hostPID": True},
        "with hostPath volumes": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
        "with nodeName": {"nodeName": "ipu-node"},
        "privileged containers": {"containers": [privileged("main")]},
        "create privileged": {"initContainers": [container("ipu-launcher"), privileged("first")]},
        "with this capability": {"containers": [container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})]},
    }
    until(lambda: rejected(cluster, *CREATE, body=pod(world.ns, OWNER, hostPID=True)), "the policy is in force")
    for words, spec in attacks.items():
        assert words in rejected(cluster, *CREATE, body=pod(world.ns, OWNER, **spec)), spec
    # What programs on IPUs ask for.
    locks = container(securityContext={"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}})
    done = kubectl(cluster, USER, *CREATE, body=pod(world.ns, OWNER, hostNetwork=True, hostIPC=True, containers=[locks]))
    assert done.returncode == 0, done.stderr


@ADMISSION_POLICIES
def test_a_stolen_token_changes_nothing_in_namespaces_of_the_system(cluster, world):
    words = f"may run no jobs in namespace kube-system or {OPERATOR_NS};"
    until(lambda: rejected(cluster, *CREATE, body=pod("kube-system", OWNER)), "the policy is in force")
    for ns in ("kube-system", OPERATOR_NS):
        for body in (pod(ns, OWNER), thing("Secret", ns, OWNER), slice_of(ns, OWNER)):
            assert words in rejected(cluster, *CREATE, body=body), body["kind"]
        world.api.create("pods", ns, pod(ns, name="theirs"))
        try:
            assert words in rejected(cluster, "delete", "pod", "theirs", "-n", ns, "--dry-run=server", "--wait=false")
        finally:
            world.api.delete("pods", ns, "theirs")


@ADMISSION_POLICIES
def test_a_stolen_token_makes_only_workers_and_launchers(cluster, world):
    bare = pod(world.ns, OWNER)
    del bare["metadata"]["annotations"]
    others = {
        "another job's": pod(world.ns, OWNER, labels={"graphcore.ai/job-name": "other"}),
        "of no role": pod(world.ns, OWNER, labels={"graphcore.ai/role": "guest"}),
        "on no partition": bare,
        "without ipu-launch": pod(world.ns, OWNER, initContainers=[]),
        "restarted for ever": pod(world.ns, OWNER, restartPolicy="Always"),
    }
    until(lambda: rejected(cluster, *CREATE, body=bare), "the policy is in force")
    for what, body in others.items():
        assert "may only create pods that are workers or launchers" in rejected(cluster, *CREATE, body=body), what
    done = kubectl(cluster, USER, *CREATE, body=pod(world.ns, OWNER, labels={"graphcore.ai/role": "launcher"}))
    assert done.returncode == 0, done.stderr


@ADMISSION_POLICIES
def test_the_token_makes_pods_for_the_nodes_of_controllers(cluster, world):
    owner = {**OWNER, "uid": world.job("owner").get()["metadata"]["uid"]}
    create = "create", "-f", "-"
    cluster.grant("--set", "global.vipuControllers=a:8090:ipus=one\\,b:8090:ipus=two")
    try:
        for number, selector in enumerate(({"ipus": "three"}, {}, {"other": "one"})):
            body = pod(world.ns, owner, name=f"elsewhere-{number}", nodeSelector=selector)
            until(lambda body=body: "for the nodes of its V-IPU controllers" in rejected(cluster, *create, body=body), f"none on {selector}")
        done = kubectl(cluster, USER, *create, body=pod(world.ns, owner, nodeSelector={"ipus": "two"}))
        assert done.returncode == 0, done.stderr
    finally:
        cluster.grant()


@ADMISSION_POLICIES
def test_what_no_ipujob_controls_is_not_deleted(cluster, world):
    for body in (thing("Secret", world.ns, name="others"), pod(world.ns, name="others")):
        kind = body["kind"].lower()
        world.api.create(f"{kind}s", world.ns, body)
        words = "delete", kind, "others", "-n", world.ns, "--dry-run=server", "--wait=false"
        until(lambda words=words: rejected(cluster, *words), f"no {kind} of others is deleted")


@ADMISSION_POLICIES
def test_a_pod_is_changed_only_to_stop_it(cluster, world):
    # The garbage collector would delete a pod whose owner there is not.
    owner = {**OWNER, "uid": world.job("owner").get()["metadata"]["uid"], "blockOwnerDeletion": False}
    world.api.create("pods", world.ns, pod(world.ns, owner))
    stop = {"activeDeadlineSeconds": 1}
    annotation = {"annotations": {"graphcore.ai/stopped-at": "2026-01-01T10:00:00Z"}}
    changes = {
        "nothing that stops it": (annotation, {}),
        "a later end": (annotation, {"activeDeadlineSeconds": 600}),
        "another image": (annotation, {**stop, "containers": [{"name": container()["name"], "image": "other:1"}]}),
        "another annotation": ({"annotations": {"example.org/a": "b"}}, stop),
        "a label": ({"labels": {"a": "b"}}, stop),
    }
    words = "apply", "--server-side", "--force-conflicts", "--validate=false", "--dry-run=server", "-f", "-"

    def changed(metadata, spec):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "namespace": world.ns, **metadata}, "spec": spec}

    until(lambda: rejected(cluster, *words, body=changed(*changes["a label"])), "the policy is in force")
    for what, change in changes.items():
        assert "may change a pod only to stop it" in rejected(cluster, *words, body=changed(*change)), what
    done = kubectl(cluster, USER, *words, body=changed(annotation, stop))
    assert done.returncode == 0, done.stderr


@ADMISSION_POLICIES
def test_traffic_of_other_services_is_not_redirected(cluster, world):
    make = "create", "--dry-run=server", "-f", "-"
    other = slice_of(world.ns, OWNER, service="shop")
    until(lambda: "EndpointSlices of worker Services" in rejected(cluster, *make, body=other), "the policy is in force")
    world.api.create("endpointslices", world.ns, slice_of(world.ns))
    change = "apply", "--server-side", "--force-conflicts", "--validate=false", "--dry-run=server", "-f", "-"
    changed = {**slice_of(world.ns), "endpoints": [{"addresses": ["10.6.6.6"]}]}
    assert "may only create, update or delete objects controlled by an IPUJob" in rejected(cluster, *change, body=changed)


@ADMISSION_POLICIES
def test_pod_templates_are_never_made(cluster, world):
    body = {**thing("PodTemplate", world.ns), "template": {"spec": {"containers": [container()]}}}
    cluster.grant(*WITH_WEBHOOKS)
    try:
        until(lambda: "with dryRun=All" in rejected(cluster, "create", "-f", "-", body=body), "the policy is in force")
        done = kubectl(cluster, USER, "create", "--dry-run=server", "-f", "-", body=body)
        assert done.returncode == 0, done.stderr
    finally:
        cluster.grant()


def test_owner_references_need_their_right(cluster, world):
    """Where the API server asks who may set them, as here."""
    api = cluster.api
    api.apply("clusterroles", None, {"metadata": {"name": "makes-pods"}, "rules": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]})
    api.apply("clusterrolebindings", None, {"metadata": {"name": "makes-pods"}, "subjects": [{"kind": "User", "name": "maker"}],
              "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "makes-pods"}})
    words, body = ("create", "--dry-run=server", "-f", "-"), pod(world.ns, OWNER)
    until(lambda: kubectl(cluster, "maker", *words, body=pod(world.ns)).returncode == 0, "it may make pods")
    assert "blockOwnerDeletion" in kubectl(cluster, "maker", *words, body=body).stderr
    done = kubectl(cluster, USER, *words, body=body)
    assert done.returncode == 0, done.stderr


def test_an_api_server_without_streaming_lists(world, vipu):
    """It answers as older ones do; everything is listed, and then watched."""
    proxy = world.make_api_proxy()

    def unsettle(seen):
        seen.target = seen.target.replace("resourceVersionMatch=NotOlderThan", "")  # rejected without it
        return True
    proxy.before = unsettle
    webhooks = Webhooks(world, proxy=proxy)
    try:
        assert create(webhooks, job("judged"))
        kinds = {seen.path.rpartition("/")[2] for seen in proxy.since(0) if seen.method == "GET" and not seen.is_watch}
        assert kinds >= {"ipujobs", "pods", "configmaps", "nodes", "services", "networkpolicies", "secrets",
                         "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    finally:
        webhooks.remove()


def give_back_and_adopt(world, vipu, partition, theirs):
    """The verbs about partitions, where nothing is known of other namespaces."""
    wait_seen(world, partition, "left-behind")
    done = verb(world, "release", "left-behind")
    assert (done.returncode, done.stderr) == (0, "") and list(vipu.partitions()) == [partition]
    done = verb(world, "adopt", partition, "--job", f"{theirs.ns}/{theirs.name}")
    assert (done.returncode, done.stderr) == (0, "")
    theirs.delete()
    until(lambda: not vipu.partitions(), "it is given back with its job", tell=world.tell)


def may(cluster, user, right):
    """Roles take a moment to be known everywhere in the API server."""
    resource, _, sub = right.resource.partition("/")
    asked = {"group": right.group, "resource": resource, "subresource": sub, "verb": right.verb, "name": right.name,
             "namespace": right.namespace}
    answer = cluster.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": user, "resourceAttributes": asked}})
    return answer["status"]["allowed"]


def test_one_namespace_needs_no_right_beyond_it(cluster, world, vipu):
    other = world.make_namespace(f"{world.ns}-other")
    values = "--set", "fullnameOverride=single", "--set", f"controller.watchNamespace={world.ns}"
    cluster.grant(*values)
    user, allowed = f"system:serviceaccount:{OPERATOR_NS}:single-controller", rights(cluster.rendered(*values), "single-controller")
    until(lambda: all(may(cluster, user, right) for right in allowed), "its rights are in force")
    world.token = cluster.token_of("single-controller")
    theirs, partition = vendors_job(world, "theirs"), f"p-theirs-{world.ns}-0"
    make(vipu, partition, "left-behind")
    world.start_operator([f"{vipu.address}:no=node"], "--lease-name", "single", "--watch-namespace", world.ns)
    ignored, launched = world.job("ignored", ns=other), world.job("launched", launcher={"command": ["go"]})
    for count in (1, 2):
        pods = launched.run_pods(count)
    assert all(made["spec"]["nodeSelector"] == {"no": "node"} for made in pods.values())
    world.kubelet.succeed(pods["launched-launcher"])
    launched.wait("Completed")
    launched.delete()
    for made in launched.pods().values():
        world.kubelet.end_deleted(made)
    launched.wait_gone()
    give_back_and_adopt(world, vipu, partition, theirs)
    assert ignored.status["lastMessage"] == "Waiting for the IPU operator to pick up the job"
    assert "finalizers" not in ignored.get()["metadata"]
    audit = Audit(user, cluster.audit_log())
    assert audit.calls and audit.forbidden == set()
    assert not_allowed(audit.calls, allowed) == set()
    world.api.delete("leases", OPERATOR_NS, "single")


def is_whole(request):
    """Every test of this folder has passed: then they have asked for all that the operator ever asks for."""
    folder = request.path.parent
    return ({item.path for item in request.session.items} >= set(folder.rglob("test_*.py"))
            and not request.config.option.keyword and not workers.of(request.config).any_failed())


@pytest.mark.last
def test_rights_and_requests_are_the_same(cluster, request):
    """With everything that the chart can turn on, as the API servers' audit logs have it of all these tests."""
    audit = Audit(USER, *workers.of(request.config).audit_logs())
    allowed = rights(cluster.rendered(*WITH_WEBHOOKS), ACCOUNT)
    assert {FINALIZERS, LEASE_OWNER} <= allowed
    assert audit.calls, "nothing was asked"
    # cert-manager's Secret is read in place of the operator's own, with the same two verbs.
    in_its_place = rights(cluster.rendered(*WITH_GIVEN), ACCOUNT)
    assert sorted(map(str, not_allowed(audit.calls | audit.forbidden, allowed | in_its_place))) == []
    if is_whole(request):
        assert sorted(unused(audit.calls, allowed) - {FINALIZERS, LEASE_OWNER}) == []
