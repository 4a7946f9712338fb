#include "operator/reconcile/report/queue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/plan/remedy.h"
#include "operator/reconcile/report/plan_text.h"
#include "operator/reconcile/queue/namespace_shares.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/queue/told_forecast.h"

enum { INSTANCE = PAGE_RANKS - 1 };
#define SHARES_MAX 100 /* of namespaces that have used most */

/* The first rank of what comes behind all priorities. */
#define DOMAINS ((uint64_t)UINT32_MAX + 1)
#define RUNNING (DOMAINS + 1)

struct queue_page {
    const struct reconciler *r;
    struct vipu_pool_view *rooms; /* per controller; total_ipus 0: not read yet */
    cJSON *domains, *running;
};

/* NULL: another job has its name, and its claims go with it. */
static const struct job *job_of(const struct reconciler *r, const struct job_cache *cache)
{
    const struct store_item *item = store_get(watch_store(r->jobs), cache->key);
    const struct job *job = item ? item->view : NULL;

    return job && str_eq(job->uid, cache->uid) ? job : NULL;
}

/* Those that are granted none, as one item with the first of them. */
static void find_waiting(const struct job_claims *claims, struct indexset *ret)
{
    job_claims_add_to(claims, ret);
    for (size_t i = 0; i < claims->grant_count; i++)
        indexset_remove(ret, claims->grants[i].instance);
}

static void list_controller(const struct reconciler *r, size_t index, struct page_snapshot *ret)
{
    const struct vipu_partitions *listed = pool_controller(r->pool, index)->listed;
    AUTO(vipu_pool_view) struct vipu_pool_view room = pool_free_capacity(r->pool, index);
    struct vipu_pool_domain domain;

    for (size_t at = 0; vipu_pool_next_domain(&room, &at, &domain);)
        page_snapshot_add(ret, &(struct page_place){{DOMAINS, index, domain.row}, ""});
    for (size_t i = 0; i < listed->count; i++)
        page_snapshot_add(
            ret, &(struct page_place){{RUNNING, index}, page_snapshot_keep(ret, listed->items[i].id)});
}

/* ---- what claims IPUs: in the order of claims_decide ---- */

/* The item of a job at that instance, or the first one behind it; INDEXSET_MAX: there is none. */
static uint32_t find_item(const struct job_claims *claims, uint64_t from)
{
    AUTO(indexset) struct indexset waiting = {0};
    uint32_t found;

    find_waiting(claims, &waiting);
    found = indexset_next(&waiting, 0);
    if (found < from)
        found = INDEXSET_MAX;
    for (size_t i = 0; i < claims->grant_count; i++) {
        uint32_t granted = claims->grants[i].instance;

        if (granted >= from && granted < found)
            found = granted;
    }
    return found;
}

static struct page_place place_of(const struct job_cache *cache, uint32_t instance)
{
    const struct claim_key *key = &cache->place;

    return (struct page_place){.ranks = {(uint64_t)((int64_t)INT32_MAX - key->priority),
                                         (uint64_t)key->turn_s, key->arrival, instance},
                               .name = cache->uid};
}

static bool next_claim(void *ctx, const struct page_place *after, struct page_place *ret)
{
    const struct reconciler *r = ((const struct queue_page *)ctx)->r;
    const struct job_cache *cache = NULL;
    struct claim_key key;
    uint64_t from = 0;

    if (after && after->ranks[0] >= DOMAINS)
        return false;
    if (after) {
        key = (struct claim_key){(int32_t)(INT32_MAX - (int64_t)after->ranks[0]), (int64_t)after->ranks[1],
                                 after->ranks[2]};
        cache = claim_order_get(&r->with_claims, &key);
        from = after->ranks[INSTANCE] + 1;
    }
    if (!cache)
        cache = claim_order_next(&r->with_claims, after ? &key : NULL, &key);
    for (; cache; cache = claim_order_next(&r->with_claims, &key, &key)) {
        bool is_same = after && cache->arrival == after->ranks[2];
        uint32_t instance = job_of(r, cache) ? find_item(&cache->claims, is_same ? from : 0) : INDEXSET_MAX;

        if (instance == INDEXSET_MAX)
            continue;
        *ret = place_of(cache, instance);
        return true;
    }
    return false;
}

void queue_list(const void *ctx, struct page_snapshot *ret)
{
    const struct reconciler *r = ctx;

    ret->next = next_claim;
    for (size_t i = 0; i < pool_count(r->pool); i++)
        list_controller(r, i, ret);
}

