#include <string.h>

#include "base/core/mem.h"
#include "operator/reconcile/act/responses.h"
#include "operator/reconcile/act/launcher_requests.h"

/* ---- one done function per kind of request ---- */

static void on_job_patched(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE)
        answer_expect_version(request, request->work->r->jobs, request->work->key, res);
    else if (res->err.kind != ERR_NOT_FOUND)
        answer_fail(request, res);
}

/* Deleting with a finalizer on it is a change like others; without one, the job is gone at once. */
static void on_job_deleted(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && json_at(res->body, "metadata/deletionTimestamp"))
        answer_expect_version(request, request->work->r->jobs, request->work->key, res);
    else if (res->err.kind == ERR_NONE)
        answer_expect_gone(request, request->work->r->jobs, request->work->key);
    else if (res->err.kind != ERR_NOT_FOUND && res->err.kind != ERR_CONFLICT) /* another uid: ours has gone */
        answer_fail(request, res);
}

static void on_finalizer_removed(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && !json_at(res->body, "metadata/deletionTimestamp"))
        answer_expect_version(request, request->work->r->jobs, request->work->key, res);
    else if (res->err.kind == ERR_NONE)
        answer_expect_gone(request, request->work->r->jobs, request->work->key);
    else if (res->err.kind != ERR_NOT_FOUND)
        answer_fail(request, res);
}

/* The answer was about a like job, and is looked up there (admitted.h). */
static void end_dry_run_wait(struct reconciler *r, const char *key)
{
    const struct store_item *item = store_get(watch_store(r->jobs), key);
    const struct job *job = item ? item->view : NULL;
    struct job_memory *memory = job ? map_get(&r->memories, job->uid) : NULL;

    if (memory && memory->dry_run == DRY_RUN_AWAITED)
        memory->dry_run_generation = 0;
    reconciler_enqueue(r, key);
}

/* Like jobs wait for one answer. The fingerprint asked about stands in the op. */
static void tell_waiting(const struct request *request, struct judgement *judgement)
{
    struct reconciler *r = request->work->r;
    AUTO(strv) struct strv waiting = {0};

    admitted_answer(&r->admitted, request->op.text, judgement, loop_now_ms(r->loop), &waiting);
    for (size_t i = 0; i < waiting.count; i++)
        end_dry_run_wait(r, waiting.items[i]);
}

static const struct job *job_of(const struct work *work)
{
    const struct store_item *item = store_get(watch_store(work->r->jobs), work->key);
    const struct job *job = item ? item->view : NULL;

    return job && str_eq(job->uid, work->uid) && job->generation == work->generation ? job : NULL;
}

/* The workers pass: what about their launcher? */
static bool ask_about_launcher(const struct request *request, const struct kube_response *res)
{
    struct work *work = request->work;
    const struct job *job = job_of(work);
    struct op op = {.kind = OP_DRY_RUN, .worker = 1};

    if (request->op.worker || !job || !job->spec.has_launcher || res->err.kind != ERR_NONE)
        return false;
    act_send_dry_run(work, &op, job);
    return true;
}

/* The pod is there, of this job or another: that does not tell what one more would be worth. */
static bool ask_under_another_name(const struct request *request, const struct kube_response *res)
{
    struct work *work = request->work;
    const struct job *job = job_of(work);
    struct op op = {.kind = OP_DRY_RUN, .worker = request->op.worker, .ready = true};

    if (request->op.ready || !job || res->err.kind != ERR_EXISTS)
        return false;
    act_send_dry_run(work, &op, job);
    return true;
}

static void refuse_template(const struct request *request, const struct kube_response *res,
                            struct job_memory *memory)
{
    memory->dry_run_generation = request->work->generation;
    memory->dry_run = DRY_RUN_REFUSED;
    memory->dry_run_reason = "PodTemplateRefused";
    mem_free(memory->dry_run_text);
    memory->dry_run_text = podspec_in_words_of_job(res->message, request->op.worker > 0);
}

