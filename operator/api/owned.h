/* What the operator knows of an object that all pods of a job share, a Service or a NetworkPolicy: whose it
 * is. Pure. */
#pragma once

#include "base/doc/json.h"

struct owned {
    char *ns, *name, *resource_version;
    char *job_uid; /* of the controlling IPUJob */
    char *job_key; /* "namespace/name" of it */
};

struct owned *owned_parse(const cJSON *object); /* NULL when no IPUJob owns it */
void owned_free(struct owned *owned);

static inline void owned_auto(struct owned **owned)
{
    owned_free(*owned);
}
