/* The API server's rejection: a metav1.Status turned into an error kind for the caller, and into one text
 * with everything for the user (each cause with its field path). Pure. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"

#define KUBE_MESSAGE_MAX_BYTES ((size_t)4096)

/* ERR_DENIED has reasons that want different patience. */
enum kube_denial {
    KUBE_DENIAL_NONE,
    KUBE_DENIAL_RULES,                 /* RBAC or an admission policy */
    KUBE_DENIAL_POD_SECURITY,          /* the namespace's pod security standard */
    KUBE_DENIAL_QUOTA,                 /* "exceeded quota": try again when something has gone */
    KUBE_DENIAL_NAMESPACE_TERMINATING, /* final */
    KUBE_DENIAL_CREDENTIALS,           /* 401 */
    KUBE_DENIAL_LEASE,                 /* by this process: it does not hold the lease, nothing was sent */
};

struct kube_status {
    struct err err; /* kind, HTTP status and the message, cut to what an err holds */
    enum kube_denial denial;
    char *reason;           /* "AlreadyExists"; "" when the server gave none */
    char *message;          /* the whole message with all causes, at most KUBE_MESSAGE_MAX_BYTES */
    int64_t retry_after_ms; /* -1 when the server asked for nothing */
};

/* Reads a rejection. `body` may be NULL or no Status at all: then the kind comes from the HTTP status alone.
 *   404 NOT_FOUND · 409 AlreadyExists EXISTS, else CONFLICT · 410 GONE · 400, 413, 415, 422 INVALID · 401,
 * 403 DENIED · 408, 504 TIMEOUT · 429, 503 BUSY · any other 4xx INVALID, 5xx IO; but what
 * admission webhooks and policies reject with one of these two is DENIED */
void kube_status_read(int http_status, const cJSON *body, int64_t retry_after_ms, struct kube_status *ret);
void kube_status_release(struct kube_status *status);

/* The HTTP status in a Status object of a watch stream; 500 if it has none. */
int kube_status_code(const cJSON *status);
