"""What the chart renders and rejects, with Helm 4 and Helm 3. No cluster is needed."""

import re

import pytest
import yaml

from conftest import CHART, ROOT
from renders import EVERYTHING

# The vendor's chart 1.2.0, each value at something else than its default there.
OLD_VALUES = {
    "fullnameOverride": "ipu",
    "global": {
        "imagePullSecrets": [{"name": "pull"}, {"name": "other"}],
        "vipuControllers": "pod1:8090:vipu-ctrl=a, [fd00::1]:8091:vipu-ctrl=b",
        "launcherImagePullPolicy": "Always",
    },
    "controller": {
        "develLogs": True,
        "serviceAccount": {"create": True, "annotations": {"a": "b"}, "name": "operator"},
        "rbac": {"create": True},
        "service": {"type": "ClusterIP", "port": 8443},
        "resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "200m", "memory": "1Gi"}},
        "podAnnotations": {"note": "x"},
        "podSecurityContext": {"runAsUser": 1000},
        "securityContext": {"runAsUser": 1001},
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    },
    "vipuProxy": {"logLevel": 2, "proxyPort": 8080, "proxyWriteTimeoutSeconds": 300},
    "admissionWebhooks": {"failurePolicy": "Fail", "port": 9443},
    "worker": {"hostNetwork": False},
}
WEBHOOKS = {"admissionWebhooks": {"enabled": True}}
NO_WEBHOOKS = {"admissionWebhooks": {"enabled": False}}
SIMULATED = {"vipuServer": {"enabled": True}}
OPTIONAL = {"networkPolicy": {"enabled": True}, "flowSchema": {"enabled": True}, "priorityClass": {"create": True}}


def manager(objects, name="ipu-operator"):
    return objects["Deployment", name]["spec"]["template"]["spec"]


def arguments(pod):
    return dict(arg.removeprefix("--").split("=", 1) for arg in pod["containers"][0]["args"])


def controllers(objects, name="ipu-operator"):
    return yaml.safe_load(objects["ConfigMap", f"{name}-vipu-controllers"]["data"]["controllers.yaml"])["vipuControllers"]


@pytest.mark.parametrize("values", [{}, SIMULATED, OLD_VALUES, EVERYTHING], ids=["none", "simulated", "old", "everything"])
def test_lint_finds_nothing(helm, values):
    done = helm("lint", values, "--strict")
    assert done.returncode == 0, done.stdout + done.stderr


def test_defaults_install_the_operator_alone(render):
    assert set(render({**NO_WEBHOOKS, "crds": {"upgrade": False}})) == {
        ("ServiceAccount", "ipu-operator-controller"),
        ("ConfigMap", "ipu-operator-vipu-controllers"),
        ("ConfigMap", "ipu-operator-history"),
        ("Service", "ipu-operator-vipu-proxy"),
        ("Service", "ipu-operator-controller-manager-metrics"),
        ("Service", "ipu-operator-progress"),
        ("Secret", "ipu-operator-progress"),
        ("ClusterRole", "ipus-ipu-operator-metrics-reader"),
        ("ClusterRole", "ipus-ipu-operator-pages-reader"),
        ("ClusterRole", "ipus-ipu-operator-controller-metrics"),
        ("ClusterRoleBinding", "ipus-ipu-operator-controller-metrics"),
        ("ClusterRole", "ipus-ipu-operator-controller"),
        ("ClusterRoleBinding", "ipus-ipu-operator-controller"),
        ("ClusterRole", "ipus-ipu-operator-vipucontrollers-view"),
        ("ClusterRoleBinding", "ipus-ipu-operator-vipucontrollers-view"),
        ("ClusterRole", "ipus-ipu-operator-ipujobs-view"),
        ("ClusterRole", "ipus-ipu-operator-ipujobs-edit"),
        ("ClusterRole", "ipus-ipu-operator-ipujobs-admin"),
        ("ValidatingAdmissionPolicy", "ipus-ipu-operator-controller"),
        ("ValidatingAdmissionPolicyBinding", "ipus-ipu-operator-controller"),
        ("PodDisruptionBudget", "ipu-operator-controller-manager"),
        ("Role", "ipu-operator-controller"),
        ("RoleBinding", "ipu-operator-controller"),
        ("Deployment", "ipu-operator"),
        ("Job", "ipu-operator-before-uninstall"),
        ("ServiceAccount", "ipu-operator-self-check"),
        ("Role", "ipu-operator-self-check"),
        ("RoleBinding", "ipu-operator-self-check"),
        ("Pod", "ipu-operator-self-check"),
    }


