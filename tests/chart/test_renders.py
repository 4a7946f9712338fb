"""The chart's renders as a whole: reviewed texts, valid objects, and names that are told."""

import json
import re
import subprocess

import pytest
import yaml

from conftest import CHART
from renders import CERTIFIED, EVERYTHING, GOLDEN, NAMESPACED, objects, render
from values_table import merged

import kubernetes_schemas
import third_party_crds
from local_cluster.go_programs import KUBECONFORM, kubernetes_api

# Their definitions are other projects'.
OTHERS = ("Certificate", "Issuer", "PrometheusRule", "ServiceMonitor")
# The names that the vendor's chart has too, and which have no namespace.
KEPT = {("MutatingWebhookConfiguration", "ipu-operator-admission"), ("ValidatingWebhookConfiguration", "ipu-operator-admission")}


@pytest.fixture(scope="session")
def schemas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemas")
    kubernetes_schemas.write(kubernetes_api(), folder)
    third_party_crds.write(folder, *OTHERS)
    return kubernetes_schemas.location(folder)


def named(text):
    return {(thing["kind"], thing["metadata"]["name"]) for thing in objects(text)}


@pytest.mark.parametrize("program", ["helm", "helm3"])
@pytest.mark.parametrize("values", [*GOLDEN.values(), NAMESPACED, CERTIFIED], ids=[*GOLDEN, "namespaced", "certified"])
def test_every_object_is_valid(programs, schemas, program, values):
    done = conform(schemas, render(programs / program, values))
    assert done.returncode == 0, done.stdout


def conform(schemas, text):
    return subprocess.run([KUBECONFORM.path(), "-strict", "-schema-location", schemas, "-"], input=text,
                          stdout=subprocess.PIPE, text=True, timeout=300)


@pytest.mark.parametrize("values, right, wrong", [
    (GOLDEN["minimal"], "replicas: 1", "replicas: one"), (GOLDEN["minimal"], "  replicas: 1", "  replica: 1"),
    (CERTIFIED, "isCA: true", "isCa: true"), (EVERYTHING, "serverName: ", "serverNames: "), (EVERYTHING, "alert: ", "alarm: ")])
def test_invalid_objects_are_found(programs, schemas, values, right, wrong):
    text = render(programs / "helm", values)
    assert right in text
    assert conform(schemas, text.replace(right, wrong)).returncode != 0


def test_the_page_names_every_object(programs):
    """The table of the README, with F for the full name and N for the namespace."""
    names = {"fullnameOverride": "f", "controller": {"serviceAccount": {"name": ""}}}
    made = {pair for values in (EVERYTHING, NAMESPACED, CERTIFIED, {})
            for pair in named(render(programs / "helm", merged(values, names), namespace="N"))}
    rows = re.findall(r"^\| ([A-Z][A-Za-z, ]+) \| ((?:`[^`]+`(?:, )?)+)(?: in [^|]*)? \|", (CHART / "README.md").read_text(), re.M)
    output = {(kind, re.sub(r"\bF\b", "f", name)) for kinds, names in rows for kind in kinds.split(", ") for name in re.findall("`([^`]+)`", names)}
    assert output == made | {("CustomResourceDefinition", path.stem) for path in (CHART / "crds").iterdir()}


def test_two_installations_share_no_name(programs):
    """Two releases in two namespaces; those without a namespace are told apart by it."""
    def wide(namespace):
        return {(thing["kind"], thing["metadata"]["name"])
                for thing in objects(render(programs / "helm", {**EVERYTHING, "fullnameOverride": "ipu-operator"}, namespace=namespace))
                if "namespace" not in thing["metadata"]}

    assert wide("here") & wide("there") == KEPT
    assert not wide("here") & {(kind, name.replace("other", "ipu-operator")) for kind, name in named(render(
        programs / "helm", {**EVERYTHING, "fullnameOverride": "other"}, namespace="there"))} - KEPT


def test_no_name_is_the_clusters_domain(programs):
    for values in [*GOLDEN.values(), NAMESPACED]:
        assert "cluster.local" not in render(programs / "helm", values)


@pytest.mark.parametrize("name", ["ipu-operator", "other", "x" * 63])
def test_names_on_the_webhooks_certificate_are_those_that_are_asked(programs, name):
    things = objects(render(programs / "helm", {"fullnameOverride": name, "admissionWebhooks": {"enabled": True}}))
    asked = {(hook["clientConfig"]["service"]["name"], hook["clientConfig"]["service"]["namespace"])
             for thing in things if thing["kind"].endswith("WebhookConfiguration") for hook in thing["webhooks"]}
    ((service, namespace),) = asked
    assert ("Service", service) in {(thing["kind"], thing["metadata"]["name"]) for thing in things}
    (hosts,) = re.findall("--admission-hosts=([^\"' \n]+)", json.dumps(things))
    assert f"{service}.{namespace}.svc" in hosts.split(",")


