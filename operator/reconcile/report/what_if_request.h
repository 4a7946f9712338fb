/* What a reader of the pages asks about: a job that does not exist. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"
#include "base/doc/json.h"

#define WHAT_IF_PATH "/whatif"
#define WHAT_IF_BODY_MAX ((size_t)64 * 1024)

struct what_if_request {
    char *ns;
    char *name;               /* "": none */
    uint64_t image;           /* as of a job */
    uint32_t ipus, instances; /* IPUs of each instance */
    int32_t priority;
    int64_t bound_s;      /* releases its IPUs so long after the start; FORECAST_UNKNOWN: no bound */
    cJSON *node_selector; /* NULL: all nodes */
};

/* {"ipus", "instances", "for", "priority", "namespace"}, or an IPUJob. False with all mistakes in it, each a
 * line as the API server writes its own. */
MUST_USE bool what_if_request_read(struct slice body, struct what_if_request *ret, struct strv *problems);
void what_if_request_release(struct what_if_request *request);
DEFINE_AUTO(what_if_request);
