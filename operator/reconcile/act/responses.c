#include "operator/reconcile/act/responses.h"

#include "base/core/mem.h"
#include "operator/reconcile/act/responses_common.h"
#include "operator/reconcile/act/responses_records.h"
#include "operator/reconcile/state/partitions.h"

/* ---- one done function per kind of request ---- */

static void on_job_patched(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE)
        response_expect_version(request, request->execution->r->jobs, request->execution->key, res);
    else if (res->err.kind != ERR_NOT_FOUND)
        response_fail(request, res);
}

/* If another writer was faster, the change is found again, and its events with it. */
static void on_status_patched(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE)
        execution_send_events(request->execution);
    on_job_patched(request, res);
}

/* With a finalizer, a deletion is a change like others; without one, the object is gone at once. */
static void on_job_deleted(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && json_at(res->body, "metadata/deletionTimestamp"))
        response_expect_version(request, request->execution->r->jobs, request->execution->key, res);
    else if (res->err.kind == ERR_NONE)
        response_expect_gone(request, request->execution->r->jobs, request->execution->key);
    else if (res->err.kind != ERR_NOT_FOUND &&
             res->err.kind != ERR_CONFLICT) /* another uid: the one that was meant is gone */
        response_fail(request, res);
}

static void on_finalizer_removed(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && !json_at(res->body, "metadata/deletionTimestamp"))
        response_expect_version(request, request->execution->r->jobs, request->execution->key, res);
    else if (res->err.kind == ERR_NONE)
        response_expect_gone(request, request->execution->r->jobs, request->execution->key);
    else if (res->err.kind != ERR_NOT_FOUND)
        response_fail(request, res);
}

/* Objects that the pods of a job share: its Service, EndpointSlices, NetworkPolicy. */
static void on_shared_written(struct request *request, const struct watch *watch, const char *kind,
                              const char *name, struct kube_response *res)
{
    struct execution *execution = request->execution;
    AUTO(mem) char *ns = execution_ns(execution);
    AUTO(mem) char *key = object_key(ns, name);
    const struct owned *seen = store_view(watch_store(watch), ns, name);

    if (res->err.kind == ERR_NONE)
        response_expect_version(request, watch, key, res);
    else if (res->err.kind == ERR_EXISTS && seen && str_eq(seen->job_uid, execution->uid))
        execution_again_at(execution, loop_now_ms(execution->r->loop));
    else if (res->err.kind == ERR_EXISTS)
        response_reject(
            request, "NameConflict",
            mem_printf("%s %s already exists and is not owned by this job; delete it or rename the job", kind,
                       name));
    else
        response_reject_or_fail(request, res, mem_strdup(res->message));
}

/* Pods may be rejected at the same time for another reason. */
static void on_endpoints_written(struct request *request, struct kube_response *res)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    bool pods_are_rejected = cache && cache->create_rejected;

    if (res->err.kind == ERR_NOT_FOUND) /* it was deleted, which the watch will show */
        return;
    if (cache)
        cache->create_rejected = false;
    on_shared_written(request, request->execution->r->slices, "EndpointSlice", request->op.name, res);
    if (!cache)
        return;
    cache->endpoints_rejected = cache->create_rejected;
    cache->create_rejected = pods_are_rejected;
}

static void reject_name(const struct request *request, const struct pod *seen)
{
    if (seen)
        response_reject(
            request, "StoppingOldPods",
            mem_printf("waiting for pod %s of a previous job with this name to terminate", request->op.text));
    else
        response_reject(
            request, "NameConflict",
            mem_printf("pod %s already exists and is not owned by this job; delete it or rename the job",
                       request->op.text));
}

static bool is_for_launcher(const struct request *request)
{
    const struct job *job = execution_job(request->execution);

    return job && request->op.worker >= job->spec.workers_per_instance;
}

/* The request may still create the pod, or has created it: then its repetition may be rejected for the quota
 * that the pod itself uses. The next job must not get the same partition id meanwhile. */
static void note_pending_pod(const struct request *request, const struct kube_response *res)
{
    const struct reconciler *r = request->execution->r;
    const char *id = request->op.name;
    const struct record *record = reconciler_record(r, id);

    if (record && res->is_in_doubt)
        pool_note_pending_pod(r->pool, record->controller, id, loop_now_ms(r->loop) + LATE_CREATE_MS);
}

/* The pod exists, even if it goes before the watch shows it: it counts as vanished, not as never created. */
static void note_created(const struct request *request)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    struct partition_cache *partition = cache ? map_get(&cache->partitions, request->op.name) : NULL;
    struct worker_cache *worker = partition ? partition_cache_worker(partition, request->op.worker) : NULL;

    if (worker && worker->state == WORKER_NEVER_SEEN)
        worker->state = WORKER_PRESENT;
}

