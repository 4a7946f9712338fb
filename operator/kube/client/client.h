/* Requests to the Kubernetes API. One struct kube has three pools of connections: work, watches, lease, so
 * that the lease never queues behind work. Requests run in flight together, at most KUBE_WINDOW of them;
 * later ones wait their turn here, not inside the HTTP library, so that the write gate is asked right before
 * the bytes go out.
 *
 * What it does by itself, within the request's time: asks again after 429 (nothing was done), after 503 and
 * broken connections when the request is safe to repeat (GET, PUT, DELETE, apply and merge patches without an
 * answer; POST only with retry_post; never JSON patches), and once after 401 with the credentials read again.
 * It has no rate limit of its own. It never reads an object in order to write it.
 *
 * Callbacks run from the loop, never from inside kube_send. After `done` the call is gone; after kube_cancel
 * no callback of it runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"
#include "base/doc/openmetrics.h"
#include "operator/kube/client/resource.h"
#include "operator/kube/client/status.h"

struct client_config;
struct kube;
struct kube_call;
struct loop;

#define KUBE_WINDOW 32u
#define KUBE_TIMEOUT_MS ((int64_t)30000)

#define KUBE_APPLY_PATCH "application/apply-patch+yaml"
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_JSON_PATCH "application/json-patch+json"

enum kube_class { KUBE_WORK, KUBE_WATCH, KUBE_LEASE, KUBE_CLASS_COUNT };

/* Everything is borrowed for the duration of kube_send only. */
struct kube_request {
    const char *method;                   /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const struct kube_resource *resource; /* or NULL: `path` */
    const char *ns;                       /* NULL: none */
    const char *name;                     /* NULL: the collection */
    const char *sub;                      /* "status", "scale", or NULL */
    const char *path;                     /* raw, only without resource: "/version" */
    const char *const *query;             /* key, value, key, value, NULL; escaped here. Or NULL */
    const cJSON *body;                    /* or NULL */
    struct slice text;                    /* a body that is text already; used when body is NULL */
    const char *content_type;             /* NULL: application/json */
    const char *accept;                   /* type of the answer, a constant; NULL: application/json */
    int64_t timeout_ms;                   /* all tries together; 0: KUBE_TIMEOUT_MS */
    enum kube_class class;                /* KUBE_WORK or KUBE_LEASE */
    bool retry_post; /* the name is deterministic: 409 afterwards may be our own first try */
};

/* Owned by the client; the callback may TAKE body. */
struct kube_response {
    int http_status; /* 0 when no answer came */
    cJSON *body;     /* parsed answer, also of rejections; NULL when there was none */
    size_t bytes;    /* of its text */
    int64_t date_s;  /* when it was sent, by the API server's clock; -1: it does not say */
    struct err err;  /* kind ERR_NONE: done */
    enum kube_denial denial;
    const char *reason;  /* of the Status: "Conflict"; "" when none */
    const char *message; /* whole text for the user, with every cause and field path; "" on success */
    int64_t retry_after_ms;
    bool is_in_doubt; /* a try got no clear answer, and may have taken effect: 409, and a rejection for a
                         quota, may be due to our own first try */
};

typedef void (*kube_done_fn)(void *ctx, struct kube_response *res);
typedef bool (*kube_gate_fn)(void *ctx);

struct kube_options {
    const char *program;        /* "ipu-operator": user agent and field manager prefix */
    unsigned window;            /* 0: KUBE_WINDOW */
    unsigned watch_connections; /* where a proxy speaks HTTP/1.1 only, each stream needs one; 0: 8 */
    size_t turn_bytes;          /* of streams, in one turn of the loop; 0: no limit */
    void (*on_warning)(const char *text); /* of the API server, each once; NULL: it is logged */
};

/* `identity` is borrowed and must outlive the client, which refreshes it (at least each minute, and after
 * 401). */
MUST_USE struct kube *kube_new(struct loop *loop, struct client_config *config,
                               const struct kube_options *options, struct err *err);
void kube_free(
    struct kube *kube); /* cancels everything; watches, leases and events on it must be freed before */

/* Asked right before each write of class KUBE_WORK is sent (and before each repetition); false ends it with
 * ERR_DENIED, KUBE_DENIAL_LEASE. No gate: all may write. */
void kube_set_write_gate(struct kube *kube, kube_gate_fn may_write, void *ctx);

struct kube_call *kube_send(struct kube *kube, const struct kube_request *request, kube_done_fn done,
                            void *ctx);
void kube_cancel(struct kube_call *call); /* accepts NULL; the call must not have finished */

/* The lease is lost or about to be released: the gate may have passed requests that still wait for a
 * connection, and none of them may be sent after that. All requests in flight fail with ERR_IO, except
 * watches and the lease's own. */
void kube_abort(struct kube *kube);

struct loop *kube_loop(const struct kube *kube);
/* Reads the credentials again: a stream ended with 401. */
void kube_renew_credentials(struct kube *kube);

/* What was asked so far, for tests and metrics. Rows are per method and plural; borrowed until the next
 * kube_send. */
struct kube_counter {
    const char *method; /* "WATCH" and "LIST" are counted apart from "GET" */
    const char *resource;
    uint64_t sent; /* repetitions included */
    uint64_t failed;
    struct openmetrics_histogram
        durations; /* from the request's bytes being sent to the response; not for watches */
};
size_t kube_counters(const struct kube *kube, const struct kube_counter **ret);
