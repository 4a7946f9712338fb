"""A stand-in for the vendor's chart 1.2.0: its objects, names and labels, with containers that do nothing. And its
jobs, with what its operator leaves in them and beside them."""


import yaml

PAUSE = "ipu-operator.local/pause:1"
VALUES = {
    "nameOverride": "", "fullnameOverride": "ipu-operator",
    "global": {"imagePullSecrets": [], "vipuControllers": "vipu-server:8090:vipu-ctrl=vctl1",
               "launcherImage": "graphcore/ipu-operator-launcher", "launcherImagePullPolicy": "IfNotPresent",
               "kubectlVersion": ""},
    "controller": {
        "develLogs": False,
        "image": {"repository": "graphcore/ipu-operator-controller", "pullPolicy": "Always"},
        "serviceAccount": {"create": True, "annotations": {}, "name": ""},
        "rbac": {"create": True},
        "service": {"type": "ClusterIP", "port": 8443},
        "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "512Mi"}},
        "podAnnotations": {}, "podSecurityContext": {"runAsUser": 65532}, "securityContext": {},
        "nodeSelector": {}, "tolerations": [], "affinity": {}},
    "vipuProxy": {
        "image": {"repository": "graphcore/ipu-operator-vipu-proxy", "pullPolicy": "Always"},
        "proxyPartitionTrackerConfigMap": "ipu-partitions-tracker", "proxyWriteTimeoutSeconds": 300, "proxyReadTimeoutSeconds": 30,
        "proxyIdleTimeoutSeconds": 60, "proxyPort": 8080, "logLevel": 2,
        "serviceAccount": {"create": True, "annotations": {}, "name": ""},
        "rbac": {"create": True},
        "service": {"type": "ClusterIP", "port": 80},
        "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "podAnnotations": {}, "podSecurityContext": {}, "securityContext": {},
        "nodeSelector": {}, "tolerations": [], "affinity": {}},
    "admissionWebhooks": {"timeoutSeconds": 30, "failurePolicy": "Fail", "port": 9443,
                          "service": {"annotations": {}, "servicePort": 443, "type": "ClusterIP"}},
    "worker": {"hostNetwork": True},
}
COUNTS = {"type": "object", "properties": {name: {"type": "integer"} for name in ("active", "succeeded", "failed")}}
TIME = {"type": "string", "format": "date-time"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "ipujobs.graphcore.ai"},
    "spec": {
        "group": "graphcore.ai", "scope": "Namespaced",
        "names": {"kind": "IPUJob", "listKind": "IPUJobList", "plural": "ipujobs", "singular": "ipujob"},
        "versions": [{
            "name": "v1alpha1", "served": True, "storage": True,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.jobInstances",
                                                     "statusReplicasPath": ".status.desiredReplicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["ipusPerJobInstance", "jobInstances", "workers"], "properties": {
                    "jobInstances": {"type": "integer", "format": "int32"},
                    "ipusPerJobInstance": {"type": "string"},
                    "workers": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
                "status": {"type": "object", "required": ["desiredReplicas", "lastMessage"], "properties": {
                    "launcherStatus": {"type": "string", "default": "Pending"}, "lastMessage": {"type": "string"},
                    "currentReplicas": {"type": "integer"}, "desiredReplicas": {"type": "integer"},
                    "iPUPartitionCreated": {"type": "boolean"}, "workersStatus": COUNTS,
                    "restartCount": {"type": "integer"}, "startTime": TIME, "completionTime": TIME,
                    "lastReconcileTime": TIME}}}}},
        }],
    },
}