def test_flags_of_the_operator_follow_the_values(render):
    plain = arguments(manager(render(NO_WEBHOOKS)))
    assert plain == {
        "config": "/etc/ipu-operator/controllers.yaml",
        "namespace": "ipus",
        "lease-name": "ipu-operator",
        "launcher-image": "ipu-operator/ipu-launch:0.1.0",
        "launcher-pull-policy": "IfNotPresent",
        "host-network": "true",
        "network-policy": "true",
        "health-port": "8081",
        "metrics": "secure",
        "metrics-port": "8443",
        "metrics-hosts": ",".join(f"ipu-operator-controller-manager-metrics{end}" for end in (".ipus.svc", ".ipus", "")),
        "progress": "ipu-operator-progress",
        "progress-hosts": "ipu-operator-progress.ipus.svc",
        "progress-port": "8444",
        "history": "ipu-operator-history",
        "log-level": "info",
        "log-format": "text",
        "partition-prefix": "p",
        "queue-priority-classes": "*",
        "queue-max-waiting-instances-per-namespace": "100000",
        "queue-max-waiting-instances": "1000000",
        "queue-share-half-life-seconds": "0",
        "queue-guard-after-seconds": "0",
        "queue-policy": "bounded",
        "queue-reservations": "1",
        "queue-close-after-seconds": "259200",
        "queue-max-slide-seconds": "1800",
        "queue-preemption": "false",
        "queue-preemption-exempt-seconds": "600",
        "hold-seconds": "300",
        "requeue-seconds": "60",
        "partition-failure-seconds": "30",
        "vipu-controllers-visibility": "namespaces",
        "hide-vipu-controller-addresses": "false",
    }
    changed = arguments(manager(render(EVERYTHING), "ipu"))
    assert changed == {
        **{flag: value for flag, value in plain.items() if not flag.startswith("progress")},
        "metrics-hosts": plain["metrics-hosts"].replace("ipu-operator", "ipu"),
        "metrics-certificate": "/etc/ipu-operator-metrics",
        "lease-name": "ipu",
        "live-page": "ipu-live-page.ipus.svc,ipu-live-page.ipus,ipu-live-page,ipu-live-page.localhost,ipus.example.com",
        "live-page-certificate": "/etc/ipu-operator-live-page",
        "live-page-port": "8445",
        "history": "ipu-history",
        "launcher-image": "registry.example.com/team/launch:1",
        "launcher-pull-policy": "Always",
        "pull-secrets": "pull,other",
        "credentials": "/etc/vipu-credentials",
        "host-network": "false",
        "network-policy": "false",
        "mpi-network": "10.0.0.0/8",
        "log-level": "warn",
        "log-format": "json",
        "partition-prefix": "east",
        "queue-priority-classes": "research,urgent",
        "queue-max-waiting-instances-per-namespace": "5000",
        "queue-max-waiting-instances": "20000",
        "queue-quotas": "*=64,team-a=1000000",
        "queue-instance-quotas": "*=10,team-a=0",
        "queue-share-half-life-seconds": "604800",
        "queue-share-weights": "team-a=3",
        "queue-guard-after-seconds": "86400",
        "queue-policy": "predicted",
        "queue-reservations": "2",
        "queue-close-after-seconds": "3600",
        "queue-max-slide-seconds": "600",
        "queue-preemption": "true",
        "queue-preemption-exempt-seconds": "60",
        "hold-seconds": "60",
        "requeue-seconds": "5",
        "partition-failure-seconds": "7",
        "vipu-controllers-visibility": "sizes",
        "hide-vipu-controller-addresses": "true",
        "admission": "ipu-admission",
        "admission-hosts": "ipu-webhook-svc.ipus.svc,ipu-webhook-svc.ipus,ipu-webhook-svc",
        "admission-certificate": "ipu-admission-certificate",
        "admission-port": "9444",
        "some": "thing",
    }


