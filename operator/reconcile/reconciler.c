#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/state/partitions.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/history/history.h"
#include "operator/reconcile/decide/decide.h"
#include "operator/reconcile/act/act.h"
#include "operator/reconcile/queue/grants.h"
#include "operator/reconcile/observe/job_cache_events.h"
#include "operator/reconcile/observe/observe.h"
#include "operator/reconcile/observe/watches.h"
#include "operator/reconcile/queue/run_times.h"
#include "operator/reconcile/state/schedule.h"
#include "operator/reconcile/queue/claim_window.h"
#include "operator/reconcile/queue/told_forecast.h"

/* A silent watch that is restarted counts as in trouble until its first event, or its end: up to 71 s. */
#define WATCH_STALE_MS ((int64_t)120000)
/* A replica that may send nothing looks again after so long whether its lease was renewed; else it ends. */
#define NOT_LEADING_MS 500
#define TURN_US 2000 /* after which no further job is reconciled in this turn of the loop */

/* ---- pool events ---- */

static void on_partition(void *ctx, const char *controller, const char *id)
{
    struct reconciler *r = ctx;
    const struct record *record = reconciler_record(r, id);

    (void)controller;
    if (record)
        reconciler_enqueue(r, record->job_key);
}

static void on_capacity_change(void *ctx)
{
    reconciler_claims_changed(ctx);
}

static bool may_send(void *ctx)
{
    struct reconciler *r = ctx;

    return !r->aborted && r->options.may_write(r->options.ctx);
}

/* ---- one key ---- */

static bool is_met(const struct job_cache *cache, const struct expectation *expectation)
{
    const struct store_item *item = store_get(watch_store(expectation->watch), expectation->key);

    if (expectation->resource_version)
        return job_cache_has_version(cache, expectation->resource_version) ||
               watch_has_passed(expectation->watch, expectation->resource_version);
    return !item || (expectation->may_linger && ((const struct pod *)item->view)->deleting) ||
           (expectation->other_than &&
            !str_eq(((const struct pod *)item->view)->resource_version, expectation->other_than));
}

/* When to look again because a write does not show in the watch yet; 0: all writes do. */
static int64_t wait_for_watch_until(struct reconciler *r, struct job_cache *cache)
{
    int64_t earliest = 0, now = loop_now_ms(r->loop);

    for (size_t i = 0; i < cache->expectation_count;) {
        const struct expectation *e = &cache->expectations[i];

        if (is_met(cache, e) || now >= e->until_ms) {
            job_cache_drop_expectation(cache, i);
            continue;
        }
        if (!earliest || e->until_ms < earliest)
            earliest = e->until_ms;
        i++;
    }
    return earliest > now + EXPECT_MS ? now + EXPECT_MS : earliest;
}

static void reconcile(struct reconciler *r, const char *key)
{
    const struct store_item *item = store_get(watch_store(r->jobs), key);
    const struct job *job = item ? item->view : NULL;
    struct job_cache *cache = job ? job_cache_get(r, key, job->uid) : NULL;
    const char *unconfirmed = observe_unconfirmed(r, key);
    int64_t until = cache ? wait_for_watch_until(r, cache) : 0;
    struct observation o;
    AUTO(plan) struct plan plan = {0};

    if (until) {
        workqueue_add_after(r->queue, key, until);
        workqueue_done(r->queue, key);
        return;
    }
    if (unconfirmed) {
        act_confirm_gone(r, key, unconfirmed);
        return;
    }
    observe(r, key, &o);
    job_decide(&o.view, &plan);
    observation_release(&o);
    r->counters.reconciles++;
    r->counters.empty += plan.count == 0;
    if (cache) {
        if (!plan_has(&plan, cache->write_rejected_op)) /* it is no longer wanted */
            mem_set_str(&cache->write_rejected, NULL);
        cache->details_since_ms = plan_details_since(&plan, cache->details_since_ms, loop_now_ms(r->loop));
        run_times_note_job(cache, job);
        grants_set(r, job, cache, &plan);
    }
    act(r, key, job, cache, &plan);
}

static void on_due(struct loop_timer *timer)
{
    struct reconciler *r = CONTAINER_OF(timer, struct reconciler, due);
    int64_t begun_us = loop_clock_us();
    const char *key;

    if (!reconciler_is_synced(r) || r->aborted)
        return;
    if (!job_cache_forget_unlisted(r)) {
        loop_timer_start(r->loop, &r->due, 0, r->on_due);
        return;
    }
    if (!may_send(r)) {
        loop_timer_start(r->loop, &r->due, NOT_LEADING_MS, r->on_due);
        return;
    }
    if (r->claims_changed && loop_now_ms(r->loop) >= r->claims_due_ms) {
        r->claims_changed = false;
        grants_refresh(r);
    }
    /* Bounded for each turn of the loop: parsing and building pods must not delay the renewal of the lease.
     */
    for (int i = 0; i < 16 && loop_clock_us() - begun_us < TURN_US && r->requests < REQUESTS_MAX &&
                    may_send(r) && (key = workqueue_get(r->queue, loop_now_ms(r->loop)));
         i++) {
        AUTO(mem) char *copy = mem_strdup(key);

        reconcile(r, copy);
    }
    if (r->requests < REQUESTS_MAX)
        reconciler_wake(r);
}

