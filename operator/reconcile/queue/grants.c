#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/text/timefmt.h"
#include "operator/api/names.h"
#include "operator/history/history.h"
#include "operator/pool/claims_preemption.h"
#include "operator/reconcile/decide/lifetime.h"
#include "operator/reconcile/decide/model/verdict.h"
#include "operator/reconcile/queue/grants.h"
#include "operator/reconcile/queue/offers.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/queue/run_times.h"
#include "operator/reconcile/state/schedule.h"
#include "operator/reconcile/queue/claim_window.h"
#include "operator/reconcile/queue/told_forecast.h"

/* A long queue is evaluated less often, but often enough for free IPUs to be granted soon. */
#define CLAIMS_PER_MS 10
#define REFRESH_MAX_MS 50
#define EXPLAINS_MAX 250         /* in one turn of the loop, of reports that are the same for many jobs */
#define TEXT_REFRESH_MS 5000     /* a changed message with the same reason is not urgent */
#define VALIDATE_WITHIN_MS 10000 /* after a start: wait this long for dry runs to return priorities */
#define UNVALIDATED_RETRY_MS 50
#define PREEMPTIONS_MAX 3 /* of an instance: then it keeps its IPUs */
/* Who may take longer to stop is no help: the waiting job would be kept from others that agree. */
#define PREEMPTION_GRACE_MAX_S 600

/* ---- claims of one job ---- */

/* A process that has just become leader did not see when a job without IPUs was created. */
static int64_t waits_since(const struct reconciler *r, const struct job_cache *cache)
{
    const struct store_item *item = store_get(watch_store(r->jobs), cache->key);
    const struct job *job = item ? item->view : NULL;
    struct err err = {0};
    AUTO(json) cJSON *status = NULL;

    if (r->all_seen || !job)
        return loop_unix_micros() / 1000000;
    status = job_status(job, &err);
    return status_start_s(status) ? loop_unix_micros() / 1000000 : job->created_s;
}

static bool has_record(const struct job_claims *claims)
{
    for (size_t i = 0; i < claims->grant_count; i++) {
        if (claims->grants[i].record)
            return true;
    }
    return false;
}

static void set_claims(struct reconciler *r, struct job_cache *cache, const struct plan *plan)
{
    static const struct indexset none = {0};
    const struct op *op = plan_claims(plan);
    const struct indexset *instances = op ? &op->instances : &none;
    bool is_ready = op && op->ready;

    if (job_claims_are(&cache->claims, instances, is_ready) && !has_record(&cache->claims)) {
        claim_window_note(r, cache);
        return;
    }
    job_claims_set(&cache->claims, instances, is_ready, waits_since(r, cache));
    if (cache->claims.batch_count)
        claim_window_add(r, cache);
    else
        claim_window_remove(r, cache->uid);
    cache->has_band = cache->has_band && cache->claims.batch_count;
    reconciler_claims_changed(r);
}

bool *grants_find_eligible(const struct reconciler *r, const cJSON *selector)
{
    bool *eligible = mem_alloc(pool_count(r->pool) + 1);

    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct vipu_controller_config *config = pool_controller(r->pool, i)->config;
        const cJSON *wanted = config->node_label && selector
                                  ? cJSON_GetObjectItemCaseSensitive(selector, config->node_label)
                                  : NULL;

        eligible[i] = !cJSON_IsString(wanted) || str_eq(wanted->valuestring, config->node_value);
    }
    return eligible;
}

/* Controllers whose nodes the job allows, and how long its pods may take to stop. */
static void read_template(const struct reconciler *r, const struct job *job, struct job_cache *cache)
{
    struct err err = {0};
    AUTO(json) cJSON *pod_template = NULL, *launcher = NULL;

    if (cache->eligible && cache->eligible_generation == job->generation)
        return;
    pod_template = job_template(job, &err);
    launcher = job->spec.has_launcher ? job_launcher(job, &err) : NULL;
    mem_free(cache->eligible);
    cache->eligible = grants_find_eligible(r, json_at(pod_template, "spec/nodeSelector"));
    cache->eligible_generation = job->generation;
    cache->grace_s = job_grace_s(pod_template, launcher);
}

