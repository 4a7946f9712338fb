#include "operator/reconcile/act/execution.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/kube/events/events.h"
#include "operator/reconcile/state/schedule.h"

struct execution *execution_new(struct reconciler *r, const char *key, const char *uid)
{
    struct execution *execution = NEW(struct execution);

    execution->r = r;
    execution->key = mem_strdup(key);
    execution->uid = mem_strdup(uid);
    execution->started_us = loop_clock_us();
    execution->outstanding = 1; /* one reference of its own until every request is sent */
    map_set(&r->executions, key, execution);
    return execution;
}

static void execution_end(struct execution *execution)
{
    struct reconciler *r = execution->r;
    AUTO(mem) char *key = TAKE(execution->key);
    bool failed = execution->failed;
    int64_t again_at_ms = execution->again_at_ms;

    openmetrics_observe(&r->counters.durations, (uint64_t)(loop_clock_us() - execution->started_us));
    map_remove(&r->executions, key);
    plan_release(&execution->events);
    mem_free(execution->uid);
    mem_free(execution);
    reconciler_execution_done(r, key, failed, again_at_ms);
}

void execution_unref(struct execution *execution)
{
    if (--execution->outstanding == 0)
        execution_end(execution);
}

void execution_again_at(struct execution *execution, int64_t at_ms)
{
    if (!execution->again_at_ms || at_ms < execution->again_at_ms)
        execution->again_at_ms = at_ms;
}

struct job_cache *execution_job_cache(const struct execution *execution)
{
    return map_get(&execution->r->job_caches, execution->uid);
}

static void request_free(struct request *request)
{
    request->execution->r->requests--;
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    op_release(&request->op);
    mem_free(request);
}

void execution_send(struct execution *execution, struct op *op, const struct kube_request *http,
                    kube_done_fn done)
{
    struct request *request = NEW(struct request);

    request->execution = execution;
    request->op = *op;
    *op = (struct op){0};
    request->next = execution->requests;
    request->link = &execution->requests;
    if (request->next)
        request->next->link = &request->next;
    execution->requests = request;
    execution->outstanding++;
    execution->r->requests++;
    request->call = kube_send(execution->r->kube, http, done, request);
}

void request_end(struct request *request)
{
    struct execution *execution = request->execution;

    request_free(request);
    reconciler_wake(execution->r); /* another key may start now */
    execution_unref(execution);
}

char *execution_ns(const struct execution *execution)
{
    return namespace_of_key(execution->key);
}

void execution_free(struct execution *execution)
{
    while (execution->requests) {
        struct request *request = execution->requests;

        kube_cancel(request->call);
        request_free(request);
    }
    plan_release(&execution->events);
    mem_free(execution->key);
    mem_free(execution->uid);
    mem_free(execution);
}

/* ---- events ---- */

void execution_hold_event(struct execution *execution, struct op *op)
{
    *plan_add(&execution->events, op->kind) = *op;
    *op = (struct op){0};
}

/* The log outlives the event. The failure's words are left out: they may be a program's last lines. */
static void send_event(const struct execution *execution, const struct op *op)
{
    AUTO(mem) char *ns = execution_ns(execution);

    log_info("job event", KV("job", execution->key), KV("reason", op->reason));
    events_send(execution->r->events, &(struct event){
                                          .regarding = {.api_version = API_GROUP_VERSION,
                                                        .kind = API_KIND,
                                                        .ns = ns,
                                                        .name = strchr(execution->key, '/') + 1,
                                                        .uid = execution->uid},
                                          .type = op->warning ? "Warning" : "Normal",
                                          .reason = op->reason,
                                          .action = "Reconcile",
                                          .note = op->text,
                                      });
}

void execution_send_events(struct execution *execution)
{
    for (size_t i = 0; i < execution->events.count; i++)
        send_event(execution, &execution->events.ops[i]);
    plan_release(&execution->events);
}

const struct job *execution_job(const struct execution *execution)
{
    const struct store_item *item = store_get(watch_store(execution->r->jobs), execution->key);
    const struct job *job = item ? item->view : NULL;

    return job && str_eq(job->uid, execution->uid) && job->generation == execution->generation ? job : NULL;
}
