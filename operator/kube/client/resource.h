/* The Kubernetes kinds that the operator touches: one constant row each. Pure. */
#pragma once

#include "base/core/str.h"

struct kube_resource {
    const char *group; /* "" for the core group */
    const char *version;
    const char *plural; /* "pods", as the path has it */
    const char *kind;   /* "Pod" */
};

extern const struct kube_resource KUBE_PODS;
extern const struct kube_resource KUBE_CONFIGMAPS;
extern const struct kube_resource KUBE_SERVICES;
extern const struct kube_resource KUBE_ENDPOINT_SLICES; /* discovery.k8s.io/v1 */
extern const struct kube_resource KUBE_SECRETS;
extern const struct kube_resource KUBE_NODES;
extern const struct kube_resource KUBE_NETWORK_POLICIES; /* networking.k8s.io/v1 */
extern const struct kube_resource KUBE_NAMESPACES;
extern const struct kube_resource KUBE_LEASES;
extern const struct kube_resource KUBE_EVENTS; /* events.k8s.io/v1 */
extern const struct kube_resource KUBE_CRDS;   /* apiextensions.k8s.io/v1 */
extern const struct kube_resource KUBE_POD_TEMPLATES;
extern const struct kube_resource KUBE_TOKEN_REVIEWS;
extern const struct kube_resource KUBE_SUBJECT_REVIEWS;
extern const struct kube_resource KUBE_MUTATING_WEBHOOKS;   /* admissionregistration.k8s.io/v1 */
extern const struct kube_resource KUBE_VALIDATING_WEBHOOKS; /* admissionregistration.k8s.io/v1 */
extern const struct kube_resource KUBE_IPUJOBS;             /* graphcore.ai/v1alpha1 */
extern const struct kube_resource KUBE_VIPU_CONTROLLERS;

/* Appends "v1" or "graphcore.ai/v1alpha1". */
void kube_api_version_add(struct str *out, const struct kube_resource *resource);
