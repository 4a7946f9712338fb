#include "operator/reconcile/act/responses_records.h"
#include "operator/reconcile/state/partitions.h"

#include "base/core/mem.h"
#include "operator/reconcile/act/responses_common.h"

/* A POST that was repeated, or that an earlier process sent, conflicts with its own result: then the record
 * is the job's. */
static void on_record_looked(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct execution *execution = request->execution;
    struct job_cache *cache = execution_job_cache(execution);
    const struct record *wanted = request->op.record;
    AUTO(mem) char *key = object_key(execution->r->options.operator_ns, wanted->name);
    struct record *found = res->err.kind == ERR_NONE ? record_parse(res->body) : NULL;
    bool ours = found && str_eq(found->job_uid, wanted->job_uid) && found->instance == wanted->instance &&
                found->attempt == wanted->attempt;

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
        response_fail(request, res);
    else if (ours) /* the watch is behind: the record is not created again before it shows */
        response_expect_version(request, execution->r->records, key, res);
    else if (res->err.kind == ERR_NONE && cache) {
        map_set(&cache->foreign_ids, wanted->name, cache);
        job_cache_forget_partition(cache, wanted->name);
    }
    execution_again_at(execution, loop_now_ms(execution->r->loop));
    record_free(found);
    request_end(request);
}

static void look_whose_record(struct request *request)
{
    struct execution *execution = request->execution;
    struct op op = {.kind = OP_RECORD_CREATE, .record = record_copy(request->op.record)};
    struct kube_request http = {.method = "GET",
                                .resource = &KUBE_CONFIGMAPS,
                                .ns = execution->r->options.operator_ns,
                                .name = op.record->name};

    execution_send(execution, &op, &http, on_record_looked);
}

/* The record was created by an earlier process after this one had looked, or by the first try of this
 * request. So a request for its partition may have been sent, unlike for a new record. */
static void doubt_freshness(const struct request *request)
{
    struct reconciler *r = request->execution->r;
    struct job_cache *cache = execution_job_cache(request->execution);
    const char *id = request->op.record->name;
    const struct record *seen = reconciler_record(r, id);

    if (cache)
        job_cache_partition(cache, id, loop_now_ms(r->loop))->is_ours_fresh = false;
    if (!seen || !str_eq(seen->job_uid, request->execution->uid))
        return;
    pool_forget(r->pool, seen->controller, id);
    reconciler_follow(r, seen);
}

/* The record may exist, although no watch shows it: the job stays until one does, or never will. */
static void note_pending_record(const struct request *request)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    int64_t now = loop_now_ms(request->execution->r->loop);

    if (cache)
        job_cache_partition(cache, request->op.record->name, now)->record_until_ms = now + LATE_CREATE_MS;
}

void on_record_created(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->execution->r;
    AUTO(mem) char *key = object_key(r->options.operator_ns, request->op.record->name);

    if (res->err.kind == ERR_NONE) {
        response_expect_version(request, r->records, key, res);
        reconciler_follow(r, request->op.record); /* its IPUs count as taken from now on */
        return;
    }
    if (res->err.kind == ERR_EXISTS || res->is_in_doubt)
        note_pending_record(request);
    if (res->err.kind == ERR_EXISTS) {
        doubt_freshness(request);
        look_whose_record(request);
    } else {
        response_fail(request, res);
    }
}

void on_record_patched(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->execution->r;
    const struct record *record = request->op.record;
    AUTO(mem) char *key = object_key(r->options.operator_ns, record->name);
    struct job_cache *cache = execution_job_cache(request->execution);
    struct partition_cache *partition;

    if (res->err.kind == ERR_NOT_FOUND)
        return;
    if (res->err.kind != ERR_NONE) {
        response_fail(request, res);
        return;
    }
    response_expect_version(request, r->records, key, res);
    if (request->op.reason)
        accounting_note_restart(&r->counters.accounting, request->op.reason);
    if (!cache)
        return;
    partition = job_cache_partition(cache, record->name, loop_now_ms(r->loop));
    if (partition->run != record->run) {
        partition_cache_begin_run(partition, record->run, loop_now_ms(r->loop));
        pool_begin_run(r->pool, record->controller, record->name);
    }
    if (record->launched)
        partition_cache_note_launch(partition);
}

void on_record_deleted(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->execution->r;
    AUTO(mem) char *key = object_key(r->options.operator_ns, request->op.name);
    struct job_cache *cache = execution_job_cache(request->execution);

    if (request->op.ready && cache)
        map_set(&cache->foreign_ids, request->op.name, cache);
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_NOT_FOUND)
        response_expect_gone(request, r->records, key);
    else
        response_fail(request, res);
}
