#include <string.h>

#include "base/core/mem.h"
#include "operator/api/pod/endpoints.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/run/partition_release.h"
#include "operator/reconcile/observe/observe.h"
#include "operator/reconcile/state/nodes.h"
#include "operator/reconcile/state/partitions.h"

static bool has_vipu_access(const struct reconciler *r, const struct record *record)
{
    AUTO(vipu_access) struct vipu_access access = vipu_access_of(r, record);

    return access.user_id || access.ca_pem;
}

static void *alloc_owned(struct observation *o, size_t count, size_t size)
{
    o->owned = mem_grow(o->owned, o->owned_count + 1, sizeof(*o->owned));
    return o->owned[o->owned_count++] = mem_alloc((count + 1) * size);
}

void observation_release(struct observation *o)
{
    for (size_t i = 0; i < o->owned_count; i++)
        mem_free(o->owned[i]);
    mem_free(o->owned);
    indexset_release(&o->answered);
    told_places_release(&o->places);
    *o = (struct observation){0};
}

/* ---- workers ---- */

static bool is_released_by_admin(const struct job *job, const char *partition)
{
    const char *at = job && job->release ? job->release : "";

    for (struct slice id; released_id_next(&at, &id);) {
        if (slice_eq(id, partition))
            return true;
    }
    return false;
}

/* A worker without a pod: what this process remembers of it, and whether its node has been fenced since. */
static void view_cached_worker(const struct reconciler *r, const struct job *job, const struct record *record,
                               const struct partition_cache *partition, uint32_t w, struct worker_view *ret)
{
    bool is_this_run = record && partition && partition->run == record->run;
    const struct worker_cache *cache =
        is_this_run && w < partition->worker_count ? &partition->workers[w] : NULL;

    *ret = (struct worker_view){.state = WORKER_NEVER_SEEN, .since_ms = partition ? partition->since_ms : 0};
    if (!cache || cache->state == WORKER_NEVER_SEEN) {
        ret->may_have_started_unseen =
            record && record_has_started(record, w) &&
            !(w == record->workers && is_this_run && partition->launch_noted_by_us);
        if (ret->may_have_started_unseen && is_released_by_admin(job, record->name))
            *ret = (struct worker_view){.state = WORKER_GONE_STOPPED, .since_ms = ret->since_ms};
        return;
    }
    ret->state = cache->state;
    ret->pod_name = cache->pod;
    ret->node = cache->node;
    ret->revision = cache->revision;
    ret->disruption = cache->disruption;
    ret->disrupted_s = cache->disrupted_s;
    if (cache->since_ms)
        ret->since_ms = cache->since_ms;
    if (ret->state == WORKER_PRESENT) { /* not as one of this run any more: see note_missing */
        ret->state = WORKER_GONE_UNKNOWN;
        ret->since_ms = loop_now_ms(r->loop);
    }
    if (ret->state == WORKER_GONE_UNKNOWN &&
        (node_is_fenced(r, cache->node, cache) || is_released_by_admin(job, record->name)))
        ret->state = WORKER_GONE_STOPPED;
}

static void view_present_pod(const struct reconciler *r, const struct job *job,
                             const struct partition_cache *partition, const struct pod *pod,
                             struct worker_view *ret)
{
    const struct worker_cache *cache =
        partition && pod->worker < partition->worker_count ? &partition->workers[pod->worker] : NULL;

    *ret = (struct worker_view){
        .state = WORKER_PRESENT,
        .pod = pod,
        .pod_name = pod->name,
        .node = pod->node,
        .revision = pod->revision,
        .since_ms = cache ? cache->since_ms : 0,
        .node_fenced = node_is_fenced(r, pod->node, cache) || is_released_by_admin(job, pod->partition),
    };
}

/* Pods that existed and are gone without a seen end, such as those whose labels were changed. From now on
 * they are waited for, no longer than for others. */
static void note_missing(struct partition_cache *partition, const struct worker_view *workers, uint32_t count)
{
    for (uint32_t w = 0; partition && w < count && w < partition->worker_count; w++) {
        struct worker_cache *cache = &partition->workers[w];

        if (cache->state != WORKER_PRESENT || workers[w].state != WORKER_GONE_UNKNOWN)
            continue;
        cache->state = WORKER_GONE_UNKNOWN;
        cache->since_ms = workers[w].since_ms;
    }
}

