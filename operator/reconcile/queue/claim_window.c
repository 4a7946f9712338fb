#include "operator/reconcile/queue/claim_window.h"

#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "operator/reconcile/state/schedule.h"

#define SLICE_JOBS 1000 /* in a turn of the loop... */
#define SLICE_US 1000   /* ...or as many as it takes so long */
#define INTERVAL_MS 1000

static struct claim_key key_of(const struct job_cache *cache)
{
    return (struct claim_key){cache->priority, job_cache_turn_s(cache), cache->arrival};
}

void claim_window_add(struct reconciler *r, struct job_cache *cache)
{
    if (!map_set(&r->claim_window.jobs, cache->uid, cache))
        r->claim_window.new_count++;
    if (!cache->is_claiming) {
        cache->is_claiming = true;
        cache->place = key_of(cache);
        claim_order_add(&r->with_claims, &cache->place, cache);
    }
    r->claim_window.has_changed = true;
    claim_window_note(r, cache);
}

void claim_window_note(struct reconciler *r, struct job_cache *cache)
{
    struct claim_key key = key_of(cache);
    uint32_t waiting = cache->share.waiting;
    bool has_moved = claim_key_compare(&key, &cache->place) != 0;

    if (!cache->is_claiming)
        return;
    if (has_moved) {
        claim_order_remove(&r->with_claims, &cache->place);
        claim_order_add(&r->with_claims, &key, cache);
        cache->place = key;
    }
    queue_totals_note(&r->queue_totals, cache, !r->all_seen || cache->arrival <= r->first_arrivals);
    if (has_moved || cache->share.waiting != waiting) /* it is noted at each reconcile */
        r->claim_window.has_changed = true;
}

void claim_window_remove(struct reconciler *r, const char *uid)
{
    struct job_cache *cache = map_get(&r->job_caches, uid);

    if (!cache || !cache->is_claiming)
        return;
    cache->is_claiming = false;
    cache->claims.full = CLAIM_NOTHING_TO_REPORT;
    claim_order_remove(&r->with_claims, &cache->place);
    queue_totals_drop(&r->queue_totals, cache);
    map_remove(&r->claim_window.jobs, uid);
    r->claim_window.has_changed = true;
}

/* ---- the first jobs ---- */

static uint32_t group_of(const struct reconciler *r, const struct job_cache *cache)
{
    uint64_t hash = fnv64_add_bytes(FNV64_BASIS, cache->key, strcspn(cache->key, "/"));

    for (size_t i = 0; cache->eligible && i < pool_count(r->pool); i++)
        hash = fnv64_add(hash, cache->eligible[i]);
    return (uint32_t)(hash >> 32) % CLAIM_GROUPS;
}

/* As the look would, which does not come to it. */
static void report_behind(struct reconciler *r, struct job_cache *cache)
{
    struct job_claims *mine = &cache->claims;
    size_t about = 0, count = pool_count(r->pool);
    struct claims_controller controller;
    struct claim_verdict verdict = {.why = mine->full ? mine->full : CLAIM_IS_FAR_BEHIND,
                                    .position = CLAIMS_POSITIONS + 1};
    struct claim claim = {.job = cache->key, .size = cache->ipus_per_instance};

    while (about < count && cache->eligible && !cache->eligible[about])
        about++;
    if (about == count || !mine->is_ready || (mine->is_answered && mine->wait.why == verdict.why))
        return;
    controller = (struct claims_controller){.name = pool_controller(r->pool, about)->config->name};
    claim_wait_release(&mine->wait);
    claims_explain(&(struct claims_view){.controllers = &controller,
                                         .controller_count = 1,
                                         .limits = r->options.queue_limits},
                   0, &claim, &verdict, &mine->wait);
    mine->is_answered = true;
    reconciler_enqueue(r, cache->key);
}