def template(full, release):
    """The objects of the release, as reference names them."""
    labels = {"app.kubernetes.io/name": "ipu-operator", "app.kubernetes.io/instance": release,
              "helm.sh/chart": "ipu-operator-1.2.0"}

    def named(kind, version, name, **more):
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels}, **more}

    def deployment(component):
        chosen = {**labels, "control-plane": component}
        del chosen["helm.sh/chart"]
        return named("Deployment", "apps/v1", f"{full}-{component}", spec={
            "selector": {"matchLabels": chosen},
            "template": {"metadata": {"labels": chosen}, "spec": {"containers": [{"name": "manager", "image": PAUSE}]}}})

    def service(name, component, port):
        return named("Service", "v1", f"{full}-{name}", spec={
            "selector": {"control-plane": component}, "ports": [{"name": "https", "port": port, "targetPort": port}]})

    def role(name, cluster="Cluster"):
        rules = [{"apiGroups": ["graphcore.ai"], "resources": ["ipujobs"], "verbs": ["get"]}]
        return [named(f"{cluster}Role", "rbac.authorization.k8s.io/v1", f"{release}-{name}-role", rules=rules),
                named(f"{cluster}RoleBinding", "rbac.authorization.k8s.io/v1", f"{release}-{name}-rolebinding",
                      roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": f"{cluster}Role", "name": f"{release}-{name}-role"},
                      subjects=[{"kind": "ServiceAccount", "name": f"{full}-controller", "namespace": "default"}])]

    def webhook(kind, verb):
        return named(f"{kind}WebhookConfiguration", "admissionregistration.k8s.io/v1", f"{full}-admission", webhooks=[{
            "name": f"{verb[0]}ipujob.graphcore.ai", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 30,
            "admissionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": {"service": {"name": f"{full}-webhook-svc", "namespace": "{{ .Release.Namespace }}",
                                         "path": f"/{verb}-graphcore-ai-v1alpha1-ipujob"},
                             "caBundle": '{{ (genCA "ca" 365).Cert | b64enc }}'},
            "rules": [{"apiGroups": ["graphcore.ai"], "apiVersions": ["v1alpha1"], "resources": ["ipujobs"],
                       "operations": ["CREATE", "UPDATE"], "scope": "*"}]}])

    def test(name, weight):
        pod = named("Pod", "v1", f"{full}-test-{name}", spec={
            "restartPolicy": "Never", "containers": [{"name": "test", "image": PAUSE}]})
        pod["metadata"]["annotations"] = {"helm.sh/hook": "test", "helm.sh/hook-weight": str(weight)}
        return pod

    return [
        deployment("controller-manager"), deployment("vipu-proxy"),
        service("controller-manager-metrics", "controller-manager", 8443),
        service("webhook-svc", "controller-manager", 443), service("vipu-proxy", "vipu-proxy", 80),
        named("ConfigMap", "v1", f"{full}-vipu-controllers", data={"controllers.yaml": "vipu-server:8090:vipu-ctrl=vctl1"}),
        named("Secret", "v1", f"{full}-admission", stringData={"ca": "a", "cert": "b", "key": "c"}),
        named("ServiceAccount", "v1", f"{full}-controller"), named("ServiceAccount", "v1", f"{full}-vipu-proxy"),
        webhook("Mutating", "mutate"), webhook("Validating", "validate"),
        *role("manager"), *role("auth-proxy"), *role("vipu-proxy"), *role("leader-election", cluster=""),
        named("ClusterRole", "rbac.authorization.k8s.io/v1", f"{release}-metrics-reader",
              rules=[{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
        *(test(name, weight) for weight, name in enumerate(("connection", "basic-pod", "unannotated-pod"))),
    ]


def write(folder, release):
    """The chart as a folder."""
    (folder / "templates").mkdir(parents=True)
    (folder / "crds").mkdir()
    (folder / "Chart.yaml").write_text(yaml.safe_dump(
        {"apiVersion": "v2", "name": "ipu-operator", "version": "1.2.0", "appVersion": "1.2.0", "type": "application"}))
    (folder / "values.yaml").write_text(yaml.safe_dump(VALUES))
    (folder / "crds" / "graphcore.ai_ipujobs.yaml").write_text(yaml.safe_dump(DEFINITION))
    objects = template(VALUES["fullnameOverride"], release)
    (folder / "templates" / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return folder


def job(name, script):
    """A job in the vendor's spelling: counts are strings."""
    return {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": name},
            "spec": {"jobInstances": 1, "ipusPerJobInstance": "4", "workers": {"template": {"spec": {
                "containers": [{"name": "main", "image": "ipu-operator/ipu-examples:0.1.0",
                                "command": ["/bin/bash", "-c", script]}], "restartPolicy": "Never"}}}}}


def status(state):
    """What the vendor's operator writes into a job's status."""
    ended = state == "Completed"
    return {"launcherStatus": state, "lastMessage": "All instances done" if ended else "Running", "desiredReplicas": 1,
            "currentReplicas": 0 if ended else 1, "iPUPartitionCreated": True, "restartCount": 0,
            "workersStatus": {"succeeded" if ended else "active": 1}, "startTime": "2023-06-01T10:00:00Z",
            "lastReconcileTime": "2023-06-01T10:00:00Z"}


def pod_of(job):
    """The worker's pod, which the job owns; without a label of this project's."""
    owner = {"apiVersion": job["apiVersion"], "kind": "IPUJob", "name": job["metadata"]["name"],
             "uid": job["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{job['metadata']['name']}-worker-0", "ownerReferences": [owner]},
            "spec": {**job["spec"]["workers"]["template"]["spec"], "terminationGracePeriodSeconds": 1}}
