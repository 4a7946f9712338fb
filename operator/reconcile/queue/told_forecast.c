#include "operator/reconcile/queue/told_forecast.h"

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "operator/history/history.h"
#include "operator/reconcile/state/schedule.h"

#define TOLD_AT_ONCE 1000 /* jobs, in a slice of the loop's time */
/* A status lists so many domains of a block. */
#define PLACES_MAX 64

static int64_t planned_s(const struct reconciler *r)
{
    return r->queue_plan.told->input.now_s;
}

bool told_forecast_is_counted(const struct reconciler *r, const struct forecast_verdict *expected)
{
    uint32_t controller = expected->controller;

    return controller != FORECAST_NONE && (!r->queue_plan.told->input.controllers[controller].is_placed ||
                                           pool_controller(r->pool, controller)->chooses);
}

/* ---- changes ---- */

/* Of what its status says; 0: nothing. */
static uint64_t hash_of(const struct job_forecast *forecast, const struct forecast_reservation *kept)
{
    uint64_t hash = fnv64_add(forecast->position, str_hash(forecast->basis));

    hash = fnv64_add(fnv64_add(hash, (uint64_t)forecast->earliest_s), (uint64_t)forecast->latest_s);
    hash = fnv64_add(hash, (uint64_t)forecast->expected_s);
    return kept
               ? fnv64_add(fnv64_add(fnv64_add(hash, kept->controller), kept->block.domain), kept->block.ipus)
               : hash;
}

static void tell(struct reconciler *r, struct job_cache *cache)
{
    /* Who has got all of its IPUs while the forecast was made is still in it. */
    const struct forecast_verdict *expected =
        cache->is_claiming ? queue_plan_expects(&r->queue_plan, cache->uid) : NULL;
    struct job_forecast forecast;
    uint64_t hash = 0;

    if (!expected)
        return;
    if (!cache->has_band && expected->basis != FORECAST_BY_NOW && expected->basis != FORECAST_OPEN) {
        cache->has_band = true;
        cache->band = *expected;
    }
    if (job_forecast_round(expected, planned_s(r), told_forecast_is_counted(r, expected), &forecast))
        hash = hash_of(&forecast, queue_plan_keeps(&r->queue_plan, cache->uid));
    if (hash == cache->told_hash)
        return;
    cache->told_hash = hash;
    reconciler_enqueue(r, cache->key);
}

bool told_forecast_tell(void *ctx, size_t *at)
{
    struct reconciler *r = ctx;
    void *cache;

    for (unsigned i = 0; i < TOLD_AT_ONCE; i++) {
        if (!map_next(&r->job_caches, at, NULL, &cache))
            return true;
        tell(r, cache);
    }
    return false;
}

void told_forecast_note_start(const struct reconciler *r, struct job_cache *cache)
{
    if (cache->has_band)
        history_note_start(r->history, &cache->band, loop_unix_micros() / 1000000);
    cache->has_band = false;
}

/* ---- the view ---- */

static void view_block(const struct reconciler *r, const struct forecast_reservation *kept,
                       struct job_forecast *ret, struct told_places *ret_places)
{
    AUTO(vipu_pool_view) struct vipu_pool_view pool = pool_free_capacity(r->pool, kept->controller);
    const struct forecast_block *block = &kept->block;
    struct vipu_pool_domain domain;

    if (!block->domain_count)
        return;
    ret_places->items = mem_alloc(PLACES_MAX * sizeof(*ret_places->items));
    for (size_t at = 0; ret_places->count < PLACES_MAX && vipu_pool_next_domain(&pool, &at, &domain);) {
        if (domain.row >= block->domain && domain.row - block->domain < block->domain_count)
            ret_places->items[ret_places->count++] =
                (struct job_forecast_place){cordon_domain_name(&pool, &domain), block->ipus};
    }
    ret->controller = pool_controller(r->pool, kept->controller)->config->name;
    ret->places = ret_places->items;
    ret->place_count = ret_places->count;
}

void told_places_release(struct told_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        mem_free(places->items[i].domain);
    mem_free(places->items);
    *places = (struct told_places){0};
}

void told_forecast_view(const struct reconciler *r, const struct job_cache *cache, struct job_forecast *ret,
                        struct told_places *ret_places, struct job_view *view)
{
    const struct forecast_verdict *expected = queue_plan_expects(&r->queue_plan, cache->uid);
    const struct forecast_reservation *kept;

    if (!expected)
        return;
    view->is_far_behind =
        !job_forecast_round(expected, planned_s(r), told_forecast_is_counted(r, expected), ret);
    if (view->is_far_behind)
        return;
    kept = queue_plan_keeps(&r->queue_plan, cache->uid);
    if (kept)
        view_block(r, kept, ret, ret_places);
    view->forecast = ret;
}
