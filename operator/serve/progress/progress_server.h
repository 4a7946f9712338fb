/* Where the programs of jobs report their progress: HTTPS, wire-compatible with Kubeflow's KEP-2779. Each
 * replica verifies the caller's token itself (operator/progress/token.h) and answers 200 to every pod that is
 * who it says, because clients repeat what is answered otherwise at every step. The leader keeps the report;
 * a standby sends it on to the leader. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "operator/api/pod/pod_spec.h"
#include "operator/serve/pages/leader_proxy.h"

struct kube;
struct progress_server;
struct token_pod;

struct progress_server_options {
    uint16_t port;            /* 0: any free one */
    const char *ns, *secret;  /* of the certificate; must outlive it */
    const struct strv *names; /* by which pods reach it, the first in their variable; must outlive it */
    /* This process leads and has the report; false: it does not lead. *ret_is_known: the pod is one of a
     * job. */
    bool (*report)(void *ctx, const struct token_pod *pod, struct slice body, bool *ret_is_known);
    bool (*leader)(void *ctx, struct leader_endpoint *ret); /* as in pages_options */
    void *ctx;
};

MUST_USE struct progress_server *
progress_server_new(struct kube *kube, const struct progress_server_options *options, struct err *err);
void progress_server_free(struct progress_server *server); /* not from inside a callback of the loop */
/* What pods need to report; without a CA until the certificate is known. Lives as long as the server. */
const struct pod_progress *progress_server_access(const struct progress_server *server);