static void on_dry_run(struct request *request, struct kube_response *res)
{
    struct job_memory *memory = work_memory(request->work);
    enum err_kind kind = res->err.kind;
    bool is_refused = kind != ERR_INVALID && answer_refuses(request, res);
    /* The API server's admission writes what the template's PriorityClass is worth into the pod. */
    struct judgement judgement = {
        .reason = is_refused ? answer_reason(res) : NULL,
        .text = is_refused ? res->message : NULL,
        .priority = (int32_t)json_i64(res->body, "spec/priority", 0),
    };

    if (ask_under_another_name(request, res) || ask_about_launcher(request, res))
        return;
    tell_waiting(request, kind == ERR_NONE || is_refused ? &judgement : NULL);
    if (!memory)
        return;
    if (kind == ERR_EXISTS) /* who owns the name is seen when it is created */
        judgement.priority = memory->priority;
    if (kind == ERR_INVALID) {
        refuse_template(request, res, memory);
    } else if (kind == ERR_NONE || kind == ERR_EXISTS || is_refused) {
        memory_take_judgement(memory, request->work->generation, &judgement);
    } else {
        memory->dry_run_generation = 0;
        answer_fail(request, res);
        return;
    }
    work_again_at(request->work, loop_now_ms(request->work->r->loop));
}

/* What pods of a job share: its Service, who is behind it, its NetworkPolicy. */
static void on_shared_written(struct request *request, const struct watch *watch, const char *kind,
                              const char *name, struct kube_response *res)
{
    struct work *work = request->work;
    AUTO(mem) char *ns = work_ns(work);
    AUTO(mem) char *key = answer_key(ns, name);
    const struct owned *seen = store_view(watch_store(watch), ns, name);

    if (res->err.kind == ERR_NONE)
        answer_expect_version(request, watch, key, res);
    else if (res->err.kind == ERR_EXISTS && seen && str_eq(seen->job_uid, work->uid))
        work_again_at(work, loop_now_ms(work->r->loop));
    else if (res->err.kind == ERR_EXISTS)
        answer_refuse(
            request, "NameTaken",
            mem_printf("%s %s exists and is not part of this job; delete or rename it", kind, name));
    else
        answer_refuse_or_fail(request, res, mem_strdup(res->message));
}

/* Pods may be refused at the same time, for reasons of their own. */
static void on_names_written(struct request *request, struct kube_response *res)
{
    struct job_memory *memory = work_memory(request->work);
    bool pods_are_refused = memory && memory->create_refused;

    if (res->err.kind == ERR_NOT_FOUND) /* somebody has deleted it, as the watch will tell */
        return;
    if (memory)
        memory->create_refused = false;
    on_shared_written(request, request->work->r->slices, "EndpointSlice", request->op.name, res);
    if (!memory)
        return;
    memory->names_refused = memory->create_refused;
    memory->create_refused = pods_are_refused;
}

static void refuse_name(const struct request *request, const struct pod *seen)
{
    if (seen)
        answer_refuse(request, "StoppingOldPods",
                      mem_printf("pod %s of an earlier job of this name has not gone yet", request->op.text));
    else
        answer_refuse(
            request, "NameTaken",
            mem_printf("pod %s exists and is not part of this job; delete or rename it", request->op.text));
}

static bool is_for_launcher(const struct request *request)
{
    const struct job *job = job_of(request->work);

    return job && request->op.worker >= job->spec.workers_per_instance;
}

/* Nobody knows whether it will still be created. The next job must not get the same partition id meanwhile.
 */
static void note_stray(const struct request *request, const struct kube_response *res)
{
    const struct reconciler *r = request->work->r;
    const char *id = request->op.name;
    const struct record *record = store_view(watch_store(r->records), r->options.operator_ns, id);

    if (record && (res->err.kind == ERR_TIMEOUT || res->err.kind == ERR_IO))
        pool_note_stray(r->pool, record->controller, id, loop_now_ms(r->loop) + STRAY_POD_MS);
}

/* It is there, also when it goes before a watch that was behind shows it: then it has vanished unseen, and is
 * not one that never was. */
static void note_created(const struct request *request)
{
    struct job_memory *memory = work_memory(request->work);
    struct part_memory *part = memory ? map_get(&memory->parts, request->op.name) : NULL;
    struct worker_memory *worker = part ? part_worker(part, request->op.worker) : NULL;

    if (worker && worker->state == WORKER_NEVER_SEEN)
        worker->state = WORKER_PRESENT;
}

