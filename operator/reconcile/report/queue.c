#include "operator/reconcile/report/queue.h"

#include "base/core/timefmt.h"
#include "operator/reconcile/state/partitions.h"

enum { INSTANCE = PAGE_RANKS - 1 };

/* NULL: another job has its name, and its claims go with it. */
static const struct job *job_of(const struct reconciler *r, const struct job_cache *cache)
{
    const struct store_item *item = store_get(watch_store(r->jobs), cache->key);
    const struct job *job = item ? item->view : NULL;

    return job && str_eq(job->uid, cache->uid) ? job : NULL;
}

/* In the order of claims_decide. */
void queue_list(const void *ctx, struct page_snapshot *ret)
{
    const struct reconciler *r = ctx;
    void *value;

    for (size_t i = 0; map_next(&r->with_claims, &i, NULL, &value);) {
        const struct job_cache *cache = value;
        const struct job *job = job_of(r, cache);
        const char *uid = page_snapshot_keep(ret, cache->uid);

        for (size_t k = 0; job && k < cache->claim_count; k++)
            page_snapshot_add(
                ret, &(struct page_place){.ranks = {(uint64_t)((int64_t)INT32_MAX - cache->priority),
                                                    (uint64_t)job_cache_queued_since_s(cache, job->created_s),
                                                    cache->arrival, cache->claims[k].instance},
                                          .name = uid});
    }
}

static const char *state_of(const struct claim_cache *claim)
{
    if (claim->granted)
        return "Granted";
    return claim->ready ? "Waiting" : "ValidatingTemplate";
}

static cJSON *print_claim(void *ctx, const struct page_place *place)
{
    const struct reconciler *r = ctx;
    const struct job_cache *cache = map_get(&r->with_claims, place->name);
    const struct job *job = cache ? job_of(r, cache) : NULL;
    const struct claim_cache *claim = job ? job_cache_claim(cache, (uint32_t)place->ranks[INSTANCE]) : NULL;
    char created[TIMEFMT_RFC3339_SIZE];
    cJSON *out;

    if (!claim || claim_is_served(r, claim))
        return NULL;
    out = json_object();
    json_put_str(out, "job", job->key);
    json_put_i64(out, "instance", claim->instance);
    json_put_i64(out, "ipus", job->spec.ipus_per_instance);
    json_put_i64(out, "priority", cache->priority);
    json_put_str(out, "created", timefmt_rfc3339(job_cache_queued_since_s(cache, job->created_s), created));
    json_put_str(out, "state", state_of(claim));
    json_put_str(out, "reason", claim->wait.reason);
    json_put_str(out, "message", claim->wait.text);
    json_put_str(out, "controller", claim->granted ? claim->granted : claim->wait.controller);
    if (claim->wait.position)
        json_put_i64(out, "position", claim->wait.position);
    return out;
}

void queue_print(struct reconciler *r, const struct page_snapshot *snapshot,
                 const struct page_request *request, cJSON *out)
{
    page_snapshot_print(snapshot, PAGE_QUEUE, request, print_claim, r, out);
}
