/* What a launcher pod inherits from its workers' template and what spec.launcher changes; and the reverse,
 * from a field of the result to the template that gives it. Pure. docs/launcher.md describes it for users. */
#pragma once

#include "base/doc/json.h"

/* The launcher's pod spec from the workers' pod spec and spec.launcher, before the operator adds anything;
 * its first container is the launcher's. Values of a wrong type count as absent, so that it also works on
 * templates that were not validated. The caller frees it. */
cJSON *pod_overlay_spec(const cJSON *workers, const cJSON *launcher);

enum pod_overlay_source {
    POD_OVERLAY_OWN,       /* given by spec.launcher */
    POD_OVERLAY_INHERITED, /* given by the workers' template */
    POD_OVERLAY_MISSING,   /* given by neither: it is missing */
};

/* Which template gives a field of pod_overlay_spec's result, such as "containers[0].env[2].name". *ret_field
 * is its path, actual or possible, in spec.launcher; owned by the caller. */
enum pod_overlay_source pod_overlay_trace(const cJSON *made, const cJSON *launcher, const char *field,
                                          char **ret_field);