static bool is_of_run(const struct pod *pod, const struct record *record)
{
    return record && pod->partition && str_eq(pod->partition, record->name) && pod->run == record->run;
}

/* ---- tombstones ---- */

static void add_tombstone(struct reconciler *r, const struct job *job, const struct record *record,
                          struct observation *o)
{
    struct job_cache *cache = map_get(&r->job_caches, record->job_uid);
    struct partition_cache *partition = cache ? map_get(&cache->partitions, record->name) : NULL;
    struct tombstone_view *tomb = &o->view.tombstones[o->view.tombstone_count++];
    AUTO(mem) struct worker_view *workers = mem_alloc((record_pod_count(record) + 1) * sizeof(*workers));

    *tomb = (struct tombstone_view){
        .record = record,
        .partition = pool_partition(r->pool, record->controller, record->name),
        .released_by_admin = is_released_by_admin(job, record->name),
        .has_vipu_access = has_vipu_access(r, record),
    };
    for (uint32_t w = 0; w < record_pod_count(record); w++)
        view_cached_worker(r, job, record, partition, w, &workers[w]);
    for (const struct store_item *item = store_first_of(watch_store(r->pods), record->job_key); item;
         item = store_next_of(item)) {
        const struct pod *pod = item->view;

        if (str_eq(pod->job_uid, record->job_uid) && is_of_run(pod, record) &&
            pod->worker < record_pod_count(record))
            view_present_pod(r, job, partition, pod, &workers[pod->worker]);
    }
    note_missing(partition, workers, record_pod_count(record));
    tombstone_sum_up(workers, tomb);
}

/* ---- instances ---- */

/* What the queue answered, if it was evaluated since an instance joined it. */
static void view_claims(const struct job_cache *cache, struct observation *o)
{
    const struct job_claims *claims = &cache->claims;

    if (claims->is_answered)
        job_claims_add_to(claims, &o->answered);
    o->view.answered = &o->answered;
    o->view.idle = (struct instance_view){.claim = claims->wait.text ? CLAIM_WAITING : CLAIM_NONE,
                                          .wait = &claims->wait};
}

static void add_live(const struct job_view *view, uint32_t instance, struct indexset *live)
{
    if (instance < view_all(view))
        indexset_add(live, instance);
}