@pytest.mark.parametrize("name", ["", "x" * 63])
def test_long_names_are_cut_to_what_kubernetes_takes(programs, name):
    release = "r" * 53
    things = objects(render(programs / "helm", merged(EVERYTHING, {"fullnameOverride": name}), release=release, namespace="n" * 63))
    for thing in things:
        longest = {"Service": 63, "Job": 63, "Deployment": 63}.get(thing["kind"], 253)
        assert len(thing["metadata"]["name"]) <= longest, (thing["kind"], thing["metadata"]["name"])
        for value in thing["metadata"]["labels"].values():
            assert len(value) <= 63


@pytest.mark.parametrize("name", ["123", "0x10", "2026-11-22", "true", "null", "on"])
def test_names_that_yaml_would_take_for_something_else_stay_names(programs, schemas, name):
    values = {"nameOverride": name, "global": {"imagePullSecrets": [{"name": name}]}, "metrics": {
        "certificateSecret": name, "serviceMonitor": {"tokenSecret": name}}, "controller": {
            "serviceAccount": {"create": True, "name": name}, "priorityClassName": name}, "priorityClass": {"create": False},
        "vipuServer": {"filesSecret": name, "credentialsSecret": name}}
    values = merged(EVERYTHING, values | ({"fullnameOverride": name} if name.isalpha() else {}))
    for each in (values, merged(CERTIFIED, {"nameOverride": name}), merged(NAMESPACED, {"controller": {"watchNamespace": name}})):
        done = conform(schemas, render(programs / "helm", each, release=name, namespace=name))
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("release, name", [("ipu-operator", "ipu-operator"), ("my-ipu-operator-2", "my-ipu-operator-2"),
                                           ("ipus", "ipus-ipu-operator")])
def test_without_a_full_name_the_release_gives_it(programs, release, name):
    things = named(render(programs / "helm", {"fullnameOverride": ""}, release=release))
    assert {("Deployment", name), ("Service", f"{name}-vipu-proxy")} <= things


@pytest.mark.parametrize("release, override, name", [("r", "My_Op", "r-My_Op"), ("1st.rel", "", "1st.rel-ipu-operator")])
def test_names_that_services_cannot_have_are_rejected(programs, release, override, name):
    def names(*settings):
        return subprocess.run([programs / "helm", "template", release, CHART, f"--set=nameOverride={override}", *settings],
                              capture_output=True, text=True, timeout=300)

    rejected = names("--set=fullnameOverride=")
    assert rejected.returncode != 0 and f'fullnameOverride: "{name}" is not a valid prefix for Service names' in rejected.stderr
    assert names("--set=fullnameOverride=ipus").returncode == 0


@pytest.mark.parametrize("end", ["-", "_", "."])
def test_what_is_cut_ends_in_a_letter_or_digit(programs, end):
    things = objects(render(programs / "helm", {"nameOverride": f"{'n' * 62}{end}more", "fullnameOverride": ""}, release="r" * 35))
    assert {thing["metadata"]["labels"]["app.kubernetes.io/name"] for thing in things} == {"n" * 62}
    assert ("Deployment", "r" * 35) in {(thing["kind"], thing["metadata"]["name"]) for thing in things}


def test_no_certificate_is_made_by_helm(programs):
    """Certificates that Helm creates are never renewed: the operator creates its own, and renews them."""
    text = render(programs / "helm", EVERYTHING)
    assert "BEGIN " not in text
    assert [thing for thing in objects(text) if thing["kind"] == "Secret" and (thing.get("data") or thing.get("stringData"))] == []


def test_the_chart_says_which_images_it_may_ask_for(programs):
    """For who has to copy them to where there is no way to the internet."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    output = {row["image"] for row in yaml.safe_load(chart["annotations"]["artifacthub.io/images"])}
    text = render(programs / "helm", {"vipuServer": {"enabled": True}})
    assert output == set(re.findall(r"(?:image: |--launcher-image=)(\S+)", text))


def test_there_is_more_than_one_replica(programs):
    (deployment,) = [thing for thing in objects(render(programs / "helm", {})) if thing["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 2


def test_pull_secrets_reach_every_pod(programs):
    text = render(programs / "helm", merged(EVERYTHING, {"global": {"imagePullSecrets": [{"name": "pull"}]}}))
    pods = [pod for thing in objects(text) for pod in pod_specs(thing)]
    assert len(pods) >= 2
    for pod in pods:
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert "--pull-secrets=pull" in text


def pod_specs(thing):
    """The pods that an object is, or makes."""
    if thing["kind"] == "Pod":
        yield thing["spec"]
    elif "template" in thing.get("spec", {}):
        yield thing["spec"]["template"]["spec"]
