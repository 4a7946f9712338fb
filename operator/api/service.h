/* What the operator knows of a Service: whose it is. Pure. */
#pragma once

#include "base/doc/json.h"

struct service {
    char *ns, *name, *resource_version;
    char *job_uid; /* of the controlling IPUJob */
    char *job_key; /* "namespace/name" of it */
};

struct service *service_parse(const cJSON *object); /* NULL when no IPUJob owns it */
void service_free(struct service *service);

static inline void service_auto(struct service **service)
{
    service_free(*service);
}