static void view_live_instances(const struct reconciler *r, const struct job *job,
                                const struct job_cache *cache, struct observation *o)
{
    AUTO(indexset) struct indexset live = {0};
    struct job_view *view = &o->view;

    for (const struct store_item *i = store_first_of(watch_store(r->records), job->key); i;
         i = store_next_of(i)) {
        const struct record *record = i->view;

        if (str_eq(record->job_uid, job->uid))
            add_live(view, record->instance, &live);
    }
    for (const struct store_item *i = store_first_of(watch_store(r->pods), job->key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (str_eq(pod->job_uid, job->uid))
            add_live(view, pod->instance, &live);
    }
    for (size_t i = 0; i < cache->claims.grant_count; i++)
        add_live(view, cache->claims.grants[i].instance, &live);
    view->live = alloc_owned(o, indexset_count(&live), sizeof(*view->live));
    for (uint32_t at = 0; (at = indexset_next(&live, at)) < INDEXSET_MAX; at++)
        view->live[view->live_count++].index = at;
}

/* The record in use of each instance, which is the newest that is not being removed, and the next free id
 * number. One pass over the records, because there are as many of them as instances. */
static void view_attempts(const struct reconciler *r, const struct job *job, struct job_view *view)
{
    for (const struct store_item *item = store_first_of(watch_store(r->records), job->key); item;
         item = store_next_of(item)) {
        const struct record *record = item->view;
        struct instance_view *inst;

        inst = view_live(view, record->instance);
        if (!str_eq(record->job_uid, job->uid) || !inst)
            continue;
        if (record->attempt >= inst->next_attempt)
            inst->next_attempt = record->attempt + 1;
        if (!record->releasing && (!inst->record || record->attempt > inst->record->attempt))
            inst->record = record;
    }
}

static void find_next_id(struct reconciler *r, const struct job *job, const struct job_cache *cache,
                         struct instance_view *inst)
{
    AUTO(mem) char *id = name_partition(r->options.partition_prefix, job->name, job->ns, inst->index);

    if (id) {
        inst->readable_id_taken = job_was_of_other_operator(job, r->options.operator_ns) ||
                                  map_get(&cache->foreign_ids, id) || reconciler_record(r, id) ||
                                  (inst->granted && pool_listed(r->pool, inst->granted, id));
    }
    for (;;) { /* also skips hashed ids of other owners, and orphaned ones */
        AUTO(mem)
        char *hashed = job_hashed_partition(job, r->options.operator_ns, r->options.partition_prefix,
                                            inst->index, inst->next_attempt);
        if (!map_get(&cache->foreign_ids, hashed) &&
            !(inst->granted && pool_listed(r->pool, inst->granted, hashed)))
            return;
        inst->next_attempt++;
    }
}

/* An object that the pods of this job share, by its name; NULL: missing, or another owner's. */
static const struct owned *find_owned(const struct watch *watch, const struct job *job, char *name_take)
{
    AUTO(mem) char *name = name_take;
    const struct owned *owned = store_view(watch_store(watch), job->ns, name);

    return owned && str_eq(owned->job_uid, job->uid) ? owned : NULL;
}

static void view_slices(const struct reconciler *r, const struct job *job, struct instance_view *inst,
                        struct observation *o)
{
    uint32_t count = endpoints_slices(job->spec.workers_per_instance);

    if (!job_needs_worker_service(&job->spec))
        return;
    inst->slices = alloc_owned(o, count, sizeof(*inst->slices));
    for (uint32_t i = 0; i < count; i++)
        inst->slices[i] = find_owned(r->slices, job, endpoints_slice_name(job, inst->index, i));
}

static void view_claim(const struct job_cache *cache, const struct indexset *answered,
                       struct instance_view *inst)
{
    const struct grant_cache *grant = job_claims_grant(&cache->claims, inst->index);

    inst->wait = &cache->claims.wait;
    if (grant && grant->controller) {
        inst->claim = CLAIM_GRANTED;
        inst->granted = grant->controller;
        inst->place = grant->place;
        inst->limit_s = grant->limit_s;
        inst->grace_s = grant->grace_s;
    } else if (indexset_has(answered, inst->index) && inst->wait->text) {
        inst->claim = CLAIM_WAITING;
    }
}

static void view_partition(const struct reconciler *r, const struct job *job, struct instance_view *inst)
{
    const struct record *record = inst->record;
    int index = pool_find(r->pool, record->controller);
    const struct pool_controller *c = index >= 0 ? pool_controller(r->pool, (size_t)index) : NULL;

    inst->partition = pool_partition(r->pool, record->controller, record->name);
    inst->released_by_admin = is_released_by_admin(job, record->name);
    if (c && c->trouble) {
        inst->controller_trouble = c->trouble;
        inst->controller_trouble_ms = c->trouble_since_ms;
    }
}

/* A preemption that is not wanted any more is forgotten: else it would be meant again whenever that job
 * waits. */
static const char *view_preemptor(const struct reconciler *r, const struct job *job,
                                  const struct record *record, struct partition_cache *partition)
{
    const char *preemptor = reconciler_preemptor(r, record);

    if (record->preemptor || (preemptor && job->is_preemptible))
        return preemptor;
    if (partition)
        mem_set_str(&partition->preemptor_uid, NULL);
    return NULL;
}

static void view_instance(struct reconciler *r, const struct job *job, struct job_cache *cache,
                          struct instance_view *inst, struct observation *o)
{
    uint32_t seats = job_pods_per_instance(&job->spec);
    struct partition_cache *partition;

    partition = inst->record ? map_get(&cache->partitions, inst->record->name) : NULL;
    if (inst->record)
        view_partition(r, job, inst);
    inst->needs_vipu_access = inst->record && has_vipu_access(r, inst->record);
    inst->workers = alloc_owned(o, seats, sizeof(*inst->workers));
    for (uint32_t w = 0; w < seats; w++)
        view_cached_worker(r, job, inst->record, partition, w, &inst->workers[w]);
    inst->partition_since_ms = partition ? partition->since_ms : 0;
    inst->run_since_ms = partition ? partition->run_since_ms : 0;
    inst->keys = partition && partition->run == inst->record->run ? partition->keys : KEYS_UNKNOWN;
    inst->keys_at_ms = partition ? partition->keys_at_ms : 0;
    if (partition && partition->run == inst->record->run) {
        inst->is_rejected = partition->is_rejected;
        inst->offered_since_ms = partition->offered_since_ms;
        inst->is_wanted = partition->is_wanted;
        inst->is_given_up = partition->is_given_up;
    }
    inst->preemptor = inst->record ? view_preemptor(r, job, inst->record, partition) : NULL;
    view_slices(r, job, inst, o);
    view_claim(cache, &o->answered, inst);
    if (!inst->record && inst->claim == CLAIM_GRANTED)
        find_next_id(r, job, cache, inst);
}

static void add_stale(struct instance_view *inst, struct pod *pod, size_t limit, struct observation *o)
{
    if (!inst->stale_pods)
        inst->stale_pods = alloc_owned(o, limit, sizeof(*inst->stale_pods));
    inst->stale_pods[inst->stale_count++] = pod;
}

static void view_pods(struct reconciler *r, const struct job *job, struct job_cache *cache,
                      struct observation *o)
{
    const struct store *pods = watch_store(r->pods);
    size_t total = 0;

    for (const struct store_item *i = store_first_of(pods, job->key); i; i = store_next_of(i))
        total++;
    o->view.extra_pods = alloc_owned(o, total, sizeof(*o->view.extra_pods));
    for (const struct store_item *i = store_first_of(pods, job->key); i; i = store_next_of(i)) {
        struct pod *pod = (struct pod *)(uintptr_t)i->view;
        struct instance_view *inst;

        if (!str_eq(pod->job_uid, job->uid))
            continue;
        if (pod->instance >= view_all(&o->view) || pod->worker >= job_pods_per_instance(&job->spec)) {
            o->view.extra_pods[o->view.extra_count++] = pod;
            continue;
        }
        inst = view_live(&o->view, pod->instance);
        if (is_of_run(pod, inst->record))
            view_present_pod(r, job, map_get(&cache->partitions, inst->record->name), pod,
                             &inst->workers[pod->worker]);
        else
            add_stale(inst, pod, total, o);
    }
    for (size_t i = 0; i < o->view.live_count; i++) {
        const struct instance_view *inst = &o->view.live[i];

        if (inst->record)
            note_missing(map_get(&cache->partitions, inst->record->name), inst->workers,
                         job_pods_per_instance(&job->spec));
    }
}

static void view_records(struct reconciler *r, const char *key, const struct job *job, struct observation *o)
{
    const struct store *records = watch_store(r->records);
    size_t total = 0;

    for (const struct store_item *i = store_first_of(records, key); i; i = store_next_of(i))
        total++;
    o->view.tombstones = alloc_owned(o, total, sizeof(*o->view.tombstones));
    for (const struct store_item *i = store_first_of(records, key); i; i = store_next_of(i)) {
        const struct record *record = i->view;
        const struct instance_view *inst = view_live(&o->view, record->instance);
        bool is_in_use = job && inst && inst->record == record;

        if (!is_in_use)
            add_tombstone(r, job && str_eq(record->job_uid, job->uid) ? job : NULL, record, o);
    }
}

/* The one that may come last. */
static void view_pending_record(const struct reconciler *r, const struct job_cache *cache,
                                struct job_view *view)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&cache->partitions, &i, &id, &value);) {
        int64_t until_ms = ((const struct partition_cache *)value)->record_until_ms;

        if (until_ms > view->now_ms && until_ms > view->pending_until_ms && !reconciler_record(r, id)) {
            view->pending_record = id;
            view->pending_until_ms = until_ms;
        }
    }
}