static void on_pod_created(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    AUTO(mem) char *ns = work_ns(request->work);
    AUTO(mem) char *key = answer_key(ns, request->op.text);
    const struct pod *seen = store_view(watch_store(r->pods), ns, request->op.text);

    if (res->err.kind == ERR_NONE) {
        struct job_memory *memory = work_memory(request->work);

        if (memory)
            memory_note_creation(memory, loop_now_ms(r->loop));
        note_created(request);
        answer_expect_version(request, r->pods, key, res);
    } else if (res->err.kind == ERR_EXISTS) {
        if (seen && str_eq(seen->job_uid, request->work->uid))
            work_again_at(request->work, loop_now_ms(r->loop));
        else
            refuse_name(request, seen);
    } else {
        note_stray(request, res);
        answer_refuse_or_fail(request, res, podspec_in_words_of_job(res->message, is_for_launcher(request)));
    }
}

/* A full quota refuses what exists, too. Keys of pods that are there are there as a rule; a pod that misses
 * them says so. */
static void on_keys_created(struct request *request, struct kube_response *res)
{
    bool is_presumed = request->op.ready && answer_refuses(request, res);

    if (res->err.kind == ERR_NONE || res->err.kind == ERR_EXISTS || is_presumed)
        launch_on_keys_created(request, res);
    else
        answer_refuse_or_fail(request, res, mem_strdup(res->message));
}

static void on_pod_deleted(struct request *request, struct kube_response *res)
{
    AUTO(mem) char *ns = work_ns(request->work);
    AUTO(mem) char *key = answer_key(ns, request->op.name);

    if (res->err.kind == ERR_NONE)
        answer_expect_gone(request, request->work->r->pods, key);
    else if (res->err.kind == ERR_CONFLICT)
        answer_expect_change(request, key); /* ours has gone, or is not what it was */
    else if (res->err.kind != ERR_NOT_FOUND)
        answer_fail(request, res);
}

void answer_op(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct job_memory *memory = work_memory(request->work);

    if (memory && (res->err.kind == ERR_NONE || res->err.kind == ERR_EXISTS))
        memory_note_success(memory, request->op.kind);
    switch (request->op.kind) {
    case OP_STATUS:
    case OP_FINALIZER_ADD:
        on_job_patched(request, res);
        break;
    case OP_FINALIZER_REMOVE:
        on_finalizer_removed(request, res);
        break;
    case OP_JOB_DELETE:
        on_job_deleted(request, res);
        break;
    case OP_DRY_RUN:
        on_dry_run(request, res);
        break;
    case OP_SERVICE_CREATE:
        on_shared_written(request, request->work->r->services, "Service", request->op.text, res);
        break;
    case OP_NAMES_WRITE:
        on_names_written(request, res);
        break;
    case OP_POLICY_CREATE:
        on_shared_written(request, request->work->r->policies, "NetworkPolicy", request->op.text, res);
        break;
    case OP_KEYS_CREATE:
        on_keys_created(request, res);
        break;
    case OP_KEYS_DELETE:
        if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
            answer_fail(request, res);
        break;
    case OP_RECORD_CREATE:
        answer_record_created(request, res);
        break;
    case OP_RECORD_PATCH:
        answer_record_patched(request, res);
        break;
    case OP_RECORD_DELETE:
        answer_record_deleted(request, res);
        break;
    case OP_POD_CREATE:
        on_pod_created(request, res);
        break;
    case OP_POD_DELETE:
        on_pod_deleted(request, res);
        break;
    case OP_CLAIM:
    case OP_PARTITION_CREATE:
    case OP_PARTITION_RESET:
    case OP_PARTITION_REMOVE:
    case OP_EVENT:
        break;
    }
    request_end(request);
}

/* ---- is a job really gone? ---- */

void answer_look(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct work *work = request->work;
    const char *uid = request->op.uid;
    bool is_there = res->err.kind == ERR_NONE && str_eq(json_str(res->body, "metadata/uid", ""), uid);

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
        answer_fail(request, res);
    else if (!is_there)
        map_set(&work->r->gone, uid, work->r);
    work_again_at(work,
                  loop_now_ms(work->r->loop) + (is_there ? EXPECT_MS : 0)); /* there: the watch is behind */
    request_end(request);
}
