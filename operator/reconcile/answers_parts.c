#include "operator/reconcile/answers.h"

#include "base/core/mem.h"
#include "base/io/log.h"

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

void answer_fail(struct request *request, const struct kube_response *res)
{
    const struct op *op = &request->op;

    request->work->failed = true;
    if (res->err.kind == ERR_CONFLICT) /* the watch brings the newer state */
        log_debug("write met a newer object", KV("job", request->work->key), KV("cause", res->err.msg));
    else
        log_warn("request failed", KV("job", request->work->key), KV("object", op->name),
                 KV("cause", res->message));
}
