#include "operator/reconcile/state/queue_totals.h"

#include "base/core/mem.h"
#include "operator/api/names.h"

/* ---- namespaces and groups ---- */

static struct queue_namespace *find_namespace(struct queue_totals *totals, const struct job_cache *cache)
{
    AUTO(mem) char *name = namespace_of_key(cache->key);
    struct queue_namespace *ns = map_get(&totals->namespaces, name);

    if (!ns) {
        ns = NEW(struct queue_namespace);
        map_set(&totals->namespaces, name, ns);
    }
    return ns;
}

/* "64:101": its size, and which controllers. */
static char *print_group(uint32_t size, const bool *eligible, size_t controllers)
{
    struct str out = {0};

    str_addf(&out, "%u:", size);
    for (size_t i = 0; eligible && i < controllers; i++)
        str_addf(&out, "%d", eligible[i]);
    return str_take(&out);
}

static struct queue_group *find_group(struct queue_totals *totals, const struct job_cache *cache)
{
    AUTO(mem) char *name = print_group(cache->ipus_per_instance, cache->eligible, totals->controllers);
    struct queue_group *group = map_get(&totals->groups, name);

    if (!group) {
        group = NEW(struct queue_group);
        group->size = cache->ipus_per_instance;
        group->eligible = mem_dup(cache->eligible, totals->controllers);
        map_set(&totals->groups, name, group);
        group->name = TAKE(name);
    }
    return group;
}

static void free_group(struct queue_group *group)
{
    mem_free(group->name);
    mem_free(group->eligible);
    mem_free(group);
}

/* ---- what a job adds ---- */

static struct queue_share share_of(const struct job_cache *cache, bool is_from_start)
{
    const struct job_claims *claims = &cache->claims;

    return (struct queue_share){.claims = (uint32_t)claims->count,
                                .waiting = (uint32_t)(claims->count - claims->grant_count),
                                .ipus = (uint64_t)claims->count * cache->ipus_per_instance,
                                .since_s = claims->batches[0].since_s,
                                .is_unready = is_from_start && !claims->is_ready};
}

void queue_totals_note(struct queue_totals *totals, struct job_cache *cache, bool is_from_start)
{
    struct queue_share share = share_of(cache, is_from_start);
    struct queue_namespace *ns;
    struct queue_group *group;

    seconds_add(&totals->since,
                share.since_s); /* before the same one is removed, and all behind it are moved */
    queue_totals_drop(totals, cache);
    ns = find_namespace(totals, cache);
    group = share.group = find_group(totals, cache);
    totals->claims += share.claims;
    totals->waiting += share.waiting;
    totals->unready += share.is_unready;
    ns->waiting += share.waiting;
    ns->ipus += share.ipus;
    ns->jobs++;
    group->claims += share.claims;
    group->jobs++;
    cache->share = share;
}

void queue_totals_drop(struct queue_totals *totals, struct job_cache *cache)
{
    struct queue_share *share = &cache->share;
    struct queue_group *group = share->group;
    AUTO(mem) char *name = namespace_of_key(cache->key);
    struct queue_namespace *ns = map_get(&totals->namespaces, name);

    if (!group)
        return;
    totals->claims -= share->claims;
    totals->waiting -= share->waiting;
    totals->unready -= share->is_unready;
    ns->waiting -= share->waiting;
    ns->ipus -= share->ipus;
    group->claims -= share->claims;
    seconds_remove(&totals->since, share->since_s);
    if (--ns->jobs == 0)
        mem_free(map_remove(&totals->namespaces, name));
    if (--group->jobs == 0)
        free_group(map_remove(&totals->groups, group->name));
    *share = (struct queue_share){0};
}

void queue_totals_release(struct queue_totals *totals)
{
    void *value;

    for (size_t i = 0; map_next(&totals->namespaces, &i, NULL, &value);)
        mem_free(value);
    for (size_t i = 0; map_next(&totals->groups, &i, NULL, &value);)
        free_group(value);
    map_release(&totals->namespaces);
    map_release(&totals->groups);
    seconds_release(&totals->since);
    *totals = (struct queue_totals){0};
}
