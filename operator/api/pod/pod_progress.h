/* How a job's program reports its progress: the variables of Kubeflow's KEP-2779 and the files that they
 * name. Pure. docs/progress.md has the contract. */
#pragma once

#include "operator/api/pod/pod_env.h"

/* The first container of `spec` can report, unless its template has one of the variables: those of another
 * server must not be combined with the token for this one. */
void pod_progress_mount(cJSON *spec, struct pod_env *env, const struct pod_spec_options *options);
/* The CA that pod_progress_mount refers to. */
void pod_progress_annotate(cJSON *pod, const struct pod_spec_options *options);
