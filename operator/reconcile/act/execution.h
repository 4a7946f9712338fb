/* A plan being performed: its requests in flight, and what is owed when the last of them is answered. Shared
 * by act.c, which sends, and answers.c, which reads what comes back. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* One plan being performed. */
struct execution {
    struct reconciler *r;
    char *key, *uid; /* uid: of the job; "" when it is gone */
    int64_t generation;
    unsigned outstanding;
    bool failed;
    int64_t again_at_ms;
    int64_t started_us;
    struct request *requests; /* in flight, for cancelling */
};

/* One request of a plan. */
struct request {
    struct execution *execution;
    struct kube_call *call;
    struct op op; /* moved out of the plan */
    struct request *next, **link;
};

/* work.c */
struct execution *execution_new(struct reconciler *r, const char *key,
                                const char *uid);  /* with one hold: execution_unref it */
void execution_unref(struct execution *execution); /* the last one ends it with reconciler_execution_done */
void execution_again_at(struct execution *execution, int64_t at_ms);
struct job_cache *execution_job_cache(const struct execution *execution); /* NULL when the job is forgotten */
/* NULL when the job is gone, or is not what the plan was made for. */
const struct job *execution_job(const struct execution *execution);
char *execution_ns(const struct execution *execution); /* the job's namespace, yours */
/* The op is moved in. Everything in http is copied. */
void execution_send(struct execution *execution, struct op *op, const struct kube_request *http,
                    kube_done_fn done);
void execution_free(struct execution *execution); /* cancels what is in flight */
void request_end(struct request *request);        /* answered: frees it and puts its work */