/* Who is granted IPUs stays, so that the next look takes them back or not. */
static void place(struct reconciler *r, struct job_cache *cache)
{
    struct claim_window *window = &r->claim_window;
    const struct job_claims *mine = &cache->claims;
    size_t *group_passed = &window->group_passed[group_of(r, cache)];
    size_t share = CLAIM_WINDOW_JOBS / 2 / (window->group_count ? window->group_count : 1);
    enum claim_wait_cause full;
    bool is_first = window->passed++ < CLAIM_WINDOW_JOBS / 2, has_changed;

    is_first = (*group_passed)++ < share || is_first;
    full = claims_admit(&window->admitted, cache->key, (uint32_t)(mine->count - mine->grant_count));
    has_changed = full != mine->full;
    cache->claims.full = full;
    if (mine->grant_count || is_first) {
        has_changed = !map_set(&window->jobs, cache->uid, cache) || has_changed;
        window->is_awaited = window->is_awaited || has_changed;
    } else {
        map_remove(&window->jobs, cache->uid);
        report_behind(r, cache);
    }
}

static void step(struct loop_timer *timer);

static void begin(struct reconciler *r)
{
    struct claim_window *window = &r->claim_window;

    loop_timer_stop(&window->look);
    claims_admitted_begin(&window->admitted, &r->options.queue_limits, r->queue_totals.waiting);
    memset(window->group_passed, 0, sizeof(window->group_passed));
    window->passed = window->new_count = 0;
    window->is_awaited = window->has_changed = false;
    window->next_ms = loop_now_ms(r->loop) + INTERVAL_MS;
    loop_timer_start(r->loop, &window->slice, 0, step);
}

/* It has grown with those who have left: a look would walk all of it. */
static void shrink(struct map *jobs)
{
    struct map small = {.borrows_keys = true};
    const char *uid;
    void *cache;

    for (size_t i = 0; map_next(jobs, &i, &uid, &cache);)
        map_set(&small, uid, cache);
    map_release(jobs);
    *jobs = small;
}

static void finish(struct reconciler *r)
{
    struct claim_window *window = &r->claim_window;

    loop_timer_stop(&window->slice);
    shrink(&window->jobs);
    window->group_count = 0;
    for (size_t i = 0; i < CLAIM_GROUPS; i++)
        window->group_count += window->group_passed[i] > 0;
    claims_admitted_release(&window->admitted);
    if (window->is_awaited)
        reconciler_claims_changed(r);
}

static void step(struct loop_timer *timer)
{
    struct reconciler *r = CONTAINER_OF(timer, struct reconciler, claim_window.slice);
    struct claim_window *window = &r->claim_window;
    int64_t begun_us = loop_clock_us();

    loop_timer_start(r->loop, timer, 0, step);
    for (unsigned i = 0; i < SLICE_JOBS && loop_clock_us() - begun_us < SLICE_US; i++) {
        struct job_cache *cache =
            claim_order_next(&r->with_claims, window->passed ? &window->at : NULL, &window->at);

        if (!cache) {
            finish(r);
            return;
        }
        place(r, cache);
    }
}

static void request_look(struct loop_timer *timer)
{
    reconciler_claims_changed(CONTAINER_OF(timer, struct reconciler, claim_window.look));
}

bool claim_window_is_ready(struct reconciler *r)
{
    struct claim_window *window = &r->claim_window;
    size_t count = window->jobs.count;
    int64_t now = loop_now_ms(r->loop);
    bool has_others = count < r->with_claims.count;

    if (!loop_timer_is_running(&window->slice)) {
        if ((has_others && (count < CLAIM_WINDOW_JOBS / 2 || now >= window->next_ms)) ||
            (count > CLAIM_WINDOW_JOBS && window->new_count > CLAIM_WINDOW_NEW))
            begin(r);
        else if (has_others && window->has_changed) /* who is behind is told so in time */
            loop_timer_start(r->loop, &window->look, window->next_ms - now, request_look);
    }
    if (claim_window_is_found(window) || !loop_timer_is_running(&window->slice))
        return true;
    window->is_awaited = true;
    return false;
}

void claim_window_stop(struct claim_window *window)
{
    loop_timer_stop(&window->slice);
    loop_timer_stop(&window->look);
}

void claim_window_release(struct claim_window *window)
{
    claim_window_stop(window);
    claims_admitted_release(&window->admitted);
    map_release(&window->jobs);
}
