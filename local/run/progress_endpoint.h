/* Where the programs of a run report their progress: as the operator's own server, with tokens that the node
 * asks for in place of a kubelet. It listens on the loopback address alone. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"
#include "operator/api/pod/pod_spec.h"
#include "operator/progress/token.h"

struct loop;
struct progress_endpoint;

struct progress_endpoint_options {
    bool (*report)(void *ctx, const struct token_pod *pod, struct slice body); /* false: it runs no more */
    void *ctx;
};

MUST_USE struct progress_endpoint *
progress_endpoint_new(struct loop *loop, const struct progress_endpoint_options *options, struct err *err);
void progress_endpoint_free(struct progress_endpoint *endpoint); /* accepts NULL */
/* How pods reach it; valid as long as the endpoint. */
const struct pod_progress *progress_endpoint_access(const struct progress_endpoint *endpoint);
/* A token by which its program is known; owned by the caller. */
char *progress_endpoint_token(struct progress_endpoint *endpoint, const cJSON *pod);
