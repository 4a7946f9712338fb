#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/reconcile/observe/job_cache_events.h"
#include "operator/reconcile/observe/watches.h"
#include "operator/reconcile/queue/run_times.h"
#include "operator/reconcile/state/nodes.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/queue/claim_window.h"
#include "operator/reconcile/state/schedule.h"

/* ---- jobs ---- */

static bool view_job(void *ctx, const cJSON *item, void **ret)
{
    const struct reconciler *r = ctx;
    struct job *job = job_parse(item);
    const struct job *before = job ? store_view(watch_store(r->jobs), job->ns, job->name) : NULL;

    if (job)
        template_limit_apply(job, job_counts_template_bytes(&r->job_counts, job->ns) -
                                      (before ? template_bytes(before) : 0));
    return (*ret = job) != NULL;
}

/* Logged once for each job: this is the only place that explains why the operator ignores it. */
static void log_vendor_job(const struct job *before, const struct job *now)
{
    if (now->is_vendors && (!before || !before->is_vendors))
        log_info("ignoring a job owned by the vendor's operator; annotate it with graphcore.ai/adopt=true to "
                 "adopt it",
                 KV("job", now->key));
    else if (before && before->is_vendors && !now->is_vendors)
        log_info("adopting a job of the vendor's operator", KV("job", now->key));
}

/* Once for each job and process. The status is the other operator's. */
static void report_other_operator(const struct reconciler *r, const struct job *before, const struct job *now)
{
    const char *ns = r->options.operator_ns;
    AUTO(mem) char *note = NULL;

    if (!job_is_of_other_operator(now, ns) || (before && str_eq(before->operator_ns, now->operator_ns)))
        return;
    log_warn("leaving a job to another operator that watches the same namespace", KV("job", now->key),
             KV("operator", now->operator_ns));
    note = mem_printf(
        "The IPU operator of namespace %s runs this job. That of namespace %s watches it, too, and "
        "leaves it alone; uninstall one of the two, or give each its own namespace to watch",
        now->operator_ns, ns);
    events_send(r->events, &(struct event){.regarding = {.api_version = API_GROUP_VERSION,
                                                         .kind = API_KIND,
                                                         .ns = now->ns,
                                                         .name = now->name,
                                                         .uid = now->uid},
                                           .type = "Warning",
                                           .reason = "OtherOperator",
                                           .action = "Reconcile",
                                           .note = note});
}

/* Its cache stays as long as it has a record. */
static void drop_claims_of_gone(struct reconciler *r, const struct job *before, const struct job *now)
{
    if (!now || !str_eq(now->uid, before->uid))
        claim_window_remove(r, before->uid);
}

static void on_job(void *ctx, const struct store_change *change)
{
    struct reconciler *r = ctx;
    const struct job *job = change->new ? change->new : change->old;
    struct job_cache *cache = map_get(&r->job_caches, job->uid);

    job_counts_note(&r->job_counts, r->options.operator_ns, change->before, change->new);
    if (cache)
        job_cache_note_version(cache, job->resource_version);
    if (change->old)
        drop_claims_of_gone(r, change->old, change->new);
    if (!change->new)
        job_cache_forget(r, job->key, job->uid);
    if (change->new && change->old && !job_is_of_other_operator(job, r->options.operator_ns))
        accounting_note_job(&r->counters.accounting, change->old, change->new);
    if (change->new) {
        log_vendor_job(change->old, change->new);
        report_other_operator(r, change->old, change->new);
    }
    reconciler_enqueue(r, job->key);
}

/* ---- durations for metrics ---- */

static void count_phases(struct reconciler *r, const struct phase_ends *ends)
{
    for (size_t i = 0; i < PHASES; i++) {
        if (ends->seconds[i] != PHASE_NOT_ENDED)
            openmetrics_observe(&r->counters.phases[i], (uint64_t)ends->seconds[i] * 1000000);
    }
}

/* Jobs in the first list that have finished did so before this process became leader, and were counted by
 * another one. */
static void count_record(struct reconciler *r, const struct record *record, const struct job_cache *cache)
{
    struct phase_ends ends;

    if (!watch_is_synced(r->records))
        return;
    phases_of_record(record, job_claims_since_s(&cache->claims, record->instance), &ends);
    count_phases(r, &ends);
    if (ends.seconds[PHASE_QUEUED] != PHASE_NOT_ENDED)
        openmetrics_observe(&r->counters.waits[phases_size(record->size)],
                            (uint64_t)ends.seconds[PHASE_QUEUED] * 1000000);
}