/* ---- life cycle ---- */

struct reconciler *reconciler_new(struct loop *loop, struct kube *kube, struct events *events,
                                  const struct reconciler_options *options)
{
    struct reconciler *r = NEW(struct reconciler);

    r->loop = loop;
    r->kube = kube;
    r->events = events;
    r->options = *options;
    r->with_offers.borrows_keys = r->claim_window.jobs.borrows_keys = true; /* the job caches own them */
    for (size_t i = 0; i < PHASES; i++)
        r->counters.phases[i].scale = OPENMETRICS_WORK;
    for (size_t i = 0; i < PHASES_SIZES; i++)
        r->counters.waits[i].scale = OPENMETRICS_WORK;
    r->on_due = on_due;
    r->queue_plan.loop = loop;
    r->queue_plan.on_due = on_capacity_change;
    r->queue_plan.tell = told_forecast_tell;
    r->queue_plan.ctx = r;
    r->queue = workqueue_new();
    r->history = history_new();
    r->history->usage.half_life_s = options->share_half_life_s;
    r->pool = pool_new(loop, &(struct pool_options){.config = options->controllers,
                                                    .credentials = options->credentials,
                                                    .may_send = may_send,
                                                    .on_partition = on_partition,
                                                    .on_capacity_change = on_capacity_change,
                                                    .ctx = r});
    r->queue_totals.controllers = pool_count(r->pool);
    watches_start(r);
    return r;
}

void reconciler_abort(struct reconciler *r)
{
    r->aborted = true;
    loop_timer_stop(&r->due);
    claim_window_stop(&r->claim_window);
    queue_plan_release(&r->queue_plan);
    pool_abort(r->pool);
    kube_abort(r->kube);
}

void reconciler_free(struct reconciler *r)
{
    void *value;

    if (!r)
        return;
    r->aborted = true;
    loop_timer_stop(&r->due);
    act_cancel_all(r);
    watches_stop(r);
    pool_free(r->pool);
    workqueue_free(r->queue);
    history_free(r->history);
    for (size_t i = 0; map_next(&r->job_caches, &i, NULL, &value);)
        job_cache_free(value);
    claim_order_release(&r->with_claims);
    queue_totals_release(&r->queue_totals);
    job_counts_release(&r->job_counts);
    claim_window_release(&r->claim_window);
    map_release(&r->with_offers);
    map_release(&r->job_caches);
    mem_free(r->unlisted);
    map_release(&r->confirmed_gone);
    map_release(&r->executions);
    queue_plan_release(&r->queue_plan);
    dry_run_cache_release(&r->dry_run_cache);
    accounting_release(&r->counters.accounting);
    for (size_t i = 0; i < PAGE_LISTS; i++)
        page_snapshot_release(&r->snapshots[i]);
    mem_free(r);
}

uint32_t reconciler_largest_partition(const struct reconciler *r)
{
    return pool_largest_partition(r->pool);
}

void reconciler_set_cordon(struct reconciler *r, size_t controller, const struct cordon *cordon)
{
    pool_set_cordon(r->pool, controller, cordon);
}

void reconciler_cordons_known(struct reconciler *r)
{
    r->cordons_are_known = true;
}

bool reconciler_is_synced(const struct reconciler *r)
{
    return reconciler_watches_are_synced(r);
}

bool reconciler_knows_queue(const struct reconciler *r)
{
    return r->all_validated && claim_window_is_found(&r->claim_window);
}

char *reconciler_trouble(const struct reconciler *r)
{
    const struct watch *watches[WATCHES_MAX];
    size_t count = reconciler_watches(r, watches);

    for (size_t i = 0; i < count; i++) {
        int64_t since_ms = 0;
        const struct err *trouble = watch_trouble(watches[i], &since_ms);
        int64_t age_ms = loop_now_ms(r->loop) - since_ms;

        if (trouble && (age_ms >= WATCH_STALE_MS || !watch_is_synced(watches[i])))
            return mem_printf("watch of %s failing for %lld s: %s", watch_resource(watches[i]),
                              (long long)(age_ms / 1000), trouble->msg);
    }
    return NULL;
}

const struct reconciler_counters *reconciler_counters(const struct reconciler *r)
{
    return &r->counters;
}

struct history *reconciler_history(const struct reconciler *r)
{
    return r->history;
}