/* What the queue needs of the job, so that its evaluation need not look at thousands of jobs. */
static void note_job(const struct reconciler *r, const struct job *job, struct job_cache *cache)
{
    struct err err = {0};
    AUTO(json) cJSON *status = NULL;

    read_template(r, job, cache);
    cache->ipus_per_instance = job->spec.ipus_per_instance;
    cache->limit_s = job_limit_s(&job->spec);
    cache->limited_s = 0;
    if (cache->limit_s) {
        status = job_status(job, &err);
        cache->limited_s = status_start_s(status);
    }
}

/* Its owner may agree to be preempted while another job waits. */
static void note_consent(struct reconciler *r, const struct job *job, struct job_cache *cache)
{
    if (cache->is_preemptible == job->is_preemptible && cache->checkpointed_s == job->checkpointed_s)
        return;
    cache->is_preemptible = job->is_preemptible;
    cache->checkpointed_s = job->checkpointed_s;
    if (r->options.preempts)
        reconciler_claims_changed(r);
}

void grants_set(struct reconciler *r, const struct job *job, struct job_cache *cache, const struct plan *plan)
{
    note_consent(r, job, cache);
    if (plan_claims(plan) || cache->partitions.count)
        note_job(r, job, cache);
    set_claims(r, cache, plan);
    offers_set(r, job, cache, plan);
}

/* ---- controllers ---- */

/* Without access to nodes this is left to the scheduler, which reports it on the pods. */
static bool some_node_has(const struct reconciler *r, const struct vipu_controller_config *config)
{
    if (!config->node_label || !r->nodes)
        return true;
    for (const struct store_item *i = store_first(watch_store(r->nodes)); i; i = store_next(i)) {
        if (node_has_label(i->view, config->node_label, config->node_value))
            return true;
    }
    return false;
}

/* The state of the controllers as the queue reads it, and the memory it borrows from. */
struct controller_state {
    struct vipu_pool_view room;
    struct claims_running *running;
    size_t running_count;
    struct offers offers;
    struct claims_holder *holders; /* computed on first use */
    size_t holder_count, holder_cap;
    struct claims_holder movable[REMEDY_VICTIMS_MAX];
    char *since, *label;
};

struct controller_states {
    struct claims_controller *items;
    struct controller_state *details;
    size_t count;
};

static const char *holder_of(const struct record *record)
{
    return record_is_ownerless(record) ? NULL : record->job_key;
}

static struct claims_holder holder_of_listed(const struct reconciler *r, const char *controller,
                                             const struct vipu_partition *partition)
{
    const struct record *record = reconciler_record(r, partition->id);
    bool is_ours = record && !record->spent_s && str_eq(record->controller, controller);

    return (struct claims_holder){.job = is_ours ? holder_of(record) : NULL,
                                  .partition = partition->id,
                                  .size = partition->size,
                                  .stuck = is_ours ? offers_reason(r, record) : NULL,
                                  .is_preempted = is_ours && reconciler_preemptor(r, record)};
}

static void add_holder(struct controller_state *detail, struct claims_holder holder)
{
    if (detail->holder_count == detail->holder_cap) {
        detail->holder_cap = 2 * detail->holder_cap + 16;
        detail->holders = mem_grow(detail->holders, detail->holder_cap, sizeof(*detail->holders));
    }
    detail->holders[detail->holder_count++] = holder;
}

static bool is_unlisted(const struct reconciler *r, const char *controller, const struct record *record)
{
    return !record->spent_s && !record->releasing && str_eq(record->controller, controller) &&
           !pool_listed(r->pool, controller, record->name);
}

/* The owners of listed partitions, and of those that are still being created; not of those that are gone. */
static void add_all_holders(const struct reconciler *r, const struct pool_controller *controller,
                            struct controller_state *detail)
{
    const char *name = controller->config->name;

