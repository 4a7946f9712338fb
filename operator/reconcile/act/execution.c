#include "operator/reconcile/act/execution.h"

#include <string.h>

#include "base/core/mem.h"

struct work *work_new(struct reconciler *r, const char *key, const char *uid)
{
    struct work *work = NEW(struct work);

    work->r = r;
    work->key = mem_strdup(key);
    work->uid = mem_strdup(uid);
    work->begun_us = loop_clock_us();
    work->outstanding = 1; /* ours, until all is sent */
    map_set(&r->works, key, work);
    return work;
}

static void work_end(struct work *work)
{
    struct reconciler *r = work->r;
    AUTO(mem) char *key = TAKE(work->key);
    bool failed = work->failed;
    int64_t again_at_ms = work->again_at_ms;

    openmetrics_observe(&r->counters.durations, (uint64_t)(loop_clock_us() - work->begun_us));
    map_remove(&r->works, key);
    mem_free(work->uid);
    mem_free(work);
    reconciler_work_done(r, key, failed, again_at_ms);
}

void work_put(struct work *work)
{
    if (--work->outstanding == 0)
        work_end(work);
}

void work_again_at(struct work *work, int64_t at_ms)
{
    if (!work->again_at_ms || at_ms < work->again_at_ms)
        work->again_at_ms = at_ms;
}

struct job_memory *work_memory(const struct work *work)
{
    return map_get(&work->r->memories, work->uid);
}

static void request_free(struct request *request)
{
    request->work->r->requests--;
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    op_release(&request->op);
    mem_free(request);
}

void work_send(struct work *work, struct op *op, const struct kube_request *http, kube_done_fn done)
{
    struct request *request = NEW(struct request);

    request->work = work;
    request->op = *op;
    *op = (struct op){0};
    request->next = work->requests;
    request->link = &work->requests;
    if (request->next)
        request->next->link = &request->next;
    work->requests = request;
    work->outstanding++;
    work->r->requests++;
    request->call = kube_send(work->r->kube, http, done, request);
}

void request_end(struct request *request)
{
    struct work *work = request->work;

    request_free(request);
    reconciler_wake(work->r); /* there may be room for another key */
    work_put(work);
}

char *work_ns(const struct work *work)
{
    return mem_strndup(work->key, strcspn(work->key, "/"));
}

void work_free(struct work *work)
{
    while (work->requests) {
        struct request *request = work->requests;

        kube_cancel(request->call);
        request_free(request);
    }
    mem_free(work->key);
    mem_free(work->uid);
    mem_free(work);
}
