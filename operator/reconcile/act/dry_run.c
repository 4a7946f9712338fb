#include "operator/reconcile/act/dry_run.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/queue/queue_priority.h"
#include "operator/api/names.h"
#include "operator/reconcile/act/launcher_requests.h"
#include "operator/reconcile/act/responses_common.h"
#include "operator/reconcile/state/schedule.h"

static void on_dry_run(void *ctx, struct kube_response *res);

/* ---- requests ---- */

static void await_dry_run(const struct execution *execution)
{
    struct job_cache *cache = execution_job_cache(execution);

    if (!cache)
        return;
    cache->dry_run = DRY_RUN_AWAITED;
    cache->dry_run_generation = execution->generation;
}

static void use_generate_name(cJSON *metadata)
{
    json_put_strf(metadata, "generateName", "%s-", json_str(metadata, "name", ""));
    json_drop(metadata, "name");
}

/* A pod that differs from the real one in nothing that the API server checks. */
void dry_run_send(struct execution *execution, struct op *op, const struct job *job)
{
    static const char *const query[] = {"dryRun", "All", NULL};
    const struct partition_placement place = {
        .partition = "dry-run", .vipu_host = "dry-run", .vipu_port = 1, .agent_port = AGENT_HOST_PORT_FIRST};
    bool is_launcher = op->worker > 0;
    AUTO(json) cJSON *pod = NULL;
    struct err err = {0};

    pod = is_launcher ? launch_make_dry_run_pod(execution->r, job, &place, &err)
                      : pod_spec_worker(job, 0, 0, &place, &execution->r->options.pods, &err);
    if (!pod) {
        log_error("cannot build pod", KV("job", execution->key), KV("cause", err.msg));
        return;
    }
    if (!is_launcher && !op->ready && !dry_run_cache_begin(&execution->r->dry_run_cache, job)) {
        await_dry_run(execution);
        return;
    }
    if (op->ready)
        use_generate_name(json_at_mut(pod, "metadata"));
    mem_free(op->text);
    op->text = dry_run_cache_key(job);
    execution_send(execution, op,
                   &(struct kube_request){.method = "POST",
                                          .resource = &KUBE_PODS,
                                          .ns = job->ns,
                                          .query = query,
                                          .body = pod,
                                          .retry_post = true},
                   on_dry_run);
}

/* ---- responses ---- */

/* Several jobs with the same template share one response (dry_run_cache.h). */
static void end_dry_run_wait(struct reconciler *r, const char *key)
{
    const struct store_item *item = store_get(watch_store(r->jobs), key);
    const struct job *job = item ? item->view : NULL;
    struct job_cache *cache = job ? map_get(&r->job_caches, job->uid) : NULL;

    if (cache && cache->dry_run == DRY_RUN_AWAITED)
        cache->dry_run_generation = 0;
    reconciler_enqueue(r, key);
}

/* Jobs with the same template wait for one response; the op has the cache key. */
static void complete_dry_run(const struct request *request, struct dry_run_result *result)
{
    struct reconciler *r = request->execution->r;
    AUTO(strv) struct strv waiting = {0};

    dry_run_cache_complete(&r->dry_run_cache, request->op.text, result, loop_now_ms(r->loop), &waiting);
    for (size_t i = 0; i < waiting.count; i++)
        end_dry_run_wait(r, waiting.items[i]);
}

/* The workers are accepted; check their launcher next. */
static bool dry_run_launcher(const struct request *request, const struct kube_response *res)
{
    struct execution *execution = request->execution;
    const struct job *job = execution_job(execution);
    struct op op = {.kind = OP_DRY_RUN, .worker = 1};

    if (request->op.worker || !job || !job->spec.has_launcher || res->err.kind != ERR_NONE)
        return false;
    dry_run_send(execution, &op, job);
    return true;
}

/* A pod of this name exists, so this response does not contain the priority of a new one. */
static bool dry_run_other_name(const struct request *request, const struct kube_response *res)
{
    struct execution *execution = request->execution;
    const struct job *job = execution_job(execution);
    struct op op = {.kind = OP_DRY_RUN, .worker = request->op.worker, .ready = true};

    if (request->op.ready || !job || res->err.kind != ERR_EXISTS)
        return false;
    dry_run_send(execution, &op, job);
    return true;
}

static void reject_template(const struct request *request, const struct kube_response *res,
                            struct job_cache *cache)
{
    cache->dry_run_generation = request->execution->generation;
    cache->dry_run = DRY_RUN_INVALID;
    cache->dry_run_reason = "InvalidPodTemplate";
    mem_free(cache->dry_run_text);
    cache->dry_run_text = pod_spec_translate_message(res->message, request->op.worker > 0);
}

static void finish_dry_run(struct request *request, struct kube_response *res)
{
    struct job_cache *cache = execution_job_cache(request->execution);
    enum err_kind kind = res->err.kind;
    bool is_rejected = kind != ERR_INVALID && response_is_rejection(request, res);
    struct dry_run_result result = {
        .reason = is_rejected ? response_reason(res) : NULL,
        .text = is_rejected ? res->message : NULL,
        .priority = queue_priority_of_pod(request->execution->r->options.priority_classes, res->body),
        .preempts = queue_priority_preempts(request->execution->r->options.priority_classes, res->body),
    };

    if (dry_run_other_name(request, res) || dry_run_launcher(request, res))
        return;
    complete_dry_run(request, kind == ERR_NONE || is_rejected ? &result : NULL);
    if (!cache)
        return;
    if (kind == ERR_EXISTS) { /* the owner of the name is found out when the pod is created */
        result.priority = cache->priority;
        result.preempts = cache->preempts;
    }
    if (kind == ERR_INVALID) {
        reject_template(request, res, cache);
    } else if (kind == ERR_NONE || kind == ERR_EXISTS || is_rejected) {
        job_cache_set_dry_run(cache, request->execution->generation, &result);
    } else {
        cache->dry_run_generation = 0;
        response_fail(request, res);
        return;
    }
    execution_again_at(request->execution, loop_now_ms(request->execution->r->loop));
}

static void on_dry_run(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;

    response_note_success(request, res);
    finish_dry_run(request, res);
    request_end(request);
}