    for (size_t i = 0; i < controller->listed->count; i++)
        add_holder(detail, holder_of_listed(r, name, &controller->listed->items[i]));
    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;

        if (!is_unlisted(r, name, record))
            continue;
        add_holder(detail, (struct claims_holder){
                               .job = holder_of(record), .partition = record->name, .size = record->size});
    }
}

/* Those that are about to give their IPUs up, if that is enough. */
static bool add_stuck_holders(const struct reconciler *r, const char *controller,
                              struct controller_state *detail)
{
    const struct offers *offers = &detail->offers;

    for (size_t i = 0; i < offers->partitions.count; i++) {
        if (offers->wanted[i])
            add_holder(detail, holder_of_listed(r, controller, &offers->partitions.items[i]));
    }
    return detail->holder_count > 0;
}

/* Those that give their IPUs to this job. */
static bool add_preempted_holders(const struct reconciler *r, const struct pool_controller *controller,
                                  const char *job, struct controller_state *detail)
{
    for (size_t i = 0; i < controller->listed->count; i++) {
        const struct vipu_partition *listed = &controller->listed->items[i];
        const struct record *record = reconciler_record(r, listed->id);

        if (record && str_eq(record->controller, controller->config->name) &&
            str_eq(reconciler_preemptor(r, record), job))
            add_holder(detail, holder_of_listed(r, controller->config->name, listed));
    }
    return detail->holder_count > 0;
}

/* The owners whose end would free enough IPUs: the cheapest set, or all of them if it cannot be computed. */
static void find_holders(const struct reconciler *r, size_t index, const struct claim *claim,
                         struct controller_states *all)
{
    const struct pool_controller *controller = pool_controller(r->pool, index);
    const struct vipu_partitions *listed = controller->listed;
    struct controller_state *detail = &all->details[index];
    AUTO(mem) size_t *blocking = mem_alloc((listed->count + 1) * sizeof(*blocking));
    bool is_known = add_preempted_holders(r, controller, claim->job, detail) ||
                    add_stuck_holders(r, controller->config->name, detail);
    size_t count =
        listed->count && !is_known ? vipu_pool_blockers(&detail->room, listed, claim->size, blocking) : 0;

    for (size_t i = 0; i < count; i++)
        add_holder(detail, holder_of_listed(r, controller->config->name, &listed->items[blocking[i]]));
    if (count == 0 && !is_known)
        add_all_holders(r, controller, detail);
    all->items[index].holders = detail->holders;
    all->items[index].holder_count = detail->holder_count;
}

/* Partitions of that controller that have a record and are still being created. */
static uint32_t count_unlisted(const struct reconciler *r, const char *controller)
{
    uint32_t count = 0;

    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;

        count += is_unlisted(r, controller, record);
    }
    return count;
}

static void add_running(struct controller_state *detail, struct claims_running running)
{
    detail->running = mem_grow(detail->running, detail->running_count + 1, sizeof(*detail->running));
    detail->running[detail->running_count++] = running;
}

/* Of a record; `listed` NULL: it is being created, at its place. */
static void add_recorded(const struct reconciler *r, const struct record *record,
                         const struct vipu_partition *listed, struct controller_state *detail)
{
    const struct job_cache *cache = map_get(&r->job_caches, record->job_uid);
    struct claims_running running = {.partition = listed,
                                     .size = listed ? listed->size : record->size,
                                     .job = record->job_key,
                                     .uid = record->job_uid,
                                     .instance = record->instance,
                                     .start_s = record->created_s};

    if (!cache || !record_holds_ipus(record, listed != NULL))
        return;
    if (!listed &&
        !(record->place && vipu_pool_part_of(&detail->room, record->place, record->size, &running.place)))
        return;
    running.priority = record->priority;
    running.is_accounted = record->releasing;
    running.is_leaving = record->releasing || reconciler_preemptor(r, record);
    running.is_preemptible = listed && cache->is_preemptible && cache->grace_s <= PREEMPTION_GRACE_MAX_S &&
                             record->preemptions < PREEMPTIONS_MAX;
    running.release_s = lifetime_release_s(cache->grace_s);
    running.checkpoint_s = cache->checkpointed_s;
    running.end_s = reconciler_end_s(r, record, loop_unix_micros() / 1000000);
    running.left = run_times_of_running(r, record);
    add_running(detail, running);
}

