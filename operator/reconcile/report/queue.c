#include "operator/reconcile/report/queue.h"

#include <string.h>

#include "base/core/mem.h"
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

static void add_place(const struct job_cache *cache, uint32_t instance, const char *uid,
                      struct page_snapshot *ret)
{
    page_snapshot_add(
        ret, &(struct page_place){.ranks = {(uint64_t)((int64_t)INT32_MAX - cache->priority),
                                            (uint64_t)job_cache_turn_s(cache), cache->arrival, instance},
                                  .name = uid});
}

/* Those that are granted none, as one item with the first of them. */
static void find_waiting(const struct job_claims *claims, struct indexset *ret)
{
    job_claims_add_to(claims, ret);
    for (size_t i = 0; i < claims->grant_count; i++)
        indexset_remove(ret, claims->grants[i].instance);
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
        AUTO(indexset) struct indexset waiting = {0};

        if (!job)
            continue;
        find_waiting(&cache->claims, &waiting);
        for (size_t k = 0; k < cache->claims.grant_count; k++)
            add_place(cache, cache->claims.grants[k].instance, uid, ret);
        if (indexset_count(&waiting))
            add_place(cache, indexset_next(&waiting, 0), uid, ret);
    }
}

static cJSON *new_item(const struct job_cache *cache, const struct job *job, const char *state,
                       uint32_t instance, size_t instances)
{
    cJSON *out = json_object();
    char created[TIMEFMT_RFC3339_SIZE];

    json_put_str(out, "job", job->key);
    json_put_i64(out, "instance", instance);
    json_put_i64(out, "instances", (int64_t)instances);
    json_put_i64(out, "ipus", job->spec.ipus_per_instance);
    json_put_i64(out, "priority", cache->priority);
    json_put_str(out, "created", timefmt_rfc3339(job_cache_queued_since_s(cache, job->created_s), created));
    json_put_str(out, "state", state);
    return out;
}

static cJSON *print_waiting(const struct job_cache *cache, const struct job *job, uint32_t instance,
                            const struct indexset *waiting)
{
    const struct job_claims *claims = &cache->claims;
    const struct claim_wait *wait = &claims->wait;
    cJSON *out = new_item(cache, job, claims->is_ready ? "Waiting" : "ValidatingTemplate", instance,
                          indexset_count(waiting));

    json_put_str(out, "reason", wait->reason);
    json_put_str(out, "message", wait->text);
    json_put_str(out, "controller", wait->controller);
    if (wait->position)
        json_put_i64(out, "position", wait->position);
    return out;
}

static cJSON *print_claim(void *ctx, const struct page_place *place)
{
    const struct reconciler *r = ctx;
    const struct job_cache *cache = map_get(&r->with_claims, place->name);
    const struct job *job = cache ? job_of(r, cache) : NULL;
    uint32_t instance = (uint32_t)place->ranks[INSTANCE];
    const struct grant_cache *grant = job ? job_claims_grant(&cache->claims, instance) : NULL;
    AUTO(indexset) struct indexset waiting = {0};
    AUTO(indexset) struct indexset served = {0};
    cJSON *out;

    if (!job)
        return NULL;
    add_served(r, &cache->claims, &served);
    find_waiting(&cache->claims, &waiting);
    if (indexset_has(&waiting, instance))
        return print_waiting(cache, job, instance, &waiting);
    if (!grant || !grant->controller || indexset_has(&served, instance))
        return NULL;
    out = new_item(cache, job, "Granted", instance, 1);
    json_put_str(out, "controller", grant->controller);
    return out;
}

void queue_print(struct reconciler *r, const struct page_snapshot *snapshot,
                 const struct page_request *request, cJSON *out)
{
    page_snapshot_print(snapshot, PAGE_QUEUE, request, print_claim, r, out);
}

/* ---- numbers ---- */

enum { NAMESPACES_MAX = 16 };

static uint32_t waiting_of(const struct job_cache *cache)
{
    return (uint32_t)(cache->claims.count - cache->claims.grant_count);
}

static bool is_in_namespace(const char *key, const char *ns)
{
    size_t len = strcspn(key, "/");

    return strlen(ns) == len && memcmp(key, ns, len) == 0;
}

void queue_count(const struct reconciler *r, const char *ns, struct queue_counts *ret)
{
    void *value;

    *ret = (struct queue_counts){0};
    for (size_t i = 0; map_next(&r->with_claims, &i, NULL, &value);) {
        const struct job_cache *cache = value;
        uint32_t waiting = waiting_of(cache);

        ret->total += waiting;
        ret->in_namespace += is_in_namespace(cache->key, ns) ? waiting : 0;
    }
}

static void count_namespaces(const struct reconciler *r, struct map *ret, uint32_t *ret_total)
{
    void *value;

    for (size_t i = 0; map_next(&r->with_claims, &i, NULL, &value);) {
        const struct job_cache *cache = value;
        AUTO(mem) char *ns = mem_strndup(cache->key, strcspn(cache->key, "/"));
        uintptr_t waiting = waiting_of(cache), before = (uintptr_t)map_get(ret, ns);

        if (waiting)
            map_set(ret, ns, (void *)(before + waiting)); /* a number, not a pointer */
        *ret_total += (uint32_t)waiting;
    }
}

char *queue_sum_up(const struct reconciler *r)
{
    struct map namespaces = {0};
    struct str out = {0};
    uint32_t total = 0;

    count_namespaces(r, &namespaces, &total);
    str_addf(&out, "%u", total);
    for (size_t n = 0; n < NAMESPACES_MAX && namespaces.count; n++) {
        const char *ns, *most = NULL;
        void *value, *number = NULL;

        for (size_t i = 0; map_next(&namespaces, &i, &ns, &value);) {
            if ((uintptr_t)value > (uintptr_t)number) {
                most = ns;
                number = value;
            }
        }
        str_addf(&out, ";%s=%u", most, (uint32_t)(uintptr_t)number);
        map_remove(&namespaces, most);
    }
    map_release(&namespaces);
    return str_take(&out);
}
