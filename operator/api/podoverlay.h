/* What a launcher's pod takes over from its workers', and what spec.launcher says differently; and the way
 * back, from a field of the outcome to where it was said. Pure. docs/launcher.md has it in words. */
#pragma once

#include "base/doc/json.h"

/* The launcher's pod spec as the workers' pod spec and spec.launcher make it, before the operator adds
 * anything; its first container is the launcher's. What is of another type than it should be counts as not
 * given, so that it can be asked about templates that nobody has judged. Yours. */
cJSON *podoverlay_spec(const cJSON *workers, const cJSON *launcher);

enum podoverlay_source {
    PODOVERLAY_OWN,        /* spec.launcher says it */
    PODOVERLAY_TAKEN_OVER, /* the workers' template does */
    PODOVERLAY_NOBODYS,    /* neither does: it is missing */
};

/* Who says a field of podoverlay_spec's outcome, such as "containers[0].env[2].name". *ret_field is where it
 * stands, or would stand, in spec.launcher; yours. */
enum podoverlay_source podoverlay_trace(const cJSON *made, const cJSON *launcher, const char *field,
                                        char **ret_field);