/* The partitions of jobs; of others nothing is known but their IPUs. */
static void find_running(const struct reconciler *r, const struct pool_controller *c,
                         struct controller_state *detail)
{
    for (size_t i = 0; i < c->listed->count; i++) {
        const struct record *record = reconciler_record(r, c->listed->items[i].id);

        if (record && str_eq(record->controller, c->config->name))
            add_recorded(r, record, &c->listed->items[i], detail);
    }
    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i))
        if (is_unlisted(r, c->config->name, i->view))
            add_recorded(r, i->view, NULL, detail);
}

static void read_controller(const struct reconciler *r, size_t i, struct controller_states *all)
{
    const struct pool_controller *c = pool_controller(r->pool, i);
    const struct vipu_controller_config *config = c->config;
    struct controller_state *detail = &all->details[i];
    char since[TIMEFMT_RFC3339_SIZE];

    detail->room = pool_free_capacity(r->pool, i);
    find_running(r, c, detail);
    offers_read(r, config->name, &detail->offers);
    if (c->trouble)
        detail->since = mem_printf("since %s", timefmt_rfc3339(c->trouble_since_unix_s, since));
    if (config->node_label)
        detail->label = mem_printf("%s=%s", config->node_label, config->node_value);
    all->items[i] = (struct claims_controller){
        .name = config->name,
        .is_known = c->is_known,
        .trouble = c->trouble,
        .trouble_since = detail->since,
        .has_nodes = some_node_has(r, config),
        .node_label = detail->label,
        .pool = &detail->room,
        .policy = reconciler_policy(r, i),
        .unlisted = c->total_ipus ? 0 : count_unlisted(r, config->name),
        .stuck = &detail->offers.partitions,
        .stuck_leaving = detail->offers.leaving,
        .stuck_wanted = detail->offers.wanted,
    };
}

/* Its record is sent, and is not seen yet. */
static bool grant_is_unseen(const struct reconciler *r, const struct grant_cache *grant)
{
    return grant->record && grant->controller && !reconciler_record(r, grant->record);
}

/* They are not anybody else's any more, although no record shows it yet. */
static void take_recorded_grants(const struct reconciler *r, const struct job_cache *cache,
                                 struct controller_states *all)
{
    int64_t now_s = loop_unix_micros() / 1000000;

    for (size_t i = 0; i < cache->claims.grant_count; i++) {
        const struct grant_cache *grant = &cache->claims.grants[i];
        int index = grant_is_unseen(r, grant) ? pool_find(r->pool, grant->controller) : -1;
        struct vipu_pool_view *room = index < 0 ? NULL : &all->details[index].room;
        struct vipu_pool_part part;
        bool has_place =
            room && grant->place && vipu_pool_part_of(room, grant->place, cache->ipus_per_instance, &part);

        if (room && grant_is_being_recorded(r, grant) && !(has_place && vipu_pool_take(room, &part))) {
            (void)vipu_pool_reserve(room, cache->ipus_per_instance);
            continue;
        }
        if (!has_place)
            continue;
        add_running(&all->details[index], (struct claims_running){.place = part,
                                                                  .size = cache->ipus_per_instance,
                                                                  .job = cache->key,
                                                                  .uid = cache->uid,
                                                                  .instance = grant->instance,
                                                                  .priority = cache->priority,
                                                                  .start_s = now_s,
                                                                  .end_s = job_cache_end_s(cache, now_s)});
    }
}

