"""What the chart rejects, by its schema or with a sentence, and what it must not. No cluster is needed."""

import json
import subprocess

import pytest

import renders
import values_table
from local_cluster.go_programs import kubernetes_api

POD_ONLY = {"$ref": "#/definitions/podOnly"}


@pytest.mark.parametrize(
    "values, word",
    [
        ({"admissionWebhooks": {"failurePolicy": "Maybe"}}, "failurePolicy"),
        ({"controler": {}}, "controler"),
        ({"global": {"vipuControlers": ""}}, "global.vipuControlers: unknown value"),
        ({"controller": {"image": {"repo": "x"}}}, "repo"),
        ({"global": {"vipuControllers": [{"host": "a", "port": 0, "selector": "a=b"}]}}, "vipuControllers"),
        ({"global": {"vipuControllers": "pod1:8090:"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:http:a=b"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:65536:a=b"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "https://pod1:8090:a=b"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a=b c"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a=b,pod2,pod1::a=c"}}, "is not host:port:label=value"),
        ({"global": {"vipuControllers": "pod1:8090:a=b,pod2,pod1"}}, "pod1:8090 is a duplicate"),
        ({"global": {"vipuControllers": "[fd00::1],[fd00::1]:8090:a=b"}}, "fd00::1:8090 is a duplicate"),
        ({"global": {"vipuControllers": [{"host": "a"}, {"host": "a", "port": 8090}]}}, "a:8090 is a duplicate"),
        ({"global": {"vipuControllers": ["pod1:8090:a=b", {"host": "pod1"}]}}, "pod1:8090 is a duplicate"),
        ({"global": {"vipuControllers": ["pod1:8090:a=b,pod2"]}}, '"pod1:8090:a=b,pod2" is not host:port:label=value'),
        ({"global": {"vipuControllers": [{"host": "https://a"}]}}, "vipuControllers"),
        ({"global": {"imageRegistry": "https://registry.example.com"}}, "imageRegistry"),
        ({"controller": {"image": {"repository": "registry.example.com/operator:1"}}}, "repository"),
        ({"controller": {"image": {"tag": "@sha256:1"}}}, "tag"),
        ({"fullnameOverride": "My_Operator"}, "fullnameOverride"),
        ({"admissionWebhooks": {"port": 8443}}, "port 8443 is used for the metrics"),
        ({"admissionWebhooks": {"port": 8081}}, "port 8081 is used for the pages"),
        ({"admissionWebhooks": {"enabled": False, "certManager": {"enabled": True}}}, "admissionWebhooks.certManager.enabled: has no effect"),
        ({"uninstall": {"check": False, "drain": True}}, "uninstall.drain: has no effect without uninstall.check"),
        ({"metrics": {"mode": "off", "dashboard": {"enabled": True}}}, "metrics.dashboard.enabled: has no effect with metrics.mode=off"),
        ({"controller": {"watchNamespace": "a"}, "metrics": {"serviceMonitor": {"enabled": True}}},
         "metrics.serviceMonitor.enabled: with controller.watchNamespace, metrics need metrics.mode=plain"),
        ({"controller": {"logLevel": "loud"}}, "logLevel"),
        ({"vipuServer": {"nodeLabel": "no label"}}, "nodeLabel"),
        ({"global": {"vipuControllers": [{"host": "a", "secretRef": {"name": "../b"}}]}}, "vipuControllers"),
        ({"global": {"vipuControllers": [{"host": "a", "secretRef": "b"}]}}, "vipuControllers"),
        ({"vipuServer": {"filesSecret": "No Name"}}, "filesSecret"),
        ({"vipuServer": {"ipus": 65}}, "ipus"),
        ({"worker": {"hostNetwork": "yes"}}, "hostNetwork"),
        ({"global": {"vipuControllers": [{"host": "pod1:8090"}]}}, '"pod1:8090" must be a host name without port; set port'),
        ({"admissionWebhooks": {"certManager": {"enabled": True, "issuerRef": {"kind": "ClusterIssuer"}}}}, "issuerRef"),
        ({"worker": {"mpiNetwork": "10.0.0.0/99"}}, 'worker.mpiNetwork: "10.0.0.0/99" must be a CIDR'),
        ({"worker": {"mpiNetwork": "eth0,10.0.0.0"}}, 'worker.mpiNetwork: "10.0.0.0" must be a CIDR'),
        ({"networkPolicy": {"nodeNetworks": ["10.0.0.0/16", "999.1.1.1/99"]}}, 'nodeNetworks: "999.1.1.1/99" must be a CIDR'),
        ({"networkPolicy": {"nodeNetworks": ["fd00::/129"]}}, 'networkPolicy.nodeNetworks: "fd00::/129" must be a CIDR'),
        ({"controller": {"tolerations": [{"key": "a", "efect": "NoSchedule"}]}}, "efect"),
        ({"vipuServer": {"tolerations": [{"operator": "exists"}]}}, "tolerations"),
        ({"controller": {"affinity": {"nodeAfinity": {}}}}, "nodeAfinity"),
        ({"controller": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}}, "topologyKey"),
        ({"controller": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a"}]}}, "whenUnsatisfiable"),
        ({"networkPolicy": {"pagesFrom": [{"podSelectr": {}}]}}, "podSelectr"),
        ({"vipuServer": {"storage": {"hostPth": {"path": "/var/lib/vipu"}}}}, "hostPth"),
        ({"controller": {"podSecurityContext": {"runAsUsr": 1}}}, "runAsUsr"),
        ({"controller": {"securityContext": {"seccompProfile": {"typ": "Unconfined"}}}}, "typ"),
        ({"controller": {"podLabels": {"app.kubernetes.io/instance": "x"}}},
         "controller.podLabels: app.kubernetes.io/instance is a label"),
        ({"controller": {"podAnnotations": {"checksum/controllers": "x"}}},
         "controller.podAnnotations: checksum/controllers is an annotation"),
        *(({"vipuServer": {"enabled": True, "config": {key: value}}}, f"vipuServer.config.{key}: vipuServer.secureMode sets it")
          for key, value in (("secure", True), ("users", []), ("tls", {}))),
        ({"vipuServer": {"enabled": True, "credentialsSecret": "access"}},
         "vipuServer.credentialsSecret: vipuServer.secureMode creates the credentials"),
        ({"vipuServer": {"podAnnotations": {"checksum/config": "x"}}},
         "vipuServer.podAnnotations: checksum/config is an annotation"),
        ({"controller": {"extraArgs": ["--lease-name", "x"]}}, "--lease-name is set by the chart"),
        ({"controller": {"extraArgs": ["--metrics=off"]}}, "set by the chart; use metrics.mode"),
        ({"queue": {"priorityClasses": ["research", "system-node-critical"]}}, "queue"),
        ({"queue": {"priorityClasses": "research"}}, "queue"),
        ({"controller": {"priorityClassName": "other"}, "priorityClass": {"create": True}},
         "priorityClass.create: has no effect when"),
    ],
)
def test_wrong_values_are_rejected_by_name(helm, values, word):
    done = helm("template", values)
    assert done.returncode != 0
    assert word in done.stderr


@pytest.mark.parametrize("helm", ["helm"], indirect=True)
@pytest.mark.parametrize("values", [
    {"global": {"vipuControllers": [{"host": host} for host in ("pod1", "10.0.0.1", "fd00::1", "::ffff:10.0.0.1", "fe80::1%e0")]}},
    {"global": {"vipuControllers": ["pod1:8090:a=b", {"host": "pod2"}]}},
    {"worker": {"mpiNetwork": "eth0,10.0.0.0/8,fd00::/64,bond0.100"}},
    {"networkPolicy": {"enabled": True, "nodeNetworks": ["0.0.0.0/0", "::/0", "10.255.0.0/32", "2001:db8:1:2:3:4:5:6/128"]}},
    {"controller": {"podLabels": {"team": "infra"}}},
])
def test_right_values_are_taken(helm, values):
    done = helm("template", values)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ours, kubernetes", [
    ("tolerations", "core.v1.Toleration"), ("podSecurityContext", "core.v1.PodSecurityContext"),
    ("securityContext", "core.v1.SecurityContext"), ("affinity", "core.v1.Affinity"),
    ("topologySpreadConstraints", "core.v1.TopologySpreadConstraint"), ("peers", "networking.v1.NetworkPolicyPeer")])
