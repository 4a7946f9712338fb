/* What the operator knows of an object that pods of a job share, a Service, an EndpointSlice or a
 * NetworkPolicy: whose it is. Pure. */
#pragma once

#include "base/doc/json.h"

struct owned {
    char *ns, *name, *uid, *resource_version;
    char *job_uid;      /* of the controlling IPUJob */
    char *job_key;      /* "namespace/name" of it */
    bool has_selector;  /* of a Service: the cluster says who is behind it, as in those of earlier versions */
    uint64_t content;   /* of an EndpointSlice: who is in it, as endpoints.h tells it */
    int64_t written_ms; /* of an EndpointSlice: when this process saw it so first */
};

struct owned *owned_parse(const cJSON *object); /* NULL when no IPUJob owns it */
void owned_free(struct owned *owned);

static inline void owned_auto(struct owned **owned)
{
    owned_free(*owned);
}