static cJSON *new_item(const struct job_cache *cache, const struct job *job, const char *state,
                       uint32_t instance, size_t instances)
{
    cJSON *out = json_object();

    json_put_str(out, "job", job->key);
    json_put_i64(out, "instance", instance);
    json_put_i64(out, "instances", (int64_t)instances);
    json_put_i64(out, "ipus", job->spec.ipus_per_instance);
    json_put_i64(out, "priority", cache->priority);
    json_put_time(out, "created", job_cache_queued_since_s(cache, job->created_s));
    json_put_str(out, "state", state);
    return out;
}

static void put_reservation(cJSON *out, const struct reconciler *r, const struct forecast_reservation *kept)
{
    cJSON *item = json_put_object(out, "reservation"), *blocks;

    json_put_str(item, "controller", pool_controller(r->pool, kept->controller)->config->name);
    blocks = json_put_array(item, "blocks");
    if (kept->block.domain_count)
        plan_push_block(blocks, &kept->block);
    json_put_time(item, "since", kept->since_s);
    json_put_time(item, "start", kept->start_s);
    json_put_time(item, "promised", kept->promise_s);
    json_put_str(item, "state", kept->is_closed ? "Closed" : kept->is_open ? "Open" : "Kept");
}

/* A plan has hashes of uids. */
static void push_victim(cJSON *jobs, const struct reconciler *r, const struct forecast_running *victim)
{
    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;
        cJSON *item;

        if (record->instance != victim->instance || record->created_s != victim->start_s ||
            str_hash(record->job_uid) != victim->uid)
            continue;
        item = json_push_take(jobs, json_object());
        json_put_str(item, "job", record->job_key);
        json_put_i64(item, "instance", record->instance);
        json_put_i64(item, "ipus", victim->size);
        return;
    }
}

/* What would let it start now at the least cost: preemption, or a restart of jobs that fit elsewhere. */
static void put_remedy(cJSON *out, const struct reconciler *r, const struct job_cache *cache,
                       const struct forecast_reservation *kept)
{
    const struct claims_plan *told = r->queue_plan.told;
    const struct forecast_plan *made = forecast_plan_of(told->forecast);
    bool preempts = r->options.preempts && cache->preempts;
    struct remedy remedy;
    cJSON *item, *list;

    preempts = preempts &&
               remedy_find(&told->input, made, kept->claim, REMEDY_PREEMPTION, r->options.exempt_s, &remedy);
    if (!preempts && (made->verdicts[kept->claim].cause != FORECAST_FRAGMENTED ||
                      !remedy_find(&told->input, made, kept->claim, REMEDY_DEFRAGMENTATION, 0, &remedy)))
        return;
    item = json_put_object(out, "remedy");
    json_put_str(item, "kind", preempts ? "Preemption" : "Restart");
    json_put_bool(item, "agreed", remedy.is_agreed);
    json_put_i64(item, "lostIpuSeconds", (int64_t)remedy.cost_ipu_s);
    if (remedy.gain_ipu_s <= INT64_MAX)
        json_put_i64(item, "gainedIpuSeconds", (int64_t)remedy.gain_ipu_s);
    list = json_put_array(item, "blocks");
    plan_push_block(list, &remedy.block);
    list = json_put_array(item, "jobs");
    for (uint32_t i = 0; i < remedy.victim_count; i++)
        push_victim(list, r, &told->input.running[remedy.victims[i]]);
}

static cJSON *print_waiting(const struct reconciler *r, const struct job_cache *cache, const struct job *job,
                            uint32_t instance, const struct indexset *waiting)
{
    const struct job_claims *claims = &cache->claims;
    const struct claim_wait *wait = &claims->wait;
    const struct forecast_verdict *expected = queue_plan_expects(&r->queue_plan, cache->uid);
    const struct forecast_reservation *kept = queue_plan_keeps(&r->queue_plan, cache->uid);
    cJSON *out = new_item(cache, job, claims->is_ready ? "Waiting" : "ValidatingTemplate", instance,
                          indexset_count(waiting));

    json_put_str(out, "reason", wait->reason);
    json_put_str(out, "message", wait->text);
    json_put_str(out, "controller", wait->controller);
    if (wait->position)
        json_put_i64(out, "position", wait->position);
    if (expected)
        plan_put_verdict(out, expected, told_forecast_is_counted(r, expected));
    if (kept) {
        put_reservation(out, r, kept);
        put_remedy(out, r, cache, kept);
    }
    return out;
}