static void count_pod(struct reconciler *r, const struct store_change *change)
{
    const struct pod *pod = change->new;
    const struct record *record = pod && pod->partition ? reconciler_record(r, pod->partition) : NULL;
    struct phase_ends ends;

    if (!pod || !watch_is_synced(r->pods))
        return;
    phases_of_pod(change->old, pod, record, &ends);
    count_phases(r, &ends);
}

/* ---- records ---- */

static const char *record_index_key(const void *view)
{
    return ((const struct record *)view)->job_key;
}

/* ---- changes of records ---- */

static void on_record(void *ctx, const struct store_change *change)
{
    struct reconciler *r = ctx;
    const struct record *record = change->new ? change->new : change->old;
    struct job_cache *cache = job_cache_get(r, record->job_key, record->job_uid);

    job_cache_note_version(cache, record->resource_version);
    accounting_note_record(&r->counters.accounting, change->old, change->new, loop_now_ms(r->loop));
    run_times_note_record(r, cache, change->old, change->new);
    if (!change->old && record_is_ownerless(record))
        log_info("releasing orphaned partition on request", KV("partition", record->name),
                 KV("controller", record->controller));
    else if (!change->old && !record->spent_s)
        count_record(r, record, cache);
    if (change->new && record->spent_s) {
        pool_forget(r->pool, record->controller, record->name);
    } else if (change->new) {
        reconciler_follow(r, record);
        if (!change->old)
            job_cache_on_pods_of_record(r, record);
    } else {
        const struct store_item *item = store_get(watch_store(r->jobs), record->job_key);
        const struct job *job = item ? item->view : NULL;

        pool_forget(r->pool, record->controller, record->name);
        job_cache_forget_partition(cache, record->name);
        if (watch_is_synced(r->jobs) && (!job || !str_eq(job->uid, record->job_uid)))
            job_cache_forget(r, record->job_key, record->job_uid);
    }
    reconciler_claims_changed(r);
    reconciler_enqueue(r, record->job_key);
}

/* ---- pods ---- */

static bool view_pod(void *ctx, const cJSON *item, void **ret)
{
    const struct reconciler *r = ctx;
    struct pod *pod = pod_parse(item);
    const struct pod *before = pod ? store_view(watch_store(r->pods), pod->ns, pod->name) : NULL;

    if (before)
        pod_merge_previous(pod, before);
    if (pod && !pod->job_uid) { /* another owner's, with the operator's label */
        pod_free(pod);
        return false;
    }
    return (*ret = pod) != NULL;
}

static void free_pod_view(void *view)
{
    pod_free(view);
}

static const char *pod_index_key(const void *view)
{
    return ((const struct pod *)view)->job_key;
}

/* A pod of a previous job with the same name blocks this job's pod until it has gone. */
static void free_name(struct reconciler *r, const struct pod *gone)
{
    const struct store_item *item = store_get(watch_store(r->jobs), gone->job_key);
    const struct job *job = item ? item->view : NULL;
    struct job_cache *cache = job ? map_get(&r->job_caches, job->uid) : NULL;

    if (cache && !str_eq(job->uid, gone->job_uid))
        cache->create_rejected = false;
}

static void on_pod(void *ctx, const struct store_change *change)
{
    struct reconciler *r = ctx;
    const struct pod *pod = change->new ? change->new : change->old;

    job_cache_on_pod(r, change, pod);
    count_pod(r, change);
    if (!change->new)
        free_name(r, pod);
    reconciler_enqueue(r, pod->job_key);
}

/* ---- Services, EndpointSlices and NetworkPolicies ---- */

static bool view_owned(void *ctx, const cJSON *item, void **ret)
{
    const struct reconciler *r = ctx;
    struct owned *owned = owned_parse(item);

    if (owned)
        owned->written_ms = loop_now_ms(r->loop);
    return (*ret = owned) != NULL;
}

static void free_owned_view(void *view)
{
    owned_free(view);
}

static void on_owned(void *ctx, const struct store_change *change)
{
    struct reconciler *r = ctx;
    const struct owned *owned = change->new ? change->new : change->old;
    struct job_cache *cache = map_get(&r->job_caches, owned->job_uid);

    if (cache)
        job_cache_note_version(cache, owned->resource_version);
    reconciler_enqueue(r, owned->job_key);
}

/* ---- nodes ---- */