static void on_pod_created(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->execution->r;
    AUTO(mem) char *ns = execution_ns(request->execution);
    AUTO(mem) char *key = object_key(ns, request->op.text);
    const struct pod *seen = store_view(watch_store(r->pods), ns, request->op.text);

    if (res->err.kind == ERR_NONE) {
        struct job_cache *cache = execution_job_cache(request->execution);

        if (cache)
            job_cache_note_creation(cache, loop_now_ms(r->loop));
        note_created(request);
        response_expect_version(request, r->pods, key, res);
    } else if (res->err.kind == ERR_EXISTS) {
        if (seen && str_eq(seen->job_uid, request->execution->uid))
            execution_again_at(request->execution, loop_now_ms(r->loop));
        else
            reject_name(request, seen);
    } else {
        note_pending_pod(request, res);
        response_reject_or_fail(request, res,
                                pod_spec_translate_message(res->message, is_for_launcher(request)));
    }
}

/* "Exists" is an answer too: the Secret's name belongs to this start, and it is written whole. If it had to
 * be created although pods wait for it, it had existed before, with other keys. */
static void note_keys_created(struct request *request, struct kube_response *res)
{
    struct execution *execution = request->execution;
    struct job_cache *cache = execution_job_cache(execution);
    int64_t now = loop_now_ms(execution->r->loop);
    bool was_lost = res->err.kind == ERR_NONE && request->op.ready;

    if (cache) {
        struct partition_cache *partition = job_cache_partition(cache, request->op.name, now);

        partition->keys = was_lost ? KEYS_LOST : KEYS_THERE;
        partition->keys_at_ms = now;
    }
    execution_again_at(execution, now);
}

/* An exhausted quota also rejects the creation of what exists. Usually the keys of existing pods exist; a
 * pod without its keys reports that itself. */
static void on_keys_created(struct request *request, struct kube_response *res)
{
    bool is_presumed = request->op.ready && response_is_rejection(request, res);

    if (res->err.kind == ERR_NONE || res->err.kind == ERR_EXISTS || is_presumed)
        note_keys_created(request, res);
    else
        response_reject_or_fail(request, res, mem_strdup(res->message));
}

static void on_pod_deleted(struct request *request, struct kube_response *res)
{
    AUTO(mem) char *ns = execution_ns(request->execution);
    AUTO(mem) char *key = object_key(ns, request->op.name);

    if (res->err.kind == ERR_NONE)
        response_expect_gone(request, request->execution->r->pods, key);
    else if (res->err.kind == ERR_CONFLICT)
        response_expect_change(request, key); /* the object is gone, or is not the one that was meant */
    else if (res->err.kind != ERR_NOT_FOUND)
        response_fail(request, res);
}

static void on_pod_stopped(struct request *request, struct kube_response *res)
{
    AUTO(mem) char *ns = execution_ns(request->execution);
    AUTO(mem) char *key = object_key(ns, request->op.name);

    if (res->err.kind == ERR_NONE)
        response_expect_version(request, request->execution->r->pods, key, res);
    else if (res->err.kind == ERR_CONFLICT)
        response_expect_change(request, key);
    else if (res->err.kind != ERR_NOT_FOUND)
        response_fail(request, res);
}

void on_response(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;

    response_note_success(request, res);
    switch (request->op.kind) {
    case OP_STATUS:
        on_status_patched(request, res);
        break;
    case OP_FINALIZER_ADD:
        on_job_patched(request, res);
        break;
    case OP_FINALIZER_REMOVE:
        on_finalizer_removed(request, res);
        break;
    case OP_JOB_DELETE:
        on_job_deleted(request, res);
        break;
    case OP_SERVICE_CREATE:
        on_shared_written(request, request->execution->r->services, "Service", request->op.text, res);
        break;
    case OP_ENDPOINTS_WRITE:
        on_endpoints_written(request, res);
        break;
    case OP_POLICY_CREATE:
        on_shared_written(request, request->execution->r->policies, "NetworkPolicy", request->op.text, res);
        break;
    case OP_KEYS_CREATE:
        on_keys_created(request, res);
        break;
    case OP_KEYS_DELETE:
        if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
            response_fail(request, res);
        break;
    case OP_RECORD_CREATE:
        on_record_created(request, res);
        break;
    case OP_RECORD_PATCH:
        on_record_patched(request, res);
        break;
    case OP_RECORD_DELETE:
        on_record_deleted(request, res);
        break;
    case OP_POD_CREATE:
        on_pod_created(request, res);
        break;
    case OP_POD_STOP:
        on_pod_stopped(request, res);
        break;
    case OP_POD_DELETE:
        on_pod_deleted(request, res);
        break;
    case OP_CLAIM:
    case OP_OFFER:
    case OP_DRY_RUN: /* dry_run.c */
    case OP_PARTITION_CREATE:
    case OP_PARTITION_RESET:
    case OP_PARTITION_REMOVE:
    case OP_EVENT:
        break;
    }
    request_end(request);
}

/* ---- is the job really gone? ---- */

void on_job_looked_up(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct execution *execution = request->execution;
    const char *uid = request->op.uid;
    bool is_there = res->err.kind == ERR_NONE && str_eq(json_str(res->body, "metadata/uid", ""), uid);

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
        response_fail(request, res);
    else if (!is_there)
        map_set(&execution->r->confirmed_gone, uid, execution->r);
    execution_again_at(execution, loop_now_ms(execution->r->loop) +
                                      (is_there ? EXPECT_MS : 0)); /* it exists: the watch is behind */
    request_end(request);
}
