#include "operator/reconcile/state/claim_window.h"

#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "operator/reconcile/state/schedule.h"

#define SLICE_JOBS 1000 /* in a turn of the loop... */
#define SLICE_US 1000   /* ...or as many as it takes so long */
#define INTERVAL_MS 1000

void claim_window_add(struct reconciler *r, struct job_cache *cache)
{
    map_set(&r->with_claims, cache->uid, cache);
    if (!map_set(&r->claim_window.jobs, cache->uid, cache))
        r->claim_window.new_count++;
    claim_window_note(r, cache);
}

void claim_window_note(struct reconciler *r, struct job_cache *cache)
{
    if (map_get(&r->with_claims, cache->uid))
        queue_totals_note(&r->queue_totals, cache, !r->all_seen || cache->arrival <= r->first_arrivals);
}

void claim_window_remove(struct reconciler *r, const char *uid)
{
    struct job_cache *cache = map_remove(&r->with_claims, uid);

    if (cache)
        queue_totals_drop(&r->queue_totals, cache);
    map_remove(&r->claim_window.jobs, uid);
}

/* ---- the first jobs ---- */

static uint32_t group_of(const struct reconciler *r, const struct job_cache *cache)
{
    uint64_t hash = fnv64_add_bytes(FNV64_BASIS, cache->key, strcspn(cache->key, "/"));

    for (size_t i = 0; cache->eligible && i < pool_count(r->pool); i++)
        hash = fnv64_add(hash, cache->eligible[i]);
    return (uint32_t)(hash >> 32) % CLAIM_GROUPS;
}

static struct claim_key key_of(const struct job_cache *cache)
{
    return (struct claim_key){cache->priority, job_cache_turn_s(cache), cache->arrival};
}

/* As the look would, which does not come to it. */
static void report_behind(struct reconciler *r, struct job_cache *cache)
{
    struct job_claims *mine = &cache->claims;
    size_t about = 0, count = pool_count(r->pool);
    struct claims_controller controller;
    struct claim_verdict verdict = {.why = CLAIM_IS_FAR_BEHIND, .position = CLAIMS_POSITIONS + 1};
    struct claim claim = {.job = cache->key, .size = cache->ipus_per_instance};

    while (about < count && cache->eligible && !cache->eligible[about])
        about++;
    if (about == count || !mine->is_ready || (mine->is_answered && mine->wait.why == CLAIM_IS_FAR_BEHIND))
        return;
    controller = (struct claims_controller){.name = pool_controller(r->pool, about)->config->name};
    claim_wait_release(&mine->wait);
    claims_explain(&(struct claims_view){.controllers = &controller, .controller_count = 1}, 0, &claim,
                   &verdict, &mine->wait);
    mine->is_answered = true;
    reconciler_enqueue(r, cache->key);
}

/* Who is granted IPUs stays, so that the next look takes them back or not. */
static void place(struct reconciler *r, struct job_cache *cache)
{
    struct claim_window *window = &r->claim_window;
    struct claim_key key = key_of(cache);

    if (cache->claims.grant_count || claim_selection_has(&window->selection, group_of(r, cache), &key)) {
        window->is_awaited = !map_set(&window->jobs, cache->uid, cache) || window->is_awaited;
    } else {
        map_remove(&window->jobs, cache->uid);
        report_behind(r, cache);
    }
}

static void step(struct loop_timer *timer);

static void begin(struct reconciler *r)
{
    struct claim_window *window = &r->claim_window;

    claim_selection_begin(&window->selection, CLAIM_WINDOW_JOBS,
                          window->group_count ? window->group_count : 1);
    window->new_count = 0;
    window->at = 0;
    window->is_selected = window->is_awaited = false;
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
    window->group_count = claim_selection_groups(&window->selection);
    claim_selection_release(&window->selection);
    if (window->is_awaited)
        reconciler_claims_changed(r);
}

static void step(struct loop_timer *timer)
{
    struct reconciler *r = CONTAINER_OF(timer, struct reconciler, claim_window.slice);
    struct claim_window *window = &r->claim_window;
    int64_t begun_us = loop_clock_us();
    void *cache;

    loop_timer_start(r->loop, timer, 0, step);
    /* Who comes, goes or moves in the map meanwhile may be left out, until the next search. */
    for (unsigned i = 0; i < SLICE_JOBS && loop_clock_us() - begun_us < SLICE_US; i++) {
        if (map_next(&r->with_claims, &window->at, NULL, &cache)) {
            struct claim_key key = key_of(cache);

            if (window->is_selected)
                place(r, cache);
            else
                claim_selection_add(&window->selection, group_of(r, cache), &key);
            continue;
        }
        window->at = 0;
        if (window->is_selected) {
            finish(r);
            return;
        }
        window->is_selected = true;
    }
}

bool claim_window_is_ready(struct reconciler *r)
{
    struct claim_window *window = &r->claim_window;
    size_t count = window->jobs.count;
    bool may_fill = count < r->with_claims.count &&
                    (count < CLAIM_WINDOW_JOBS / 2 || loop_now_ms(r->loop) >= window->next_ms);

    if (!loop_timer_is_running(&window->slice) &&
        (may_fill || (count > CLAIM_WINDOW_JOBS && window->new_count > CLAIM_WINDOW_NEW)))
        begin(r);
    if (count <= CLAIM_WINDOW_MAX || !loop_timer_is_running(&window->slice))
        return true;
    window->is_awaited = true;
    return false;
}

void claim_window_release(struct claim_window *window)
{
    loop_timer_stop(&window->slice);
    claim_selection_release(&window->selection);
    map_release(&window->jobs);
}