/* An answer about a job with the same template applies to this one, too. */
static void use_dry_run_cache(const struct reconciler *r, const struct job *job, struct job_cache *cache)
{
    int64_t now = loop_now_ms(r->loop);
    bool is_judged = cache->dry_run_generation == job->generation;
    bool asks_again = cache->dry_run == DRY_RUN_REJECTED && now >= cache->dry_run_retry_at_ms;
    const struct dry_run_result *result =
        !is_judged || asks_again ? dry_run_cache_get(&r->dry_run_cache, job, now) : NULL;

    if (result)
        job_cache_set_dry_run(cache, job->generation, result);
}

static void recall_status(const struct reconciler *r, const struct job *job, struct job_cache *cache)
{
    struct err err = {0};
    AUTO(json) cJSON *status = cache->knows_status ? NULL : job_status(job, &err);

    job_cache_recall_status(cache, job->generation, status, loop_now_ms(r->loop),
                            loop_unix_micros() / 1000000);
}

static void view_turn(const struct reconciler *r, const struct job *job, struct job_cache *cache,
                      struct job_view *view)
{
    cache->created_s = job->created_s;
    cache->takes_turns = job->spec.instances > 1;
    recall_status(r, job, cache);
    job_cache_note_idle(cache, job->spec.suspend || !job->spec.instances, view->now_unix_s);
    view->turn_s = job_cache_turn_s(cache);
    view->priority = cache->priority;
}

