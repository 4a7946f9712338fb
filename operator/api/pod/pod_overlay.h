/* What a launcher's pod takes over from its workers', and what spec.launcher says differently; and the way
 * back, from a field of the outcome to where it was said. Pure. docs/launcher.md has it in words. */
#pragma once

#include "base/doc/json.h"

/* The launcher's pod spec as the workers' pod spec and spec.launcher make it, before the operator adds
 * anything; its first container is the launcher's. What is of another type than it should be counts as not
 * given, so that it can be asked about templates that nobody has judged. Yours. */
cJSON *pod_overlay_spec(const cJSON *workers, const cJSON *launcher);

enum pod_overlay_source {
    POD_OVERLAY_OWN,       /* spec.launcher says it */
    POD_OVERLAY_INHERITED, /* the workers' template does */
    POD_OVERLAY_MISSING,   /* neither does: it is missing */
};

/* Who says a field of pod_overlay_spec's outcome, such as "containers[0].env[2].name". *ret_field is where it
 * stands, or would stand, in spec.launcher; yours. */
enum pod_overlay_source pod_overlay_trace(const cJSON *made, const cJSON *launcher, const char *field,
                                          char **ret_field);
