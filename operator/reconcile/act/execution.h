/* A plan being performed: its requests in flight, and what follows when the last one is answered. Shared by
 * act.c, which sends, and responses.c, which reads the answers. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* One plan being performed. */
struct execution {
    struct reconciler *r;
    char *key, *uid; /* uid: of the job; "" when the job is gone */
    int64_t generation;
    unsigned outstanding;
    bool failed;
    int64_t again_at_ms;
    int64_t started_us;
    struct request *requests; /* in flight, for cancelling */
    struct plan events;       /* to be sent when the status that they report is written */
};

/* One request of a plan. */
struct request {
    struct execution *execution;
    struct kube_call *call;
    struct op op; /* moved out of the plan */
    struct request *next, **link;
};

/* execution.c */
struct execution *execution_new(struct reconciler *r, const char *key,
                                const char *uid);  /* holds one reference: release it with execution_unref */
void execution_unref(struct execution *execution); /* dropping the last reference ends the execution with
                                                      reconciler_execution_done */
void execution_again_at(struct execution *execution, int64_t at_ms);
struct job_cache *
execution_job_cache(const struct execution *execution); /* NULL when the job is gone and its cache freed */
/* NULL when the job is gone, or has changed since the plan was made. */
const struct job *execution_job(const struct execution *execution);
char *execution_ns(const struct execution *execution); /* the job's namespace, owned by the caller */
/* The op is moved in. Everything in http is copied. */
void execution_send(struct execution *execution, struct op *op, const struct kube_request *http,
                    kube_done_fn done);
/* The op is moved in. */
void execution_hold_event(struct execution *execution, struct op *op);
void execution_send_events(struct execution *execution); /* those that are held */
void execution_free(struct execution *execution);        /* cancels what is in flight */
void request_end(
    struct request *request); /* Called when the request is answered: frees it and drops its reference. */