static void view_api_responses(const struct job *job, const struct job_cache *cache, struct job_view *view)
{
    view->dry_run = cache->dry_run_generation == job->generation ? cache->dry_run : DRY_RUN_NEEDED;
    view->dry_run_text = cache->dry_run_text;
    view->dry_run_reason = cache->dry_run_reason;
    view->dry_run_retry_at_ms = cache->dry_run_retry_at_ms;
    view->create_rejected = cache->create_rejected && cache->create_generation == job->generation;
    view->endpoints_rejected = cache->endpoints_rejected;
    view->create_reason = cache->create_reason;
    view->create_text = cache->create_text;
    view->create_rejected_ms = cache->create_rejected_ms;
    view->create_retry_at_ms = cache->create_retry_at_ms;
    view->requeues = view->create_rejected ? cache->requeues : 0;
    view->requeued_s = cache->requeued_s;
    view->write_rejected = cache->write_rejected;
    view->write_rejected_op = cache->write_rejected_op;
    view->details_since_ms = cache->details_since_ms;
}

static void view_owned(const struct reconciler *r, const struct job *job, struct job_view *view)
{
    const struct owned *service = find_owned(r->services, job, name_worker_service(job->name, job->uid));

    view->has_service = service != NULL;
    view->service_has_selector = service && service->has_selector;
    view->needs_policy = r->policies && job->spec.has_launcher &&
                         !find_owned(r->policies, job, name_network_policy(job->name));
}

void observe(struct reconciler *r, const char *key, struct observation *o)
{
    const struct store_item *item = store_get(watch_store(r->jobs), key);
    const struct job *job = item ? item->view : NULL;
    struct job_view *view = &o->view;

    *o = (struct observation){0};
    view->job = job;
    view->is_busy = r->requests > REQUESTS_MAX / 2;
    view->operator_ns = r->options.operator_ns;
    view->launcher_image = str_hash(r->options.pods.launcher_image);
    view->partition_prefix = r->options.partition_prefix;
    view->hold_ms = r->options.hold_ms;
    view->requeue_ms = r->options.requeue_ms;
    view->partition_failure_ms = r->options.partition_failure_ms;
    view->is_one_machine = r->options.is_one_machine;
    view->now_ms = loop_now_ms(r->loop);
    view->now_unix_s = loop_unix_micros() / 1000000;
    view->unix_offset_ms = loop_unix_micros() / 1000 - view->now_ms;
    if (job) {
        struct job_cache *cache = job_cache_get(r, job->key, job->uid);

        view->ns = job->ns;
        view->name = job->name;
        view->instance_count = job->problems.count ? 0 : job->spec.instances;
        view->surge_count = job->problems.count ? 0 : job_surge(&job->spec);
        view_claims(cache, o);
        told_forecast_view(r, cache, &o->forecast, &o->places, view);
        view_live_instances(r, job, cache, o);
        use_dry_run_cache(r, job, cache);
        view_turn(r, job, cache, view);
        view_api_responses(job, cache, view);
        view_owned(r, job, view);
        view_pending_record(r, cache, view);
        view_attempts(r, job, view);
        for (size_t i = 0; i < view->live_count; i++)
            view_instance(r, job, cache, &view->live[i], o);
        view_pods(r, job, cache, o);
    }
    view_records(r, key, job, o);
}

const char *observe_unconfirmed(const struct reconciler *r, const char *key)
{
    const struct store_item *item = store_get(watch_store(r->jobs), key);
    const struct job *job = item ? item->view : NULL;

    for (const struct store_item *i = store_first_of(watch_store(r->records), key); i; i = store_next_of(i)) {
        const struct record *record = i->view;

        if (!record->spent_s && !record_is_ownerless(record) &&
            (!job || !str_eq(job->uid, record->job_uid)) && !map_get(&r->confirmed_gone, record->job_uid))
            return record->job_uid;
    }
    return NULL;
}
