#include "world/process.h"

#include <assert.h>

#include "base/core/mem.h"
#include "fakes/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/events/events.h"
#include "operator/kube/auth/config_loader.h"
#include "operator/kube/leader_election/lease.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/state/reconciler_state.h"
#include "operator/reconcile/queue/run_times.h"
#include "world/world.h"

#define EXEMPT_S 10 /* programs of the world run for a minute or so */

struct process {
    struct process_options options;
    char *name;
    struct namespace_numbers quotas, instance_quotas;
    struct client_config identity;
    struct loop *loop;
    struct kube *kube;
    struct events *events;
    struct lease *lease;
    struct reconciler *reconciler; /* while leading */
    bool has_ended;
};

static bool holds_lease(const struct process *process)
{
    return lease_is_held(process->lease, loop_clock_ms());
}

/* A write that was not sent has gone wrong as one that was lost on its way: it may be planned again. */
static bool may_write(void *ctx)
{
    bool may = holds_lease(ctx);

    net->news += !may;
    return may;
}

static void on_started(void *ctx)
{
    struct process *process = ctx;

    if (process->has_ended) /* the program exits when it loses the lease; an answer of the same turn comes too
                               late */
        return;
    process->reconciler = reconciler_new(process->loop, process->kube, process->events,
                                         &(struct reconciler_options){
                                             .controllers = process->options.controllers,
                                             .operator_ns = WORLD_OPERATOR_NS,
                                             .watch_ns = process->options.watch_ns,
                                             .partition_prefix = "p",
                                             .pods = {.launcher_image = "ipu-launch:1",
                                                      .launcher_pull_policy = "IfNotPresent",
                                                      .network_policy = true},
                                             .quotas = process->options.ipu_quota ? &process->quotas : NULL,
                                             .instance_quotas = &process->instance_quotas,
                                             .queue_policy = process->options.policy,
                                             .forecast = FORECAST_SETTINGS_DEFAULT,
                                             .preempts = process->options.has_preemption,
                                             .exempt_s = EXEMPT_S,
                                             .hold_ms = process->options.hold_ms,
                                             .requeue_ms = WORLD_REQUEUE_MS,
                                             .partition_failure_ms = WORLD_TROUBLE_MS,
                                             .may_write = may_write,
                                             .ctx = process,
                                         });
}

static void on_lost(void *ctx)
{
    struct process *process = ctx;

    reconciler_abort(process->reconciler);
    process->has_ended = true;
}

const struct queue_plan *process_queue_plan(const struct process *process)
{
    return process->reconciler ? &process->reconciler->queue_plan : NULL;
}

uint64_t process_broken_by_backfill(const struct process *process)
{
    return process->reconciler
               ? reconciler_counters(process->reconciler)->promises[PROMISE_BROKEN_BY_BACKFILL]
               : 0;
}

int64_t process_expects_s(const struct process *process, const char *uid)
{
    const struct job_cache *cache =
        process->reconciler ? map_get(&process->reconciler->job_caches, uid) : NULL;

    return cache ? run_times_of_kind(process->reconciler, &cache->kind).p90 : 0;
}

struct process *process_new(const struct process_options *options)
{
    struct process *process = NEW(struct process);
    struct err err = {0};
    AUTO(mem) char *quotas = mem_printf("*=%u", options->ipu_quota);
    AUTO(mem) char *instance_quotas = mem_printf("*=%u", options->instance_quota);
    AUTO(strv) struct strv problems = {0};

    process->options = *options;
    namespace_numbers_read(quotas, "", &process->quotas, &problems);
    namespace_numbers_read(instance_quotas, "", &process->instance_quotas, &problems);
    process->name = mem_strdup(options->name);
    process->identity = (struct client_config){.server = mem_strdup("https://api"),
                                               .ns = mem_strdup(WORLD_OPERATOR_NS),
                                               .origin = mem_strdup("the simulator")};
    process->loop = loop_new();
    loop_host(process->loop)->name = mem_strdup(options->name);
    process->kube =
        kube_new(process->loop, &process->identity, &(struct kube_options){.program = "ipu-operator"}, &err);
    assert(process->kube);
    kube_set_write_gate(process->kube, may_write, process);
    process->events =
        events_new(process->kube, &(struct events_options){.controller = "graphcore.ai/ipu-operator",
                                                           .instance = process->name});
    process->lease = lease_new(process->kube, &(struct lease_options){.ns = WORLD_OPERATOR_NS,
                                                                      .name = "ipu-operator",
                                                                      .holder = process->name,
                                                                      .on_started = on_started,
                                                                      .on_lost = on_lost,
                                                                      .ctx = process});
    return process;
}

void process_free(struct process *process)
{
    if (!process)
        return;
    loop_host(process->loop)->is_dead = true;
    reconciler_free(process->reconciler);
    lease_free(process->lease);
    events_free(process->events);
    kube_free(process->kube);
    loop_free(process->loop);
    client_config_release(&process->identity);
    namespace_numbers_release(&process->quotas);
    namespace_numbers_release(&process->instance_quotas);
    mem_free(process->name);
    mem_free(process);
}

struct host *process_host(struct process *process)
{
    return loop_host(process->loop);
}

bool process_has_ended(const struct process *process)
{
    return process->has_ended;
}

const char *process_remembers(const struct process *process, bool (*is_known)(void *ctx, const char *uid),
                              void *ctx)
{
    const char *uid;
    void *memory;

    for (size_t i = 0;
         process->reconciler && map_next(&process->reconciler->job_caches, &i, &uid, &memory);) {
        if (!is_known(ctx, uid))
            return uid;
    }
    return NULL;
}
