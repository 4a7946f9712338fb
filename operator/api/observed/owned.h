/* The operator's view of an object that the pods of a job share (a Service, an EndpointSlice or a
 * NetworkPolicy): its owner. Pure. */
#pragma once

#include "base/doc/json.h"

struct owned {
    char *ns, *name, *uid, *resource_version;
    char *job_uid;      /* of the controlling IPUJob */
    char *job_key;      /* "namespace/name" of it */
    bool has_selector;  /* of a Service: the cluster selects its endpoints, as in earlier versions */
    uint64_t content;   /* of an EndpointSlice: a hash of its endpoints (endpoints.h) */
    int64_t written_ms; /* of an EndpointSlice: when this process first saw it in this state */
};

struct owned *owned_parse(const cJSON *object); /* NULL if no IPUJob owns it */
void owned_free(struct owned *owned);

static inline void owned_auto(struct owned **owned)
{
    owned_free(*owned);
}