static void controller_states_read(const struct reconciler *r, struct controller_states *all)
{
    void *cache;

    all->count = pool_count(r->pool);
    all->items = mem_alloc((all->count + 1) * sizeof(*all->items));
    all->details = mem_alloc((all->count + 1) * sizeof(*all->details));
    for (size_t i = 0; i < all->count; i++)
        read_controller(r, i, all);
    for (size_t i = 0; map_next(&r->claim_window.jobs, &i, NULL, &cache);)
        take_recorded_grants(r, cache, all);
    for (size_t i = 0; i < all->count; i++) {
        all->items[i].running = all->details[i].running;
        all->items[i].running_count = all->details[i].running_count;
    }
}

static void controller_states_release(struct controller_states *all)
{
    for (size_t i = 0; i < all->count; i++) {
        vipu_pool_view_release(&all->details[i].room);
        offers_release(&all->details[i].offers);
        mem_free(all->details[i].running);
        mem_free(all->details[i].holders);
        mem_free(all->details[i].since);
        mem_free(all->details[i].label);
    }
    mem_free(all->items);
    mem_free(all->details);
}

/* ---- claims ---- */

struct claim_list {
    struct claim *items;
    size_t count, cap;
    bool sees_all; /* it has every job that claims IPUs */
};

static void push_claim(struct claim_list *list, const struct claim *claim)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        list->items = mem_grow(list->items, list->cap, sizeof(*list->items));
    }
    list->items[list->count++] = *claim;
}

static void add_claim(const struct reconciler *r, struct job_cache *cache, struct claim_list *list)
{
    AUTO(indexset) struct indexset served = {0};
    AUTO(indexset) struct indexset left = {0};
    int64_t now_s = loop_unix_micros() / 1000000, end_s = job_cache_end_s(cache, now_s);
    size_t count;

    add_served(r, &cache->claims, &served);
    job_claims_add_to(&cache->claims, &left);
    indexset_remove_all(&left, &served);
    count = indexset_count(&left);
    if (count == 0)
        return;
    push_claim(list, &(struct claim){
                         .job = cache->key,
                         .uid = cache->uid,
                         .instance = indexset_next(&left, 0),
                         .count = (uint32_t)count,
                         .priority = cache->priority,
                         .preempts = cache->preempts,
                         .turn_s = job_cache_turn_s(cache),
                         .arrival = cache->arrival,
                         .size = cache->ipus_per_instance,
                         .bound_s = end_s == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : end_s - now_s,
                         .run = run_times_of_kind(r, &cache->kind),
                         /* A look at all of them counts itself. */
                         .full = list->sees_all ? CLAIM_NOTHING_TO_REPORT : cache->claims.full,
                         .is_ready = cache->claims.is_ready,
                         .eligible = cache->eligible,
                         .ctx = cache,
                     });
}

/* ---- quotas ---- */

static void add_held(struct map *held, const char *ns, uint32_t ipus)
{
    uintptr_t before = (uintptr_t)map_get(held, ns);

    map_set(held, ns, (void *)(before + ipus)); /* a number, not a pointer */
}

/* Also if a request for it may still be carried out: the next leader does not know that of what was at rest
 * before. */
static bool is_gone(const struct reconciler *r, const struct record *record)
{
    return pool_partition(r->pool, record->controller, record->name).state == PARTITION_ABSENT;
}

static void count_held(const struct reconciler *r, struct map *ret)
{
    void *value;

    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;

        if (record_holds_ipus(record, record->releasing && !is_gone(r, record)))
            add_held(ret, record->job_ns, record->size);
    }
    /* A job that is granted IPUs is among the first. */
    for (size_t i = 0; map_next(&r->claim_window.jobs, &i, NULL, &value);) {
        const struct job_cache *cache = value;
        uint32_t unseen = 0;

        for (size_t k = 0; k < cache->claims.grant_count; k++)
            unseen += grant_is_unseen(r, &cache->claims.grants[k]);
        if (unseen) {
            AUTO(mem) char *ns = namespace_of_key(cache->key);

            add_held(ret, ns, unseen * cache->ipus_per_instance);
        }
    }
}

