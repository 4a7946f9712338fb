#include "operator/kube/client/resource.h"

const struct kube_resource KUBE_PODS = {"", "v1", "pods", "Pod"};
const struct kube_resource KUBE_CONFIGMAPS = {"", "v1", "configmaps", "ConfigMap"};
const struct kube_resource KUBE_SERVICES = {"", "v1", "services", "Service"};
const struct kube_resource KUBE_ENDPOINT_SLICES = {"discovery.k8s.io", "v1", "endpointslices",
                                                   "EndpointSlice"};
const struct kube_resource KUBE_SECRETS = {"", "v1", "secrets", "Secret"};
const struct kube_resource KUBE_NODES = {"", "v1", "nodes", "Node"};
const struct kube_resource KUBE_NAMESPACES = {"", "v1", "namespaces", "Namespace"};
const struct kube_resource KUBE_NETWORK_POLICIES = {"networking.k8s.io", "v1", "networkpolicies",
                                                    "NetworkPolicy"};
const struct kube_resource KUBE_LEASES = {"coordination.k8s.io", "v1", "leases", "Lease"};
const struct kube_resource KUBE_EVENTS = {"events.k8s.io", "v1", "events", "Event"};
const struct kube_resource KUBE_CRDS = {"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                        "CustomResourceDefinition"};
const struct kube_resource KUBE_POD_TEMPLATES = {"", "v1", "podtemplates", "PodTemplate"};
const struct kube_resource KUBE_TOKEN_REVIEWS = {"authentication.k8s.io", "v1", "tokenreviews",
                                                 "TokenReview"};
const struct kube_resource KUBE_SUBJECT_REVIEWS = {"authorization.k8s.io", "v1", "subjectaccessreviews",
                                                   "SubjectAccessReview"};
const struct kube_resource KUBE_MUTATING_WEBHOOKS = {
    "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"};
const struct kube_resource KUBE_VALIDATING_WEBHOOKS = {"admissionregistration.k8s.io", "v1",
                                                       "validatingwebhookconfigurations",
                                                       "ValidatingWebhookConfiguration"};
const struct kube_resource KUBE_IPUJOBS = {"graphcore.ai", "v1alpha1", "ipujobs", "IPUJob"};
const struct kube_resource KUBE_VIPU_CONTROLLERS = {"graphcore.ai", "v1alpha1", "vipucontrollers",
                                                    "VIPUController"};

void kube_api_version_add(struct str *out, const struct kube_resource *resource)
{
    if (resource->group[0] != '\0')
        str_addf(out, "%s/", resource->group);
    str_adds(out, resource->version);
}
