#include "operator/reconcile/act/responses_common.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/reasons.h"

static const char *version_of(const struct kube_response *res)
{
    return json_str(res->body, "metadata/resourceVersion", NULL);
}

void response_expect_version(const struct request *request, const struct watch *watch, const char *key,
                             const struct kube_response *res)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    const char *version = version_of(res);

    if (cache && version)
        job_cache_expect(cache, &(struct expectation){
                                    .watch = watch,
                                    .key = (char *)key,
                                    .resource_version = (char *)version,
                                    .until_ms = loop_now_ms(request->execution->r->loop) + EXPECT_MAX_MS,
                                });
}

void response_expect_gone(const struct request *request, const struct watch *watch, const char *key)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    bool may_linger = request->op.kind == OP_POD_DELETE && !request->op.now;

    /* A finalizer of another controller can keep what is deleted: only of a pod the watch shows at once that
     * it is being deleted. */
    if (cache)
        job_cache_expect(cache, &(struct expectation){
                                    .watch = watch,
                                    .key = (char *)key,
                                    .may_linger = may_linger,
                                    .until_ms = loop_now_ms(request->execution->r->loop) +
                                                (may_linger ? EXPECT_MAX_MS : EXPECT_MS),
                                });
}

void response_expect_change(const struct request *request, const char *key)
{
    struct job_cache *cache = execution_job_cache(request->execution);

    if (cache && request->op.version)
        job_cache_expect(cache, &(struct expectation){
                                    .watch = request->execution->r->pods,
                                    .key = (char *)key,
                                    .other_than = request->op.version,
                                    .until_ms = loop_now_ms(request->execution->r->loop) + EXPECT_MAX_MS,
                                });
}

char *object_key(const char *ns, const char *name)
{
    return mem_printf("%s/%s", ns, name);
}

/* Rejections of what pods need are reported by response_reject instead. */
static char *name_write(const struct op *op)
{
    switch (op->kind) {
    case OP_RECORD_CREATE:
    case OP_RECORD_PATCH:
        return mem_printf("write record %s", op->record->name);
    case OP_RECORD_DELETE:
        return mem_printf("delete record %s", op->name);
    case OP_POD_STOP:
        return mem_printf("stop pod %s", op->name);
    case OP_POD_DELETE:
        return mem_printf("delete pod %s", op->name);
    case OP_KEYS_DELETE:
        return mem_printf("delete Secret %s", op->name);
    case OP_FINALIZER_ADD:
    case OP_FINALIZER_REMOVE:
        return mem_strdup("change the job's finalizers");
    case OP_JOB_DELETE:
    case OP_CLAIM:
    case OP_OFFER:
    case OP_DRY_RUN:
    case OP_SERVICE_CREATE:
    case OP_ENDPOINTS_WRITE:
    case OP_POLICY_CREATE:
    case OP_KEYS_CREATE:
    case OP_PARTITION_CREATE:
    case OP_PARTITION_RESET:
    case OP_PARTITION_REMOVE:
    case OP_POD_CREATE:
    case OP_STATUS:
    case OP_EVENT:
        break;
    }
    return NULL;
}

static void note_rejected_write(const struct request *request, const struct kube_response *res)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    AUTO(mem) char *write = name_write(&request->op);

    if (!cache || !write || !response_is_rejection(request, res))
        return;
    mem_free(cache->write_rejected);
    cache->write_rejected =
        mem_printf("the API server does not let the operator %s: %s", write, res->message);
    cache->write_rejected_op = request->op.kind;
}

void response_fail(struct request *request, const struct kube_response *res)
{
    const struct op *op = &request->op;

    request->execution->failed = true;
    note_rejected_write(request, res);
    if (res->err.kind == ERR_CONFLICT) /* the watch brings the newer state */
        log_debug("conflict: object has changed", KV("job", request->execution->key),
                  KV("cause", res->err.msg));
    else
        log_warn("request failed", KV("job", request->execution->key), KV("object", op->name),
                 KV("cause", res->message));
}

bool response_is_rejection(const struct request *request, const struct kube_response *res)
{
    struct job_cache *cache = execution_job_cache(request->execution);

    switch (res->err.kind) {
    case ERR_DENIED:
        return res->denial != KUBE_DENIAL_LEASE;
    case ERR_INVALID:
        return true;
    case ERR_NONE:
    case ERR_EXISTS:
    case ERR_CONFLICT:
        return false;
    case ERR_NOT_FOUND:
    case ERR_GONE:
    case ERR_BUSY:
    case ERR_TIMEOUT:
    case ERR_IO:
    case ERR_INTERNAL:
        break;
    }
    /* Without an HTTP status the API server is unreachable, so a status update would fail too; do not count
     * it as a rejection. */
    return res->http_status && cache &&
           job_cache_note_outage(cache, request->op.kind, loop_now_ms(request->execution->r->loop));
}

static const char *denial_reason(enum kube_denial denial)
{
    switch (denial) {
    case KUBE_DENIAL_QUOTA:
        return "QuotaExceeded";
    case KUBE_DENIAL_NAMESPACE_TERMINATING:
        return "NamespaceTerminating";
    case KUBE_DENIAL_POD_SECURITY:
        return "PodSecurityViolation";
    case KUBE_DENIAL_NONE:
    case KUBE_DENIAL_RULES:
    case KUBE_DENIAL_CREDENTIALS:
    case KUBE_DENIAL_LEASE:
        break;
    }
    return "PodsForbidden";
}

const char *response_reason(const struct kube_response *res)
{
    return res->err.kind == ERR_DENIED ? denial_reason(res->denial) : "FailedCreate";
}

/* Pods of an earlier job need no deletion here, and for EndpointSlices the pods exist already. */
void response_reject(const struct request *request, const char *reason, char *text_take)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    int64_t now = loop_now_ms(request->execution->r->loop);

    if (cache) {
        job_cache_note_rejection(cache, request->execution->generation, reason, text_take, now);
        if (reason_is_warning(reason) && request->op.kind != OP_ENDPOINTS_WRITE)
            job_cache_reject_starts(cache);
    } else {
        mem_free(text_take);
    }
    execution_again_at(request->execution, now);
}

void response_reject_or_fail(struct request *request, const struct kube_response *res, char *text_take)
{
    if (response_is_rejection(request, res)) {
        response_reject(request, response_reason(res), text_take);
        return;
    }
    mem_free(text_take);
    response_fail(request, res);
}

void response_note_success(const struct request *request, const struct kube_response *res)
{
    struct job_cache *cache = execution_job_cache(request->execution);

    if (cache && (res->err.kind == ERR_NONE || res->err.kind == ERR_EXISTS))
        job_cache_note_success(cache, request->op.kind);
}