/* The whole queue with the decision about each claim. */
struct ipu_queue {
    struct claim_list claims;
    struct controller_states controller_states;
    struct map held; /* IPUs, by namespace; with quotas */
    struct claims_view view;
    uint64_t basis;
    struct claim_verdict *verdicts;
    struct claims_grants grants;
    struct claims_plan *plan; /* NULL: nobody waits */
    size_t grants_used;
    unsigned explains; /* so far */
};

static void collect_claims(const struct reconciler *r, struct ipu_queue *ipu_queue)
{
    void *value;

    ipu_queue->claims.sees_all = r->claim_window.jobs.count == r->with_claims.count;
    for (size_t i = 0; map_next(&r->claim_window.jobs, &i, NULL, &value);)
        add_claim(r, value, &ipu_queue->claims);
}

static void decide(const struct reconciler *r, struct ipu_queue *ipu_queue)
{
    ipu_queue->verdicts = mem_alloc((ipu_queue->claims.count + 1) * sizeof(*ipu_queue->verdicts));
    controller_states_read(r, &ipu_queue->controller_states);
    if (r->options.quotas)
        count_held(r, &ipu_queue->held);
    ipu_queue->view = (struct claims_view){.controllers = ipu_queue->controller_states.items,
                                           .controller_count = ipu_queue->controller_states.count,
                                           .limits = r->options.queue_limits,
                                           .quotas = r->options.quotas,
                                           .held = &ipu_queue->held,
                                           .instance_quotas = r->options.instance_quotas,
                                           .now_s = loop_unix_micros() / 1000000,
                                           .settings = r->options.forecast,
                                           .weights = r->options.share_weights,
                                           .usage = &r->history->usage,
                                           .reservations = r->queue_plan.reserved,
                                           .reservation_count = r->queue_plan.reserved_count};
    history_calibrate(r->history, &ipu_queue->view.settings);
    ipu_queue->basis = claims_basis(&ipu_queue->view);
    ipu_queue->plan = claims_decide(&ipu_queue->view, ipu_queue->claims.items, ipu_queue->claims.count,
                                    ipu_queue->verdicts, &ipu_queue->grants);
}

/* Jobs that fit elsewhere, so that their restart would make room for the head. */
static void find_movable(const struct reconciler *r, struct ipu_queue *ipu_queue, size_t i)
{
    size_t about = ipu_queue->verdicts[i].about;
    struct claims_controller *c = &ipu_queue->controller_states.items[about];
    struct claims_holder *movable = ipu_queue->controller_states.details[about].movable;
    struct claims_preemption found;

    if (!claims_find_advice(&ipu_queue->view, ipu_queue->plan, (uint32_t)i, &found) ||
        found.controller != about)
        return;
    for (size_t k = 0; k < found.victim_count; k++) {
        const struct vipu_partition *listed = c->running[found.victims[k]].partition;

        if (!listed)
            return; /* it is being created: without it, the others would not make room */
        movable[k] = holder_of_listed(r, c->name, listed);
    }
    c->movable = movable;
    c->movable_count = found.victim_count;
}

static void ipu_queue_explain(const struct reconciler *r, struct ipu_queue *ipu_queue, size_t i,
                              struct claim_wait *ret)
{
    const struct claim *claim = &ipu_queue->claims.items[i];
    const struct claim_verdict *verdict = &ipu_queue->verdicts[i];

    if (verdict->why == CLAIM_IS_FIRST) {
        find_holders(r, verdict->about, claim, &ipu_queue->controller_states);
        find_movable(r, ipu_queue, i);
    }
    claims_explain(&ipu_queue->view, ipu_queue->basis, claim, verdict, ret);
}

static void ipu_queue_release(struct ipu_queue *ipu_queue)
{
    mem_free(ipu_queue->verdicts);
    mem_free(ipu_queue->claims.items);
    claims_grants_release(&ipu_queue->grants);
    map_release(&ipu_queue->held);
    controller_states_release(&ipu_queue->controller_states);
}