def test_pods_of_the_chart_are_restricted(render):
    objects = render(SIMULATED)
    for name in ["ipu-operator", "ipu-operator-vipu-server"]:
        pod = objects["Deployment", name]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


def test_every_old_value_that_applies_reaches_the_pod(render):
    objects = render(OLD_VALUES)
    template = objects["Deployment", "ipu"]["spec"]["template"]
    pod, old = template["spec"], OLD_VALUES["controller"]
    assert template["metadata"]["annotations"]["note"] == "x"
    assert pod["imagePullSecrets"] == [{"name": "pull"}, {"name": "other"}]
    assert pod["serviceAccountName"] == "operator"
    assert pod["securityContext"]["runAsUser"] == 1000
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["runAsUser"] == 1001
    assert pod["containers"][0]["resources"]["limits"] == old["resources"]["limits"]
    for field in ["nodeSelector", "tolerations", "affinity"]:
        assert pod[field] == old[field]


def test_controllers_of_the_old_string_become_a_list(render):
    assert controllers(render(OLD_VALUES), "ipu") == ["pod1:8090:vipu-ctrl=a", "[fd00::1]:8091:vipu-ctrl=b"]
    assert controllers(render({"global": {"vipuControllers": "pod1,pod2:81, pod3:82:a.b/c="}})) == [
        "pod1", "pod2:81", "pod3:82:a.b/c="]


def test_simulated_controller_is_appended_to_those_given(render):
    given = [{"host": "pod1", "port": 8090, "selector": "vipu-ctrl=a"}]
    objects = render({**SIMULATED, "global": {"vipuControllers": given}})
    built_in = {"host": "ipu-operator-vipu-server.ipus.svc", "port": 8090, "selector": "vipu-ctrl=vctl1", "tls": True,
                "secretRef": {"name": "ipu-operator-vipu-keys"}}
    assert controllers(objects) == [*given, built_in]
    service = objects["Service", "ipu-operator-vipu-server"]["spec"]
    labels = objects["Deployment", "ipu-operator-vipu-server"]["spec"]["template"]["metadata"]["labels"]
    assert service["ports"][0]["port"] == 8090
    assert service["selector"].items() <= labels.items()


def mounted_secrets(objects):
    """The Secrets of controllers that the operator finds, with their files' paths."""
    pod = manager(objects)
    volumes = [volume for volume in pod["volumes"] if volume["name"] == "vipu-credentials"]
    return [source["secret"] for volume in volumes for source in volume["projected"]["sources"]]


def test_secrets_of_controllers_are_mounted_and_nothing_else_of_them(render):
    given = [{"host": "a", "secretRef": {"name": "one"}}, {"host": "b"}, {"host": "c", "secretRef": {"name": "one"}, "tls": False},
             {"host": "d", "secretRef": {"name": "two"}}]
    objects = render({"global": {"vipuControllers": given}})
    assert controllers(objects) == given
    one, two = mounted_secrets(objects)
    assert (one["name"], two["name"]) == ("one", "two") and one["optional"] is two["optional"] is True
    assert [(item["key"], item["path"]) for item in one["items"]] == [
        (key, f"one/{key}") for key in ("user-id", "access-key", "ca.crt", "client.crt", "client.key", "job-user-id", "job-access-key",
                                      "partition-secret")]
    (mount,) = [mount for mount in manager(objects)["containers"][0]["volumeMounts"] if mount["name"] == "vipu-credentials"]
    assert arguments(manager(objects))["credentials"] == mount["mountPath"] and mount["readOnly"] is True