static cJSON *print_claim(const struct reconciler *r, const struct page_place *place)
{
    const struct job_cache *cache = map_get(&r->job_caches, place->name);
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
        return print_waiting(r, cache, job, instance, &waiting);
    if (!grant || !grant->controller || indexset_has(&served, instance))
        return NULL;
    out = new_item(cache, job, "Granted", instance, 1);
    json_put_str(out, "controller", grant->controller);
    return out;
}

/* ---- what holds IPUs, and what is free ---- */

static const struct vipu_pool_view *room_of(const struct queue_page *page, size_t controller)
{
    struct vipu_pool_view *room = &page->rooms[controller];

    if (!room->total_ipus) {
        vipu_pool_view_release(room);
        *room = pool_free_capacity(page->r->pool, controller);
    }
    return room;
}

static const char *controller_name(const struct queue_page *page, const struct page_place *place)
{
    return pool_controller(page->r->pool, place->ranks[1])->config->name;
}

static void print_domain(const struct queue_page *page, const struct page_place *place)
{
    struct vipu_pool_domain domain;
    size_t at = 0;
    cJSON *item;

    while (vipu_pool_next_domain(room_of(page, place->ranks[1]), &at, &domain)) {
        if (domain.row != place->ranks[2])
            continue;
        item = json_push_take(page->domains, json_object());
        json_put_str(item, "controller", controller_name(page, place));
        json_put_i64(item, "domain", (int64_t)domain.row);
        json_put_str(item, "cluster", domain.cluster);
        json_put_strf(item, "ipus", "%" PRIx64, vipu_block_mask(0, domain.size));
        json_put_strf(item, "free", "%" PRIx64, domain.free);
        json_put_bool(item, "cordoned", domain.is_cordoned);
        return;
    }
}

static void put_blocks(cJSON *item, const struct vipu_pool_view *room, const struct vipu_partition *partition)
{
    AUTO(mem) struct vipu_pool_part *parts = mem_alloc((partition->size + 1) * sizeof(*parts));
    size_t count = vipu_pool_parts(room, partition, parts);
    cJSON *blocks = json_put_array(item, "blocks");

    for (size_t i = 0; i < count; i++)
        plan_push_block(blocks,
                        &(struct forecast_block){parts[i].domain, parts[i].domain_count, parts[i].ipus});
}

static void print_running(const struct queue_page *page, const struct page_place *place)
{
    const char *controller = controller_name(page, place);
    const struct vipu_partition *partition = pool_listed(page->r->pool, controller, place->name);
    const struct record *record = reconciler_record(page->r, place->name);
    cJSON *item;

    if (!partition)
        return;
    item = json_push_take(page->running, json_object());
    json_put_str(item, "controller", controller);
    json_put_str(item, "partition", partition->id);
    json_put_i64(item, "ipus", partition->size);
    put_blocks(item, room_of(page, place->ranks[1]), partition);
    if (!record || !record_holds_ipus(record, true) || !str_eq(record->controller, controller))
        return;
    json_put_str(item, "job", record->job_key);
    json_put_i64(item, "instance", record->instance);
    json_put_time(item, "start", record->created_s);
    json_put_time(item, "end", reconciler_end_s(page->r, record, loop_unix_micros() / 1000000));
}

static cJSON *print_place(void *ctx, const struct page_place *place)
{
    const struct queue_page *page = ctx;

    if (place->ranks[0] < DOMAINS)
        return print_claim(page->r, place);
    if (place->ranks[0] == DOMAINS)
        print_domain(page, place);
    else
        print_running(page, place);
    return NULL;
}

static void put_controllers(const struct queue_page *page, cJSON *out)
{
    cJSON *controllers = json_put_array(out, "controllers");

    for (size_t i = 0; i < pool_count(page->r->pool); i++) {
        const struct pool_controller *c = pool_controller(page->r->pool, i);
        const struct vipu_pool_view *room = room_of(page, i);
        cJSON *item = json_push_take(controllers, json_object());

        json_put_str(item, "name", c->config->name);
        json_put_bool(item, "up", c->is_known);
        json_put_str(item, "policy",
                     CLAIMS_POLICIES[room->placed ? reconciler_policy(page->r, i) : FORECAST_STRICT]);
        json_put_bool(item, "places", room->placed);
        if (room->total_ipus) {
            json_put_i64(item, "ipus", room->total_ipus);
            json_put_i64(item, "freeIpus", room->free_ipus);
        }
    }
}