/* NULL: the controller chooses. */
static char *place_of(const struct reconciler *r, const struct claims_controller *c,
                      const struct claims_grant *grant)
{
    const struct vipu_pool_part part = {grant->block.domain, grant->block.domain_count, grant->block.ipus};

    if (!part.domain_count || pool_controller(r->pool, grant->controller)->chooses)
        return NULL;
    return vipu_pool_part_name(c->pool, &part);
}

/* The job may change before its record is written. */
static struct job_grant grant_of(const struct reconciler *r, const struct job_cache *cache,
                                 const struct claims_controller *c, const struct claims_grant *grant)
{
    struct job_grant given = {.controller = c->name, .place = place_of(r, c, grant)};

    if (c->policy != FORECAST_STRICT) {
        given.limit_s = cache->limit_s;
        given.grace_s = cache->grace_s;
    }
    return given;
}

/* The grants of this claim follow those of the claims before it. */
static bool update_grants(struct reconciler *r, struct ipu_queue *ipu_queue, size_t i)
{
    struct job_cache *cache = ipu_queue->claims.items[i].ctx;
    const struct claims_grants *all = &ipu_queue->grants;
    AUTO(indexset) struct indexset served = {0};
    AUTO(mem) struct job_grant *grants = NULL;
    size_t count = 0;
    bool has_changed;

    for (; ipu_queue->grants_used < all->count && all->items[ipu_queue->grants_used].claim == i;
         ipu_queue->grants_used++) {
        const struct claims_grant *grant = &all->items[ipu_queue->grants_used];
        const struct claims_controller *c = &ipu_queue->view.controllers[grant->controller];

        grants = mem_grow(grants, count + 1, sizeof(*grants));
        grants[count++] = grant_of(r, cache, c, grant);
    }
    if (count == 0 && cache->claims.grant_count == 0)
        return false;
    add_served(r, &cache->claims, &served);
    has_changed = job_claims_assign(&cache->claims, &served, grants, count);
    claim_window_note(r, cache);
    if (has_changed && count)
        told_forecast_note_start(r, cache);
    for (size_t k = 0; k < count; k++)
        mem_free(grants[k].place);
    return has_changed;
}

static void explain(struct reconciler *r, struct ipu_queue *ipu_queue, size_t i)
{
    const struct claim *claim = &ipu_queue->claims.items[i];
    struct job_claims *mine = &((struct job_cache *)claim->ctx)->claims;
    struct claim_wait wait;
    bool text_changed;

    ipu_queue_explain(r, ipu_queue, i, &wait);
    mine->is_answered = mine->is_answered && str_eq(wait.reason, mine->wait.reason);
    text_changed = !str_eq(wait.text, mine->wait.text);
    claim_wait_release(&mine->wait);
    mine->wait = wait;
    if (text_changed && mine->is_answered)
        workqueue_add_after(r->queue, claim->job, loop_now_ms(r->loop) + TEXT_REFRESH_MS);
}

static void update_claim(struct reconciler *r, struct ipu_queue *ipu_queue, size_t i)
{
    const struct claim *claim = &ipu_queue->claims.items[i];
    const struct claim_verdict *verdict = &ipu_queue->verdicts[i];
    struct job_claims *mine = &((struct job_cache *)claim->ctx)->claims;
    bool has_changed = update_grants(r, ipu_queue, i), is_explained = true;

    if (claims_report_is_current(&ipu_queue->view, ipu_queue->basis, claim, verdict, &mine->wait)) {
        mine->wait.position = verdict->position;
    } else if (claims_report_has_position(verdict) || ipu_queue->explains < EXPLAINS_MAX) {
        ipu_queue->explains += !claims_report_has_position(verdict);
        explain(r, ipu_queue, i);
    } else { /* in one of the next turns */
        r->claims_changed = true;
        r->claims_due_ms = loop_now_ms(r->loop);
        is_explained = false;
    }
    if (has_changed || (is_explained && !mine->is_answered))
        workqueue_add(r->queue, claim->job);
    mine->is_answered = is_explained;
}

