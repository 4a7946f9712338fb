#include "operator/reconcile/act/responses.h"

#include "base/core/mem.h"

/* A POST that was sent twice, or by a process before us, meets itself: then the record is ours. */
static void on_record_looked(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct work *work = request->work;
    struct job_memory *memory = work_memory(work);
    const struct record *wanted = request->op.record;
    AUTO(mem) char *key = answer_key(work->r->options.operator_ns, wanted->name);
    struct record *found = res->err.kind == ERR_NONE ? record_parse(res->body) : NULL;
    bool ours = found && str_eq(found->job_uid, wanted->job_uid) && found->instance == wanted->instance &&
                found->attempt == wanted->attempt;

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
        answer_fail(request, res);
    else if (ours) /* the watch is behind: its record is not asked for again before it shows */
        answer_expect_version(request, work->r->records, key, res);
    else if (res->err.kind == ERR_NONE && memory) {
        map_set(&memory->taken, wanted->name, memory);
        memory_forget_part(memory, wanted->name);
    }
    work_again_at(work, loop_now_ms(work->r->loop));
    record_free(found);
    request_end(request);
}

static void look_whose_record(struct request *request)
{
    struct work *work = request->work;
    struct op op = {.kind = OP_RECORD_CREATE, .record = record_copy(request->op.record)};
    struct kube_request http = {.method = "GET",
                                .resource = &KUBE_CONFIGMAPS,
                                .ns = work->r->options.operator_ns,
                                .name = op.record->name};

    work_send(work, &op, &http, on_record_looked);
}

/* It was made by a process before this one, which had not seen it when it asked, or by our own first try.
 * What holds for a partition that nobody can have asked for yet, does not hold for this one. */
static void doubt_freshness(const struct request *request)
{
    struct reconciler *r = request->work->r;
    struct job_memory *memory = work_memory(request->work);
    const char *id = request->op.record->name;
    const struct record *seen = store_view(watch_store(r->records), r->options.operator_ns, id);

    if (memory)
        memory_part(memory, id, loop_now_ms(r->loop))->is_ours_fresh = false;
    if (!seen || !str_eq(seen->job_uid, request->work->uid))
        return;
    pool_forget(r->pool, seen->controller, id);
    reconciler_follow(r, seen);
}

void answer_record_created(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    AUTO(mem) char *key = answer_key(r->options.operator_ns, request->op.record->name);

    if (res->err.kind == ERR_NONE) {
        answer_expect_version(request, r->records, key, res);
        reconciler_follow(r, request->op.record); /* its IPUs are spoken for from now on */
        return;
    }
    if (res->err.kind == ERR_EXISTS) {
        doubt_freshness(request);
        look_whose_record(request);
    } else {
        answer_fail(request, res);
    }
}

void answer_record_patched(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    const struct record *record = request->op.record;
    AUTO(mem) char *key = answer_key(r->options.operator_ns, record->name);
    struct job_memory *memory = work_memory(request->work);
    struct part_memory *part;

    if (res->err.kind == ERR_NOT_FOUND)
        return;
    if (res->err.kind != ERR_NONE) {
        answer_fail(request, res);
        return;
    }
    answer_expect_version(request, r->records, key, res);
    if (!memory)
        return;
    part = memory_part(memory, record->name, loop_now_ms(r->loop));
    if (part->run != record->run) {
        part_begin_run(part, record->run, loop_now_ms(r->loop));
        pool_begin_run(r->pool, record->controller, record->name);
    }
    if (record->launched)
        part_note_launch(part);
}

void answer_record_deleted(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    AUTO(mem) char *key = answer_key(r->options.operator_ns, request->op.name);
    struct job_memory *memory = work_memory(request->work);

    if (request->op.ready && memory)
        map_set(&memory->taken, request->op.name, memory);
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_NOT_FOUND)
        answer_expect_gone(request, r->records, key);
    else
        answer_fail(request, res);
}
