"""The client against a real API server."""

import json
import time

import pytest

from probe import DEADLINE, number

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ipujobs.graphcore.ai}
spec:
  group: graphcore.ai
  scope: Namespaced
  names: {plural: ipujobs, singular: ipujob, kind: IPUJob}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.mark.since_kubernetes(1, 34)  # streaming lists
def test_objects_come_change_and_go(cluster, namespace, probe_of):
    probe = probe_of(cluster.kubeconfig, "-n", namespace, "--selector", "app=probe", "watch", "configmaps")
    probe.wait("synced 0")
    output = probe_of(cluster.kubeconfig, "-n", namespace, "--count", "50", "create", "configmaps", "c").end()
    assert "created 50 failed 0" in output
    for _ in range(50):
        probe.wait("change .* - > c-")
    cluster.kubectl("patch", "configmap", "-n", namespace, "c-7", "-p", '{"data":{"v":"seven"}}')
    probe.wait(f"change {namespace}/c-7 .* c-7 > seven")
    cluster.kubectl("label", "configmap", "-n", namespace, "c-8", "app-")
    probe.wait(f"change {namespace}/c-8 .* c-8 > -$")
    cluster.kubectl("delete", "configmap", "-n", namespace, "c-7")
    probe.wait(f"change {namespace}/c-7 .* seven > -$")
    output = probe.stop()
    assert number(output, "skipped") == 0 and "sent WATCH configmaps 1 failed 0" in output


def test_creating_again_is_distinguished_from_a_conflict(cluster, namespace, probe_of):
    body = json.dumps({"metadata": {"name": "a"}})
    where = (cluster.kubeconfig, "-n", namespace)
    assert "http 201" in probe_of(*where, "--body", body, "send", "POST", "configmaps").end()
    assert "kind exists" in probe_of(*where, "--body", body, "send", "POST", "configmaps").end()
    wrong = json.dumps({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}})
    assert "kind conflict" in probe_of(*where, "--body", wrong, "send", "DELETE", "configmaps", "a").end()
    assert "kind none" in probe_of(*where, "send", "DELETE", "configmaps", "a").end()
    assert "kind not found" in probe_of(*where, "send", "DELETE", "configmaps", "a").end()


def test_the_three_kinds_of_patches(cluster, namespace, probe_of):
    def patch(kind, body, name="a"):
        return probe_of(
            cluster.kubeconfig, "-n", namespace, "--type", f"application/{kind}", "--body", json.dumps(body),
            "send", "PATCH", "configmaps", name,
        ).end()

    cluster.kubectl("create", "configmap", "-n", namespace, "a", "--from-literal=v=1")
    assert "kind none" in patch("merge-patch+json", {"data": {"v": "2"}})
    assert "kind none" in patch("json-patch+json", [{"op": "test", "path": "/data/v", "value": "2"}])
    assert "kind invalid" in patch("json-patch+json", [{"op": "test", "path": "/data/v", "value": "9"}])
    stale = {"metadata": {"resourceVersion": "1"}, "data": {"v": "3"}}
    assert "kind conflict" in patch("merge-patch+json", stale)


def test_an_invalid_object_is_named_with_its_fields(cluster, namespace, probe_of):
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "Bad_Name"}, {"image": "i"}]}}
    output = probe_of(
        cluster.kubeconfig, "-n", namespace, "--body", json.dumps(pod), "send", "POST", "pods"
    ).end()
    assert "http 422 kind invalid" in output
    assert "spec.containers[0].name" in output and "spec.containers[1].name" in output


def test_quota_and_a_terminating_namespace_are_distinguished(cluster, namespace, probe_of):
    cluster.kubectl("create", "quota", "-n", namespace, "q", "--hard=configmaps=0")
    body = ("--body", '{"metadata":{"name":"a"}}', "send", "POST", "configmaps")
    deadline = time.monotonic() + DEADLINE
    while "denial quota" not in (output := probe_of(cluster.kubeconfig, "-n", namespace, *body).end()):
        assert time.monotonic() < deadline, output  # until the quota counts
    assert "http 403 kind denied" in output and "exceeded quota" in output
    cluster.kubectl("create", "namespace", "dying")
    finalizer = {"metadata": {"name": "keep", "finalizers": ["example.com/keep"]}}
    probe_of(cluster.kubeconfig, "-n", "dying", "--body", json.dumps(finalizer), "send", "POST", "configmaps").end()
    cluster.kubectl("delete", "namespace", "dying", "--wait=false")
    output = probe_of(cluster.kubeconfig, "-n", "dying", *body).end()
    assert "http 403 kind denied denial namespace-terminating" in output
    cluster.kubectl("patch", "configmap", "-n", "dying", "keep", "-p", '{"metadata":{"finalizers":null}}')


def test_a_kind_that_is_installed_later_is_found(cluster, probe_of):
    probe = probe_of(cluster.kubeconfig, "watch", "ipujobs")
    probe.wait("^trouble")
    cluster.kubectl("apply", "-f", "-", stdin=CRD)
    probe.wait("synced 0")
    cluster.kubectl("delete", "crd", "ipujobs.graphcore.ai")


def test_an_event_reads_well_in_kubectl(cluster, namespace, probe_of):
    words = ("-n", namespace, "event", "job", "Waiting", "4 of 64 IPUs are free")
    assert "dropped 0" in probe_of(cluster.kubeconfig, *words).end()
    assert "dropped 0" in probe_of(cluster.kubeconfig, *words).end()  # a restart: the same event again
    events = json.loads(cluster.kubectl("get", "events.events.k8s.io", "-n", namespace, "-o", "json"))["items"]
    ours = [event for event in events if event["reason"] == "Waiting"]
    assert len(ours) == 1
    assert ours[0]["note"] == "4 of 64 IPUs are free" and ours[0]["series"]["count"] == 2


def test_a_watch_survives_the_end_of_the_api_server(cluster, namespace, probe_of):
    cluster.kubectl("create", "configmap", "-n", namespace, "before", "--from-literal=v=1")
    probe = probe_of(cluster.kubeconfig, "-n", namespace, "watch", "configmaps")
    probe.wait("synced")
    cluster.restart_api_server()
    cluster.kubectl("delete", "configmap", "-n", namespace, "before")
    cluster.kubectl("create", "configmap", "-n", namespace, "after", "--from-literal=v=2")
    probe.wait(f"change {namespace}/before .* 1 > -")
    probe.wait(f"change {namespace}/after .* - > 2")
    output = probe.stop()
    assert "trouble" in output and output.count("synced") == 1
    assert output.count(f"change {namespace}/after") == 1
