/* The jobs of tests/golden/pods, and where their pods are placed. */
#pragma once

#include "operator/api/pod/pod_spec.h"

struct pod_spec_case {
    const char *name; /* tests/golden/pods/<name>.yaml, and .json for the pod */
    uint32_t instance, worker;
    struct partition_placement place;
    struct pod_spec_options options;
};

extern const struct pod_spec_case pod_spec_cases[];
extern const size_t pod_spec_case_count;

struct job *pod_spec_case_job(const struct pod_spec_case *c); /* owned by the caller */
void pod_spec_case_set_template(struct job *job, const char *text);
cJSON *pod_spec_case_pod(const struct pod_spec_case *c, const struct job *job); /* owned by the caller */
