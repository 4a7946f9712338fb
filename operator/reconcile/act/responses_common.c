#include "operator/reconcile/act/responses.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/reasons.h"

static const char *version_of(const struct kube_response *res)
{
    return json_str(res->body, "metadata/resourceVersion", NULL);
}

void answer_expect_version(const struct request *request, const struct watch *watch, const char *key,
                           const struct kube_response *res)
{
    struct job_memory *memory = work_memory(request->work);
    const char *version = version_of(res);

    if (memory && version)
        memory_expect(memory, &(struct expectation){
                                  .watch = watch,
                                  .key = (char *)key,
                                  .resource_version = (char *)version,
                                  .until_ms = loop_now_ms(request->work->r->loop) + BLIND_MAX_MS,
                              });
}

void answer_expect_gone(const struct request *request, const struct watch *watch, const char *key)
{
    struct job_memory *memory = work_memory(request->work);

    if (memory)
        memory_expect(memory, &(struct expectation){
                                  .watch = watch,
                                  .key = (char *)key,
                                  .may_linger = request->op.kind == OP_POD_DELETE && !request->op.now,
                                  .until_ms = loop_now_ms(request->work->r->loop) + EXPECT_MS,
                              });
}

void answer_expect_change(const struct request *request, const char *key)
{
    struct job_memory *memory = work_memory(request->work);

    if (memory && request->op.version)
        memory_expect(memory, &(struct expectation){
                                  .watch = request->work->r->pods,
                                  .key = (char *)key,
                                  .other_than = request->op.version,
                                  .until_ms = loop_now_ms(request->work->r->loop) + BLIND_MAX_MS,
                              });
}

char *answer_key(const char *ns, const char *name)
{
    return mem_printf("%s/%s", ns, name);
}

/* What pods need is told where they are started (answer_refuse). */
static char *name_write(const struct op *op)
{
    switch (op->kind) {
    case OP_RECORD_CREATE:
    case OP_RECORD_PATCH:
        return mem_printf("write record %s", op->record->name);
    case OP_RECORD_DELETE:
        return mem_printf("delete record %s", op->name);
    case OP_POD_DELETE:
        return mem_printf("delete pod %s", op->name);
    case OP_KEYS_DELETE:
        return mem_printf("delete Secret %s", op->name);
    case OP_FINALIZER_ADD:
    case OP_FINALIZER_REMOVE:
        return mem_strdup("change the job's finalizers");
    case OP_JOB_DELETE:
    case OP_CLAIM:
    case OP_DRY_RUN:
    case OP_SERVICE_CREATE:
    case OP_NAMES_WRITE:
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

static void note_refused_write(const struct request *request, const struct kube_response *res)
{
    struct job_memory *memory = work_memory(request->work);
    AUTO(mem) char *write = name_write(&request->op);

    if (!memory || !write || !answer_refuses(request, res))
        return;
    mem_free(memory->write_refused);
    memory->write_refused =
        mem_printf("the API server does not let the operator %s: %s", write, res->message);
    memory->write_refused_op = request->op.kind;
}

void answer_fail(struct request *request, const struct kube_response *res)
{
    const struct op *op = &request->op;

    request->work->failed = true;
    note_refused_write(request, res);
    if (res->err.kind == ERR_CONFLICT) /* the watch brings the newer state */
        log_debug("write met a newer object", KV("job", request->work->key), KV("cause", res->err.msg));
    else
        log_warn("request failed", KV("job", request->work->key), KV("object", op->name),
                 KV("cause", res->message));
}

bool answer_refuses(const struct request *request, const struct kube_response *res)
{
    struct job_memory *memory = work_memory(request->work);

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
    /* Without an answer there is nobody who could be told either. */
    return res->http_status && memory &&
           memory_note_outage(memory, request->op.kind, loop_now_ms(request->work->r->loop));
}

static const char *denial_reason(enum kube_denial denial)
{
    switch (denial) {
    case KUBE_DENIAL_QUOTA:
        return "QuotaExceeded";
    case KUBE_DENIAL_NAMESPACE_TERMINATING:
        return "NamespaceTerminating";
    case KUBE_DENIAL_POD_SECURITY:
        return "PodSecurityRefused";
    case KUBE_DENIAL_NONE:
    case KUBE_DENIAL_RULES:
    case KUBE_DENIAL_CREDENTIALS:
    case KUBE_DENIAL_LEASE:
        break;
    }
    return "PodsForbidden";
}

const char *answer_reason(const struct kube_response *res)
{
    return res->err.kind == ERR_DENIED ? denial_reason(res->denial) : "PodsNotCreated";
}

/* Pods of an earlier job go by themselves; behind names, the pods are there. */
void answer_refuse(const struct request *request, const char *reason, char *text_take)
{
    struct job_memory *memory = work_memory(request->work);
    int64_t now = loop_now_ms(request->work->r->loop);

    if (memory) {
        memory_note_refusal(memory, request->work->generation, reason, text_take, now);
        if (reason_is_warning(reason) && request->op.kind != OP_NAMES_WRITE)
            memory_refuse_starts(memory);
    } else {
        mem_free(text_take);
    }
    work_again_at(request->work, now);
}

void answer_refuse_or_fail(struct request *request, const struct kube_response *res, char *text_take)
{
    if (answer_refuses(request, res)) {
        answer_refuse(request, answer_reason(res), text_take);
        return;
    }
    mem_free(text_take);
    answer_fail(request, res);
}
