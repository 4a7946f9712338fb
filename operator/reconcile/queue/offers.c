#include "operator/reconcile/queue/offers.h"

#include "base/core/mem.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/state/schedule.h"

/* ---- of one job ---- */

/* Of a partition that others may have. Until it is gone, one that was given up counts as such. */
static bool is_on_offer(const struct partition_cache *partition)
{
    return partition->offered_since_ms || partition->is_given_up;
}

static void take_offer(struct reconciler *r, struct job_cache *cache, struct partition_cache *partition,
                       int64_t generation, const struct op *op)
{
    int64_t now = loop_now_ms(r->loop);
    const struct reason *reason = reason_find(op->reason);

    if (!partition->offered_since_ms)
        partition->offered_since_ms = now;
    partition->offered_for = reason ? reason->name : "PodWaiting";
    partition->is_offered = op->ready;
    if (!op->now)
        return;
    job_cache_note_requeue(cache, generation, partition, mem_strdup(op->text), now,
                           loop_unix_micros() / 1000000);
    workqueue_add(r->queue, cache->key);
}

static void withdraw_offer(struct partition_cache *partition)
{
    partition->offered_since_ms = 0;
    partition->is_offered = partition->is_wanted = false;
}

static const struct op *offer_of(const struct plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == OP_OFFER && str_eq(plan->ops[i].name, id))
            return &plan->ops[i];
    }
    return NULL;
}

/* A waiting job reports at once that the pods cannot start, or that they do now. */
void offers_set(struct reconciler *r, const struct job *job, struct job_cache *cache, const struct plan *plan)
{
    size_t before = cache->offers;
    bool has_changed = false;
    const char *id;
    void *value;

    if (before == 0 && !plan_has(plan, OP_OFFER))
        return;
    cache->offers = 0;
    for (size_t i = 0; map_next(&cache->partitions, &i, &id, &value);) {
        struct partition_cache *partition = value;
        struct partition_cache old = *partition;
        const struct op *op = offer_of(plan, id);

        if (op)
            take_offer(r, cache, partition, job->generation, op);
        else if (!partition->is_given_up)
            withdraw_offer(partition);
        cache->offers += is_on_offer(partition);
        has_changed = has_changed || old.offered_since_ms != partition->offered_since_ms ||
                      old.is_offered != partition->is_offered || old.is_given_up != partition->is_given_up;
    }
    if (cache->offers)
        map_set(&r->with_offers, cache->uid, cache);
    else
        map_remove(&r->with_offers, cache->uid);
    if (has_changed || cache->offers != before)
        reconciler_claims_changed(r);
}

const char *offers_reason(const struct reconciler *r, const struct record *record)
{
    const struct job_cache *cache = map_get(&r->job_caches, record->job_uid);
    const struct partition_cache *partition = cache ? map_get(&cache->partitions, record->name) : NULL;

    return partition && is_on_offer(partition) ? partition->offered_for : NULL;
}

/* ---- of one controller ---- */

static void add_offer(struct offers *offers, const struct vipu_partition *listed, const char *job,
                      struct partition_cache *partition)
{
    struct vipu_partitions *all = &offers->partitions;

    all->items = mem_grow(all->items, all->count + 1, sizeof(*all->items));
    offers->caches = mem_grow(offers->caches, all->count + 1, sizeof(*offers->caches));
    offers->jobs = mem_grow(offers->jobs, all->count + 1, sizeof(*offers->jobs));
    all->items[all->count] = *listed; /* what it points to is the pool's */
    offers->caches[all->count] = partition;
    offers->jobs[all->count++] = job;
}

static void add_offers_of(const struct reconciler *r, const char *controller, const struct job_cache *cache,
                          bool are_given_up, struct offers *offers)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&cache->partitions, &i, &id, &value);) {
        struct partition_cache *partition = value;
        const struct record *record = reconciler_record(r, id);
        const struct vipu_partition *listed = pool_listed(r->pool, controller, id);

        if (partition->is_given_up == are_given_up && (partition->is_offered || are_given_up) && listed &&
            record && str_eq(record->controller, controller))
            add_offer(offers, listed, cache->key, partition);
    }
}

void offers_read(const struct reconciler *r, const char *controller, struct offers *ret)
{
    void *cache;

    *ret = (struct offers){0};
    for (size_t i = 0; map_next(&r->with_offers, &i, NULL, &cache);)
        add_offers_of(r, controller, cache, true, ret);
    ret->leaving = ret->partitions.count;
    for (size_t i = 0; map_next(&r->with_offers, &i, NULL, &cache);)
        add_offers_of(r, controller, cache, false, ret);
    ret->wanted = mem_alloc((ret->partitions.count + 1) * sizeof(*ret->wanted));
}

void offers_note_wanted(struct reconciler *r, const struct offers *offers)
{
    for (size_t i = offers->leaving; i < offers->partitions.count; i++) {
        if (offers->wanted[i] && !offers->caches[i]->is_wanted)
            workqueue_add(r->queue, offers->jobs[i]);
        offers->caches[i]->is_wanted = offers->wanted[i];
    }
}

void offers_release(struct offers *offers)
{
    mem_free(offers->partitions.items);
    mem_free(offers->caches);
    mem_free(offers->jobs);
    mem_free(offers->wanted);
    *offers = (struct offers){0};
}