def test_the_schema_has_all_fields_of_kubernetes(ours, kubernetes):
    definitions = json.loads(kubernetes_api().read_text())["definitions"]

    def fields(schema, known):
        """What stands in an object, or in the objects of a list, and in that."""
        schema = known(schema)
        schema = known(schema["items"]) if "items" in schema else schema
        return {name: fields(part, known) for name, part in schema.get("properties", {}).items() if part != POD_ONLY}

    theirs = fields(definitions[f"io.k8s.api.{kubernetes}"],
                    lambda part: definitions[part["$ref"].removeprefix("#/definitions/")] if "$ref" in part else part)
    assert fields(values_table.SCHEMA["definitions"][ours], values_table.resolved) == theirs


def test_fields_that_only_pods_have_are_rejected_with_their_place(helm):
    definitions = values_table.SCHEMA["definitions"]
    fields = [field for field, part in definitions["securityContext"]["properties"].items() if part == POD_ONLY]
    assert set(definitions["podSecurityContext"]["properties"]) - set(definitions["securityContext"]["properties"]) == set()
    printed = helm("template", {"controller": {"securityContext": dict.fromkeys(fields, 1)}}).stderr
    assert [field for field in fields if f"use controller.podSecurityContext.{field}" not in printed] == []


@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_extra_args_must_not_repeat_the_options_of_the_chart(helm, render):
    deployments = [thing for (kind, _), thing in render(renders.EVERYTHING).items() if kind == "Deployment"]
    (manager,) = [one for made in deployments for one in made["spec"]["template"]["spec"]["containers"] if one["name"] == "manager"]
    flags = {arg.split("=")[0] for arg in manager["args"]} - {"--some"}
    assert {"--lease-name", "--metrics-certificate", "--admission-certificate", "--credentials"} <= flags
    printed = helm("template", {"controller": {"extraArgs": [f"{flag}=x" for flag in sorted(flags)]}}).stderr
    assert [flag for flag in flags if f"controller.extraArgs: {flag} is set by the chart" not in printed] == []


@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_every_value_of_global_is_known(helm):
    """The schema lets others through, because as part of another chart this one is given the globals of all."""
    known = values_table.SCHEMA["properties"]["global"]["properties"]
    printed = helm("template", {"global": {key: values_table.VALUES["global"].get(key) for key in known} | {"storageClass": "x"}}).stderr
    assert "global.storageClass: unknown value" in printed and printed.count("unknown value") == 1


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_the_chart_may_be_part_of_another(programs, tmp_path, program):
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "ipu-operator").symlink_to(values_table.CHART)
    (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: site, version: 1.0.0, dependencies: [{name: ipu-operator, version: '*', "
                                         "condition: ipu-operator.enabled}]}\n")
    values = {"global": {"storageClass": "fast", "vipuControllers": "pod1:8090:a=b"}, "ipu-operator": {"enabled": True}}
    (tmp_path / "values.yaml").write_text(json.dumps(values))
    done = subprocess.run([programs / program, "template", "release", tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "name: ipu-operator-vipu-controllers" in done.stdout and "pod1" in done.stdout