/* After a start, no claim is granted before all jobs have been reconciled once, and their priorities and the
 * cordons are known; later jobs queue behind until they are validated. */
static bool queue_is_ready(struct reconciler *r)
{
    int64_t now = loop_now_ms(r->loop);

    if (r->all_validated)
        return true;
    if (!r->all_seen && workqueue_len(r->queue) == 0) {
        r->all_seen = true;
        r->first_arrivals = r->arrivals;
        r->validate_by_ms = now + VALIDATE_WITHIN_MS;
    }
    r->all_validated =
        r->all_seen && (now >= r->validate_by_ms ||
                        (!r->queue_totals.unready && (r->cordons_are_known || !r->options.awaits_cordons)));
    return r->all_validated;
}

/* What becomes of it is decided with the job (decide_preempted). Returns when to look again because a job
 * has had its IPUs for long enough then. */
static int64_t preempt(struct reconciler *r, const struct ipu_queue *ipu_queue)
{
    struct claims_preemption found;

    if (!r->options.preempts || !ipu_queue->plan)
        return FORECAST_UNKNOWN;
    (void)claims_find_preemption(&ipu_queue->view, ipu_queue->claims.items, ipu_queue->plan,
                                 r->options.exempt_s, &found);
    for (size_t i = 0; i < found.victim_count; i++) {
        const struct claims_running *victim =
            &ipu_queue->view.controllers[found.controller].running[found.victims[i]];
        struct job_cache *cache = map_get(&r->job_caches, victim->uid);
        struct partition_cache *partition =
            job_cache_partition(cache, victim->partition->id, loop_now_ms(r->loop));

        mem_set_str(&partition->preemptor, ipu_queue->claims.items[found.claim].job);
        mem_set_str(&partition->preemptor_uid, ipu_queue->claims.items[found.claim].uid);
        workqueue_add(r->queue, cache->key);
        log_info("preempting", KV("job", cache->key), KV("partition", victim->partition->id),
                 KV("for", partition->preemptor));
    }
    return found.again_s;
}

void grants_refresh(struct reconciler *r)
{
    struct ipu_queue ipu_queue = {0};
    int64_t pause_ms, again_s;

    if (!queue_is_ready(r)) {
        r->claims_changed = true;
        r->claims_due_ms = loop_now_ms(r->loop) + (r->all_seen ? UNVALIDATED_RETRY_MS : 0);
        return;
    }
    if (!claim_window_is_ready(r))
        return;
    collect_claims(r, &ipu_queue);
    if (ipu_queue.claims.count)
        decide(r, &ipu_queue);
    pause_ms = (int64_t)ipu_queue.claims.count / CLAIMS_PER_MS;
    r->claims_due_ms = loop_now_ms(r->loop) + (pause_ms < REFRESH_MAX_MS ? pause_ms : REFRESH_MAX_MS);
    again_s = preempt(r, &ipu_queue);
    pool_set_waiting(r->pool, ipu_queue.claims.count > 0);
    for (size_t i = 0; i < ipu_queue.claims.count; i++)
        update_claim(r, &ipu_queue, i);
    for (size_t i = 0; i < ipu_queue.controller_states.count; i++)
        offers_note_wanted(r, &ipu_queue.controller_states.details[i].offers);
    if (ipu_queue.plan)
        promises_count(&ipu_queue.plan->input, forecast_plan_of(ipu_queue.plan->forecast),
                       r->queue_plan.looked_s, r->counters.promises);
    queue_plan_set(&r->queue_plan, ipu_queue.plan, again_s);
    ipu_queue.plan = NULL;
    ipu_queue_release(&ipu_queue);
}

struct claims_plan *grants_what_if(const struct reconciler *r, const struct claim *added)
{
    struct ipu_queue ipu_queue = {0};
    struct claims_plan *plan;

    collect_claims(r, &ipu_queue);
    if (added)
        push_claim(&ipu_queue.claims, added);
    decide(r, &ipu_queue);
    plan = ipu_queue.plan;
    ipu_queue_release(&ipu_queue);
    return plan;
}
