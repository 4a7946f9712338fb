/* A plan being performed: its requests in flight, and what is owed when the last of them is answered. Shared
 * by act.c, which sends, and answers.c, which reads what comes back. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* One plan being performed. */
struct work {
    struct reconciler *r;
    char *key, *uid; /* uid: of the job; "" when it is gone */
    int64_t generation;
    unsigned outstanding;
    bool failed;
    int64_t again_at_ms;
    int64_t begun_us;
    struct request *requests; /* in flight, for cancelling */
};

/* One request of a plan. */
struct request {
    struct work *work;
    struct kube_call *call;
    struct op op; /* moved out of the plan */
    struct request *next, **link;
};

/* work.c */
struct work *work_new(struct reconciler *r, const char *key,
                      const char *uid); /* with one hold: work_put it */
void work_put(struct work *work);       /* the last one ends it with reconciler_work_done */
void work_again_at(struct work *work, int64_t at_ms);
struct job_memory *work_memory(const struct work *work); /* NULL when the job is forgotten */
char *work_ns(const struct work *work);                  /* the job's namespace, yours */
/* The op is moved in. Everything in http is copied. */
void work_send(struct work *work, struct op *op, const struct kube_request *http, kube_done_fn done);
void work_free(struct work *work);         /* cancels what is in flight */
void request_end(struct request *request); /* answered: frees it and puts its work */

/* act.c: asks about a worker; with op.worker, about the launcher; with op.ready, under a name that the API
 * server chooses. */
void act_send_dry_run(struct work *work, struct op *op, const struct job *job);

/* answers.c: kube_done_fn for every op that is a request; ctx is the struct request. */
void answer_op(void *ctx, struct kube_response *res);
void answer_look(void *ctx, struct kube_response *res); /* is the job of this uid still there? */
