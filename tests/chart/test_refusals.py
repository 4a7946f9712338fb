"""What the chart refuses, by its schema or with a sentence, and what it must not. No cluster is needed."""

import json

import pytest

import values_table
from local_cluster.go_programs import kubernetes_api

POD_ONLY = {"$ref": "#/definitions/podOnly"}


@pytest.mark.parametrize(
    "values, word",
    [
        ({"admissionWebhooks": {"failurePolicy": "Maybe"}}, "failurePolicy"),
        ({"controler": {}}, "controler"),
        ({"controller": {"image": {"repo": "x"}}}, "repo"),
        ({"global": {"vipuControllers": [{"host": "a", "port": 0, "selector": "a=b"}]}}, "vipuControllers"),
        ({"global": {"vipuControllers": "pod1:8090:"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:http:a=b"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:65536:a=b"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "https://pod1:8090:a=b"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a=b c"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a=b,pod2,pod1::a=c"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a=b,pod2,pod1"}}, "pod1:8090 is there twice"),
        ({"global": {"vipuControllers": "[fd00::1],[fd00::1]:8090:a=b"}}, "fd00::1:8090 is there twice"),
        ({"global": {"vipuControllers": [{"host": "a"}, {"host": "a", "port": 8090}]}}, "a:8090 is there twice"),
        ({"global": {"vipuControllers": [{"host": "https://a"}]}}, "vipuControllers"),
        ({"global": {"imageRegistry": "https://registry.example.com"}}, "imageRegistry"),
        ({"controller": {"image": {"repository": "registry.example.com/operator:1"}}}, "repository"),
        ({"controller": {"image": {"tag": "@sha256:1"}}}, "tag"),
        ({"fullnameOverride": "My_Operator"}, "fullnameOverride"),
        ({"admissionWebhooks": {"port": 8443}}, "has its metrics at port 8443"),
        ({"admissionWebhooks": {"port": 8081}}, "has its pages at port 8081"),
        ({"admissionWebhooks": {"enabled": False, "certManager": {"enabled": True}}}, "there is no certificate to make"),
        ({"uninstall": {"check": False, "drain": True}}, "uninstall.drain: without uninstall.check"),
        ({"metrics": {"mode": "off", "dashboard": {"enabled": True}}}, "metrics.dashboard.enabled: there are no metrics"),
        ({"controller": {"watchNamespace": "a"}, "metrics": {"serviceMonitor": {"enabled": True}}},
         "metrics.serviceMonitor.enabled: with controller.watchNamespace there are no metrics but with metrics.mode=plain"),
        ({"controller": {"logLevel": "loud"}}, "logLevel"),
        ({"vipuServer": {"nodeLabel": "no label"}}, "nodeLabel"),
        ({"global": {"vipuControllers": [{"host": "a", "secretRef": {"name": "../b"}}]}}, "vipuControllers"),
        ({"global": {"vipuControllers": [{"host": "a", "secretRef": "b"}]}}, "vipuControllers"),
        ({"vipuServer": {"filesSecret": "No Name"}}, "filesSecret"),
        ({"vipuServer": {"ipus": 65}}, "ipus"),
        ({"worker": {"hostNetwork": "yes"}}, "hostNetwork"),
        ({"global": {"vipuControllers": [{"host": "pod1:8090"}]}}, '"pod1:8090" is no host; give its port as port'),
        ({"admissionWebhooks": {"certManager": {"enabled": True, "issuerRef": {"kind": "ClusterIssuer"}}}}, "issuerRef"),
        ({"worker": {"mpiNetwork": "10.0.0.0/99"}}, 'worker.mpiNetwork: "10.0.0.0/99" is neither a network'),
        ({"worker": {"mpiNetwork": "eth0,10.0.0.0"}}, 'worker.mpiNetwork: "10.0.0.0" is neither a network'),
        ({"networkPolicy": {"nodeNetworks": ["10.0.0.0/16", "999.1.1.1/99"]}}, 'nodeNetworks: "999.1.1.1/99" is no network'),
        ({"networkPolicy": {"nodeNetworks": ["fd00::/129"]}}, 'networkPolicy.nodeNetworks: "fd00::/129" is no network'),
        ({"controller": {"tolerations": [{"key": "a", "efect": "NoSchedule"}]}}, "efect"),
        ({"vipuServer": {"tolerations": [{"operator": "exists"}]}}, "tolerations"),
        ({"controller": {"podSecurityContext": {"runAsUsr": 1}}}, "runAsUsr"),
        ({"controller": {"securityContext": {"seccompProfile": {"typ": "Unconfined"}}}}, "typ"),
        ({"controller": {"podLabels": {"app.kubernetes.io/instance": "x"}}},
         "controller.podLabels: app.kubernetes.io/instance is a label"),
        ({"controller": {"priorityClassName": "other"}, "priorityClass": {"create": True}},
         "priorityClass.create: nobody would use the class"),
    ],
)
def test_wrong_values_are_refused_by_name(helm, values, word):
    done = helm("template", values)
    assert done.returncode != 0
    assert word in done.stderr


@pytest.mark.parametrize("helm", ["helm"], indirect=True)
@pytest.mark.parametrize("values", [
    {"global": {"vipuControllers": [{"host": host} for host in ("pod1", "10.0.0.1", "fd00::1", "::ffff:10.0.0.1", "fe80::1%e0")]}},
    {"worker": {"mpiNetwork": "eth0,10.0.0.0/8,fd00::/64,bond0.100"}},
    {"networkPolicy": {"enabled": True, "nodeNetworks": ["0.0.0.0/0", "::/0", "10.255.0.0/32", "2001:db8:1:2:3:4:5:6/128"]}},
    {"controller": {"podLabels": {"team": "infra"}}},
])
def test_right_values_are_taken(helm, values):
    done = helm("template", values)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version, taken", [("1.28.9-gke.1", False), ("1.29.0", True)])
def test_a_priority_level_is_refused_where_it_is_not_known(helm, version, taken):
    done = helm("template", {"flowSchema": {"enabled": True}}, "--kube-version", version)
    assert (done.returncode == 0) == taken, done.stderr
    told = f"flowSchema.enabled: Kubernetes has flowcontrol.apiserver.k8s.io/v1 from 1.29 on, and this one is v{version}"
    assert (told in done.stderr) != taken


@pytest.mark.parametrize("ours, kubernetes", [("tolerations", "Toleration"), ("podSecurityContext", "PodSecurityContext"),
                                              ("securityContext", "SecurityContext")])
def test_the_schema_has_all_fields_of_kubernetes(ours, kubernetes):
    definitions = json.loads(kubernetes_api().read_text())["definitions"]

    def fields(schema, known):
        """What stands in an object, or in the objects of a list, and in that."""
        schema = known(schema)
        schema = known(schema["items"]) if "items" in schema else schema
        return {name: fields(part, known) for name, part in schema.get("properties", {}).items() if part != POD_ONLY}

    theirs = fields(definitions[f"io.k8s.api.core.v1.{kubernetes}"],
                    lambda part: definitions[part["$ref"].removeprefix("#/definitions/")] if "$ref" in part else part)
    assert fields(values_table.SCHEMA["definitions"][ours], values_table.resolved) == theirs


def test_fields_that_only_pods_have_are_refused_with_their_place(helm):
    definitions = values_table.SCHEMA["definitions"]
    fields = [field for field, part in definitions["securityContext"]["properties"].items() if part == POD_ONLY]
    assert set(definitions["podSecurityContext"]["properties"]) - set(definitions["securityContext"]["properties"]) == set()
    said = helm("template", {"controller": {"securityContext": dict.fromkeys(fields, 1)}}).stderr
    assert [field for field in fields if f"use controller.podSecurityContext.{field}" not in said] == []