static void put_shares(const struct reconciler *r, cJSON *out)
{
    AUTO(share_list) struct share_list list = {0};
    uint64_t others;
    cJSON *shares, *namespaces;

    namespace_shares_read(r, &list);
    if (!list.half_life_s)
        return;
    others = list.others_ipu_s;
    shares = json_put_object(out, "shares");
    json_put_i64(shares, "halfLifeSeconds", list.half_life_s);
    namespaces = json_put_array(shares, "namespaces");
    for (size_t i = 0; i < list.count; i++) {
        cJSON *item;

        if (i >= SHARES_MAX) {
            others += list.items[i].used_ipu_s;
            continue;
        }
        item = json_push_take(namespaces, json_object());
        json_put_str(item, "namespace", list.items[i].ns);
        json_put_i64(item, "usedIpuHours", (int64_t)(list.items[i].used_ipu_s / 3600));
        json_put_i64(item, "weight", list.items[i].weight);
    }
    json_put_i64(shares, "othersUsedIpuHours", (int64_t)(others / 3600));
}

void queue_print(struct reconciler *r, const struct page_snapshot *snapshot,
                 const struct page_request *request, cJSON *out)
{
    AUTO(mem) struct vipu_pool_view *rooms = mem_alloc((pool_count(r->pool) + 1) * sizeof(*rooms));
    struct queue_page page = {.r = r, .rooms = rooms, .domains = json_array(), .running = json_array()};
    const struct claims_plan *told = r->queue_plan.told;

    json_put_str(out, "policy", CLAIMS_POLICIES[r->options.queue_policy]);
    json_put_time(out, "asOf", told ? told->input.now_s : FORECAST_UNKNOWN);
    if (!request->continues) {
        put_controllers(&page, out);
        put_shares(r, out);
    }
    page_snapshot_print(snapshot, PAGE_QUEUE, request, print_place, &page, out);
    json_put_take(out, "domains", page.domains);
    json_put_take(out, "running", page.running);
    for (size_t i = 0; i < pool_count(r->pool); i++)
        vipu_pool_view_release(&rooms[i]);
}

/* ---- numbers ---- */

enum { NAMESPACES_MAX = 16 };

void queue_count(const struct reconciler *r, const char *ns, struct queue_counts *ret)
{
    const struct queue_namespace *found = map_get(&r->queue_totals.namespaces, ns);

    *ret = (struct queue_counts){.total = r->queue_totals.waiting,
                                 .in_namespace = found ? found->waiting : 0,
                                 .template_kib =
                                     (uint32_t)(job_counts_template_bytes(&r->job_counts, ns) / 1024)};
}

struct namespace_count {
    const char *name;
    size_t count;
};

static int compare_counts(const void *a, const void *b)
{
    const struct namespace_count *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The largest, for others have no room. */
static void add_counts(struct namespace_count *counts, size_t count, char sign, struct str *out)
{
    qsort(counts, count, sizeof(*counts), compare_counts);
    for (size_t i = 0; i < count && i < NAMESPACES_MAX && counts[i].count; i++)
        str_addf(out, ";%s%c%zu", counts[i].name, sign, counts[i].count);
}

static void add_waiting(const struct reconciler *r, struct str *out)
{
    const struct map *namespaces = &r->queue_totals.namespaces;
    AUTO(mem) struct namespace_count *counts = mem_alloc((namespaces->count + 1) * sizeof(*counts));
    size_t count = 0;
    const char *name;
    void *value;

    for (size_t i = 0; map_next(namespaces, &i, &name, &value);)
        counts[count++] = (struct namespace_count){name, ((const struct queue_namespace *)value)->waiting};
    add_counts(counts, count, '=', out);
}

/* Where a template could be too many. */
static void add_template_kib(const struct reconciler *r, struct str *out)
{
    const struct map *namespaces = &r->job_counts.template_bytes;
    AUTO(mem) struct namespace_count *counts = mem_alloc((namespaces->count + 1) * sizeof(*counts));
    size_t count = 0;
    const char *name;
    void *bytes;

    for (size_t i = 0; map_next(namespaces, &i, &name, &bytes);)
        if ((uintptr_t)bytes > TEMPLATE_LIMIT_BYTES / 2)
            counts[count++] = (struct namespace_count){name, (uintptr_t)bytes / 1024};
    add_counts(counts, count, ':', out);
}

char *queue_sum_up(const struct reconciler *r)
{
    struct str out = {0};

    str_addf(&out, "%u", r->queue_totals.waiting);
    add_waiting(r, &out);
    add_template_kib(r, &out);
    return str_take(&out);
}