static bool view_node(void *ctx, const cJSON *item, void **ret)
{
    const struct reconciler *r = ctx;
    struct node *node = node_parse(item);
    const struct node *before = node ? node_seen(r, node->name) : NULL;

    if (before && str_eq(before->boot_id, node->boot_id))
        node->boot_version = before->boot_version;
    return (*ret = node) != NULL;
}

static void free_node_view(void *view)
{
    node_free(view);
}

static void wake_jobs_on(struct reconciler *r, const char *node)
{
    for (const struct store_item *i = store_first(watch_store(r->pods)); i; i = store_next(i)) {
        const struct pod *pod = i->view;

        if (pod->node && str_eq(pod->node, node))
            workqueue_add(r->queue, pod->job_key);
    }
    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i))
        workqueue_add(r->queue, ((const struct record *)i->view)->job_key);
}

/* Heartbeats change nodes all the time; only fields that decisions use are compared. */
static bool node_matters(const struct store_change *change)
{
    const struct node *old = change->old, *new = change->new;

    return !old || !new || old->out_of_service != new->out_of_service || !str_eq(old->boot_id, new->boot_id);
}

static void on_node(void *ctx, const struct store_change *change)
{
    struct reconciler *r = ctx;
    const struct node *old = change->old, *new = change->new;

    if (!old || !new || !json_equal(old->labels, new->labels))
        r->claims_changed = true;
    if (watch_is_synced(r->nodes) && node_matters(change))
        wake_jobs_on(r, new ? new->name : old->name);
    reconciler_wake(r);
}

/* ---- once everything is listed ---- */

static void on_synced(void *ctx)
{
    struct reconciler *r = ctx;

    if (!reconciler_watches_are_synced(r))
        return;
    log_info("caches synced", KVF("jobs", "%zu", store_count(watch_store(r->jobs))),
             KVF("records", "%zu", store_count(watch_store(r->records))));
    reconciler_wake(r);
}

/* ---- start of the watches ---- */

static bool is_wanted(const struct reconciler *r, const struct kube_resource *resource)
{
    if (resource == &KUBE_NODES)
        return !r->options.watch_ns;
    return resource != &KUBE_NETWORK_POLICIES || r->options.pods.network_policy;
}

void watches_start(struct reconciler *r)
{
    struct watch_options jobs = {.resource = &KUBE_IPUJOBS,
                                 .ns = r->options.watch_ns,
                                 .view = view_job,
                                 .view_free = job_free_item,
                                 .on_change = on_job};
    struct watch_options pods = {.resource = &KUBE_PODS,
                                 .ns = r->options.watch_ns,
                                 .label_selector = LABEL_JOB_NAME,
                                 .view = view_pod,
                                 .view_free = free_pod_view,
                                 .index_key = pod_index_key,
                                 .on_change = on_pod};
    struct watch_options records = {.resource = &KUBE_CONFIGMAPS,
                                    .ns = r->options.operator_ns,
                                    .label_selector = LABEL_RECORD,
                                    .view = record_view_item,
                                    .view_free = record_free_item,
                                    .index_key = record_index_key,
                                    .on_change = on_record};
    struct watch_options nodes = {
        .resource = &KUBE_NODES, .view = view_node, .view_free = free_node_view, .on_change = on_node};
    struct watch_options services = {.resource = &KUBE_SERVICES,
                                     .ns = r->options.watch_ns,
                                     .label_selector = LABEL_JOB_NAME,
                                     .view = view_owned,
                                     .view_free = free_owned_view,
                                     .on_change = on_owned};
    struct watch_options slices = services, policies = services;
    struct watch_options *all[] = {&nodes, &jobs, &records, &pods, &services, &slices, &policies};
    struct watch **slots[] = {&r->nodes,    &r->jobs,   &r->records, &r->pods,
                              &r->services, &r->slices, &r->policies};

    slices.resource = &KUBE_ENDPOINT_SLICES;
    slices.label_selector = LABEL_SLICE_WRITER
        "=" API_FIELD_MANAGER; /* the cluster writes those of an earlier version's Service */
    policies.resource = &KUBE_NETWORK_POLICIES;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (!is_wanted(r, all[i]->resource))
            continue;
        all[i]->ctx = r;
        all[i]->on_synced = on_synced;
        *slots[i] = watch_new(r->kube, all[i]);
    }
}

void watches_stop(struct reconciler *r)
{
    watch_free(r->jobs);
    watch_free(r->pods);
    watch_free(r->records);
    watch_free(r->nodes);
    watch_free(r->services);
    watch_free(r->slices);
    watch_free(r->policies);
}
