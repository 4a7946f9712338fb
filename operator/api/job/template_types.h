/* Values in a pod template that the resource definition describes, and that are of another kind: without a
 * webhook its schema rejects them, with one they are named beside the other mistakes. Fields that it does not
 * describe are left to the API server's dry run. Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* The template at `path` of the job, such as spec/workers/template. */
void template_types_check(const cJSON *job, const char *path, struct strv *problems);
/* A list of environment variables at `path` of the job. */
void template_types_check_env(const cJSON *job, const char *path, struct strv *problems);

/* k8s.io/apimachinery, pkg/api/resource/quantity.go: a number with an optional suffix, as text or as a whole
 * number. */
bool quantity_is_valid(const cJSON *value);
double quantity_read(const cJSON *value); /* 0: none, or not valid */
#define QUANTITY_WANTED "must be a quantity such as 2, 500m or 4Gi"
