#include "operator/reconcile/state/reconciler_state.h"

#include "base/core/mem.h"

/* It is compared with the lists when all of them are complete. */
static void add_unlisted(struct reconciler *r, struct job_cache *cache)
{
    if (r->unlisted_count == r->unlisted_cap) {
        r->unlisted_cap = 2 * r->unlisted_cap + 16;
        r->unlisted = mem_grow(r->unlisted, r->unlisted_cap, sizeof(*r->unlisted));
    }
    r->unlisted[r->unlisted_count++] = cache;
    cache->unlisted_at = r->unlisted_count;
}

struct job_cache *job_cache_get(struct reconciler *r, const char *key, const char *uid)
{
    struct job_cache *cache = map_get(&r->job_caches, uid);

    if (!cache) {
        cache = job_cache_new(key, uid);
        cache->arrival = ++r->arrivals;
        map_set(&r->job_caches, uid, cache);
        if (!reconciler_watches_are_synced(r))
            add_unlisted(r, cache);
    }
    return cache;
}

void job_cache_drop(struct reconciler *r, const char *uid)
{
    struct job_cache *cache = map_remove(&r->job_caches, uid); /* uid may belong to it */

    if (cache && cache->unlisted_at)
        r->unlisted[cache->unlisted_at - 1] = NULL;
    job_cache_free(cache);
}

size_t reconciler_watches(const struct reconciler *r, const struct watch *ret[WATCHES_MAX])
{
    const struct watch *const all[WATCHES_MAX] = {r->jobs,     r->pods,   r->records, r->nodes,
                                                  r->services, r->slices, r->policies};
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i])
            ret[count++] = all[i];
    }
    return count;
}

bool reconciler_watches_are_synced(const struct reconciler *r)
{
    const struct watch *watches[WATCHES_MAX];
    size_t count = reconciler_watches(r, watches), synced = 0;

    while (synced < count && watch_is_synced(watches[synced]))
        synced++;
    return synced == count;
}

enum forecast_policy reconciler_policy(const struct reconciler *r, size_t controller)
{
    const struct pool_controller *c = pool_controller(r->pool, controller);

    if (c->chooses)
        return FORECAST_STRICT;
    return c->config->has_policy ? c->config->policy : r->options.queue_policy;
}
