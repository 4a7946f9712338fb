/* The jobs of tests/golden/pods, and where their pods are placed. */
#pragma once

#include "operator/api/pod/pod_spec.h"

struct podspec_case {
    const char *name; /* tests/golden/pods/<name>.yaml, and .json for the pod */
    uint32_t instance, worker;
    struct partition_placement place;
    struct pod_spec_options options;
};

extern const struct podspec_case podspec_cases[];
extern const size_t podspec_case_count;

struct job *podspec_case_job(const struct podspec_case *c); /* owned by the caller */
void podspec_case_set_template(struct job *job, const char *text);
cJSON *podspec_case_pod(const struct podspec_case *c, const struct job *job); /* owned by the caller */