OPEN = {"vipuServer": {"enabled": True, "secureMode": False}}


@pytest.mark.parametrize("values", [{}, OPEN, {"global": {"vipuControllers": "pod1:8090:a=b"}}])
def test_without_secrets_nothing_is_mounted(render, values):
    objects = render(values)
    assert mounted_secrets(objects) == [] and "credentials" not in arguments(manager(objects))


def test_simulated_controller_in_secure_mode(render):
    objects = render({"vipuServer": {"enabled": True, "secureMode": False, "filesSecret": "files", "credentialsSecret": "access", "config": {
        "secure": True, "tls": {"certificate": "/etc/vipu-server-files/tls.crt", "key": "/etc/vipu-server-files/tls.key"}}}})
    (entry,) = controllers(objects)
    assert entry["secretRef"] == {"name": "access"} and entry["tls"] is True
    assert [secret["name"] for secret in mounted_secrets(objects)] == ["access"]
    server = objects["Deployment", "ipu-operator-vipu-server"]["spec"]["template"]["spec"]
    assert {"name": "files", "secret": {"secretName": "files", "defaultMode": 0o440}} in server["volumes"]
    assert objects["Service", "ipu-operator-vipu-server"]["spec"]["ports"][0]["appProtocol"] == "https"


def test_simulated_controller_has_keys_that_no_manifest_contains(render):
    objects = render(SIMULATED)
    name = "ipu-operator-vipu-keys"
    assert not {"data", "stringData"} & set(objects["Secret", name])
    (entry,) = controllers(objects)
    assert entry["secretRef"] == {"name": name} and entry["tls"] is True
    assert [secret["name"] for secret in mounted_secrets(objects)] == [name]
    config = yaml.safe_load(objects["ConfigMap", "ipu-operator-vipu-server"]["data"]["vipu-server.yaml"])
    assert config["secure"] is True and set(config["tls"]) == {"certificate", "key"}
    assert config["users"] == [{"id": "operator", "access-key-file": "/etc/vipu-server-keys/access-key", "allocations": ["cl1"]}]
    (init,) = objects["Deployment", "ipu-operator"]["spec"]["template"]["spec"]["initContainers"]
    assert init["args"] == ["create-vipu-keys", name, "--namespace=ipus",
                            "--hosts=ipu-operator-vipu-server.ipus.svc,localhost,127.0.0.1"]
    assert {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": ["get", "patch"]} in \
        objects["Role", "ipu-operator-controller"]["rules"]


def test_simulated_controllers_own_allocations_are_the_operators(render):
    objects = render({"vipuServer": {"enabled": True, "config": {"clusters": [
        {"id": "a", "allocations": [{"id": "small", "agents": ["ag1"]}]}, {"id": "b"}]}}})
    config = yaml.safe_load(objects["ConfigMap", "ipu-operator-vipu-server"]["data"]["vipu-server.yaml"])
    assert config["users"][0]["allocations"] == ["a", "small", "b"]


def test_an_open_simulated_controller_has_no_keys(render):
    objects = render({"vipuServer": {"enabled": True, "secureMode": False}})
    (entry,) = controllers(objects)
    assert "secretRef" not in entry and "tls" not in entry and mounted_secrets(objects) == []
    assert ("Secret", "ipu-operator-vipu-keys") not in objects
    assert "initContainers" not in objects["Deployment", "ipu-operator"]["spec"]["template"]["spec"]


def test_new_controllers_restart_the_operator(render):
    def checksum(values):
        template = render(values)["Deployment", "ipu-operator"]["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/controllers"]

    assert checksum({}) != checksum(SIMULATED)


@pytest.mark.parametrize("ipus, domains", [(4, 1), (32, 1), (64, 1), (192, 3)])
def test_simulated_hardware_has_the_ipus_asked_for(render, ipus, domains):
    objects = render({"vipuServer": {"enabled": True, "secureMode": False, "ipus": ipus, "config": {"create-ms": 0}}})
    config = yaml.safe_load(objects["ConfigMap", "ipu-operator-vipu-server"]["data"]["vipu-server.yaml"])
    assert config == {"create-ms": 0, "clusters": [{"id": "cl1", "ipulink-domains": domains, "agents": ipus // 4}]}


def test_storage_is_an_empty_dir_by_default(render):
    def volume(values, name):
        volumes = render(values)["Deployment", f"{name}-vipu-server"]["spec"]["template"]["spec"]["volumes"]
        return next(volume for volume in volumes if volume["name"] == "storage")

    assert volume(SIMULATED, "ipu-operator") == {"name": "storage", "emptyDir": {}}
    assert volume(EVERYTHING, "ipu") == {"name": "storage", "hostPath": {"path": "/var/lib/vipu"}}


def test_accounts_and_roles_can_be_left_to_the_admin(render):
    objects = render({**NO_WEBHOOKS, "controller": {"serviceAccount": {"create": False}, "rbac": {"create": False}}})
    assert {kind for kind, _ in objects} == {"ConfigMap", "Deployment", "Job", "Pod", "Secret", "Service", "PodDisruptionBudget",
                                             "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


def test_without_rights_of_its_own_the_test_of_the_release_makes_no_job(render):
    def check(rbac):
        pod = render({"controller": {"rbac": {"create": rbac}}})["Pod", "ipu-operator-self-check"]["spec"]
        return pod["serviceAccountName"], [arg for arg in pod["containers"][0]["args"] if arg.startswith("--jobs=")]

    assert check(True) == ("ipu-operator-self-check", ["--jobs=true"])
    assert check(False) == ("ipu-operator-controller", ["--jobs=false"])


def test_two_installations_share_no_cluster_wide_name(render):
    def wide(values):
        return {key for key in render(values) if key[0].startswith("Cluster")}

    assert not wide({}) & wide({"fullnameOverride": "other"})


def test_devel_logs_are_the_level_debug(render):
    assert arguments(manager(render({"controller": {"logLevel": "warn", "develLogs": True}})))["log-level"] == "debug"


def test_no_rule_reads_secrets_or_has_wildcards(render):
    for (kind, _), thing in render({**SIMULATED, **NO_WEBHOOKS}).items():
        if kind not in ("ClusterRole", "Role"):
            continue
        for rule in thing["rules"]:
            if "nonResourceURLs" in rule:
                assert set(rule["nonResourceURLs"]) <= {"/metrics", "/queue", "/whatif", "/controllers", "/partitions"}
                continue
            assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
            assert "pods/exec" not in rule["resources"]
            if "secrets" in rule["resources"]:
                assert set(rule["verbs"]) <= {"create", "delete"} or rule.get("resourceNames") in (
                    ["ipu-operator-vipu-keys"], ["ipu-operator-progress"])


def test_the_only_secrets_that_are_read_are_those_of_the_operators_ports(render):
    readable = [(kind, rule) for (kind, _), thing in render(WEBHOOKS).items() if kind in ("ClusterRole", "Role")
                for rule in thing["rules"] if "secrets" in rule.get("resources", []) and not set(rule["verbs"]) <= {"create", "delete"}]
    assert readable == [("Role", {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": verbs})
                        for name, verbs in [("ipu-operator-progress", ["get", "patch"]),
                                            ("ipu-operator-admission", ["list", "watch", "patch"])]]


def test_webhooks_have_the_originals_names_and_paths(render):
    objects = render(WEBHOOKS)
    assert "data" not in objects["Secret", "ipu-operator-admission"]
    for kind, name, path in [("Mutating", "mipujob", "/mutate"), ("Validating", "vipujob", "/validate")]:
        (hook,) = objects[f"{kind}WebhookConfiguration", "ipu-operator-admission"]["webhooks"]
        service = hook["clientConfig"].pop("service")
        assert not hook["clientConfig"], "the operator fills in the CA"
        assert service == {"name": "ipu-operator-webhook-svc", "namespace": "ipus", "port": 443,
                           "path": f"{path}-graphcore-ai-v1alpha1-ipujob"}
        assert hook["name"] == f"{name}.graphcore.ai"
        assert hook["rules"] == [{"apiGroups": ["graphcore.ai"], "apiVersions": ["v1alpha1"], "resources": ["ipujobs"],
                                  "operations": ["CREATE", "UPDATE"], "scope": "Namespaced"}]
        assert (hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"]) == ("Fail", "None", 10)


def test_the_webhooks_service_leads_to_the_operators_port(render):
    objects = render(EVERYTHING)
    service = objects["Service", "ipu-webhook-svc"]
    labels = objects["Deployment", "ipu"]["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"]: port["containerPort"] for port in manager(objects, "ipu")["containers"][0]["ports"]}
    assert service["spec"]["selector"].items() <= labels.items()
    assert (service["spec"]["type"], service["metadata"]["annotations"]) == ("NodePort", {"a": "b"})
    assert service["spec"]["ports"] == [{"name": "https", "port": 8443, "targetPort": "webhooks"}]
    assert ports["webhooks"] == 9444
    (hook,) = objects["MutatingWebhookConfiguration", "ipu-admission"]["webhooks"]
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Ignore", 5)
    assert hook["clientConfig"]["service"]["port"] == 8443


def test_versions_of_chart_and_programs_agree():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = re.search(r"project\(ipu-operator VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert chart["version"] == chart["appVersion"] == project


# Helm 3 asks a cluster even for a dry run.
@pytest.mark.parametrize("helm", ["helm"], indirect=True)
def test_notes_show_the_next_step(helm):
    def notes(values):
        done = helm("install", values, "--dry-run=client")
        assert done.returncode == 0, done.stderr
        return done.stdout.partition("NOTES:")[2]

    nothing = notes({})
    assert "no V-IPU controller is configured" in nothing and "--set global.vipuControllers=HOST:8090:LABEL=VALUE" in nothing
    assert "label node" not in nothing
    simulated = notes(SIMULATED)
    assert simulated.count("kubectl label node NODE vipu-ctrl=vctl1") == 1
    assert "WARNING" not in simulated and "NOTE:" not in simulated
    several = notes({"global": {"vipuControllers": "[fd00::1]:8091:a.b/c=d,pod1:8090:vipu-ctrl=b,pod2,pod3:1:vipu-ctrl=b"}})
    assert re.findall("label node NODE (.*)", several) == ["a.b/c=d", "vipu-ctrl=b"]
    listed = notes({"global": {"vipuControllers": [{"host": "pod1", "selector": "vipu-ctrl=a"}, {"host": "pod2"}]}})
    assert re.findall("label node NODE (.*)", listed) == ["vipu-ctrl=a"]
    assert "  kubectl apply -f job.yaml\n" in several
    assert "no Secret is set for [fd00::1]:8091, pod1:8090, pod2, pod3:1." in several
    assert "no Secret is set for pod1, pod2." in listed
    keys = [{"host": "pod1", "secretRef": {"name": "access"}}]
    assert "Secret is set" not in simulated + notes({"global": {"vipuControllers": keys}})
    assert "is not in secure mode" not in simulated and "is not in secure mode" in notes(OPEN)
    there = notes({**NO_WEBHOOKS, "controller": {"watchNamespace": "research"}})
    assert "  kubectl -n research apply -f job.yaml\n  kubectl -n research get ij\n" in there
    assert "NOTE: with controller.replicas=1" in notes({"controller": {"replicas": 1}})
