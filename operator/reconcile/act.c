#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/reconcile/state.h"
#include "vipu/model/shape.h"

/* How long before asking again what the API server has refused for now. */
#define REFUSED_AGAIN_MS 10000

/* One plan being performed. */
struct work {
    struct reconciler *r;
    char *key, *uid; /* uid: of the job; "" when it is gone */
    int64_t generation;
    unsigned outstanding;
    bool failed;
    int64_t again_at_ms;
    struct request *requests; /* in flight, for cancelling */
};

/* One request of a plan. */
struct request {
    struct work *work;
    struct kube_call *call;
    struct op op; /* moved out of the plan */
    struct request *next, **link;
};

static void work_end(struct work *work)
{
    struct reconciler *r = work->r;
    AUTO(mem) char *key = TAKE(work->key);
    bool failed = work->failed;
    int64_t again_at_ms = work->again_at_ms;

    map_remove(&r->works, key);
    mem_free(work->uid);
    mem_free(work);
    reconciler_work_done(r, key, failed, again_at_ms);
}

static void work_put(struct work *work)
{
    if (--work->outstanding == 0)
        work_end(work);
}

static void again_at(struct work *work, int64_t at_ms)
{
    if (!work->again_at_ms || at_ms < work->again_at_ms)
        work->again_at_ms = at_ms;
}

static struct job_memory *memory_of(const struct work *work)
{
    return map_get(&work->r->memories, work->uid);
}

static void request_free(struct request *request)
{
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    op_release(&request->op);
    mem_free(request);
}

/* The op is moved in. Everything in http is copied. */
static void send_to(struct work *work, struct op *op, const struct kube_request *http, kube_done_fn done)
{
    struct request *request = NEW(struct request);

    request->work = work;
    request->op = *op;
    *op = (struct op){0};
    request->next = work->requests;
    request->link = &work->requests;
    if (request->next)
        request->next->link = &request->next;
    work->requests = request;
    work->outstanding++;
    request->call = kube_send(work->r->kube, http, done, request);
}

/* ---- reading answers ---- */

static const char *version_of(const struct kube_response *res)
{
    return json_str(res->body, "metadata/resourceVersion", NULL);
}

/* The watch has to show this write before the job is looked at again. */
static void expect_version(const struct request *request, const struct watch *watch, const char *key,
                           const struct kube_response *res)
{
    struct job_memory *memory = memory_of(request->work);
    const char *version = version_of(res);

    if (memory && version)
        memory_expect(memory, watch_store(watch), key, version,
                      loop_now_ms(request->work->r->loop) + EXPECT_MS);
}

static void expect_gone(const struct request *request, const struct watch *watch, const char *key)
{
    struct job_memory *memory = memory_of(request->work);

    if (memory)
        memory_expect(memory, watch_store(watch), key, NULL, loop_now_ms(request->work->r->loop) + EXPECT_MS);
}

static char *key_in(const char *ns, const char *name)
{
    return mem_printf("%s/%s", ns, name);
}

static void fail(struct request *request, const struct kube_response *res)
{
    const struct op *op = &request->op;

    request->work->failed = true;
    if (res->err.kind == ERR_CONFLICT) /* the watch brings the newer state */
        log_debug("write met a newer object", KV("job", request->work->key), KV("cause", res->err.msg));
    else
        log_warn("request failed", KV("job", request->work->key), KV("object", op->name),
                 KV("cause", res->message));
}

/* The API server's sentence, in the words of the job: where a field stands in spec.workers.template. */
static char *in_words_of_job(const char *message)
{
    const char *colon = strstr(message, " is invalid: ");
    struct str out = {0};

    for (const char *p = colon ? colon + strlen(" is invalid: ") : message; *p; p++) {
        bool at_start = p == message || strchr(" [,;\"", p[-1]) != NULL;
        unsigned index;
        int used = 0;

        if (at_start && strncmp(p, "spec.", 5) == 0) {
            str_adds(&out, "spec.workers.template.spec.");
            p += 4;
            /* ipu-launch's own init container stands before the user's. */
            if (sscanf(p + 1, "initContainers[%u]%n", &index, &used) == 1 && used && index > 0) {
                str_addf(&out, "initContainers[%u]", index - 1);
                p += used;
            }
        } else {
            str_addc(&out, *p);
        }
    }
    return str_take(&out);
}

static const char *denial_reason(enum kube_denial denial)
{
    switch (denial) {
    case KUBE_DENIAL_QUOTA:
        return "QuotaExceeded";
    case KUBE_DENIAL_NAMESPACE_TERMINATING:
        return "NamespaceTerminating";
    case KUBE_DENIAL_NONE:
    case KUBE_DENIAL_RULES:
    case KUBE_DENIAL_CREDENTIALS:
    case KUBE_DENIAL_LEASE:
        break;
    }
    return "PodsForbidden";
}

/* ---- one done function per kind of request ---- */

static void on_job_patched(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE)
        expect_version(request, request->work->r->jobs, request->work->key, res);
    else if (res->err.kind != ERR_NOT_FOUND)
        fail(request, res);
}

static void on_finalizer_removed(struct request *request, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && !json_at(res->body, "metadata/deletionTimestamp"))
        expect_version(request, request->work->r->jobs, request->work->key, res);
    else if (res->err.kind == ERR_NONE)
        expect_gone(request, request->work->r->jobs, request->work->key);
    else if (res->err.kind != ERR_NOT_FOUND)
        fail(request, res);
}

/* Like jobs wait for one answer. The fingerprint asked about stands in the op. */
static void tell_waiting(const struct request *request, bool passed)
{
    struct reconciler *r = request->work->r;
    AUTO(strv) struct strv waiting = {0};

    admitted_answer(&r->admitted, request->op.text, passed, loop_now_ms(r->loop), &waiting);
    for (size_t i = 0; i < waiting.count; i++)
        reconciler_enqueue(r, waiting.items[i]);
}

static void on_dry_run(struct request *request, struct kube_response *res)
{
    struct job_memory *memory = memory_of(request->work);
    int64_t now = loop_now_ms(request->work->r->loop);

    tell_waiting(request, res->err.kind == ERR_NONE);
    if (!memory)
        return;
    memory->dry_run_generation = request->work->generation;
    mem_set_str(&memory->dry_run_text, NULL);
    if (res->err.kind == ERR_NONE ||
        res->err.kind == ERR_EXISTS) { /* who owns the name is seen when it is created */
        memory->dry_run = DRY_RUN_PASSED;
    } else if (res->err.kind == ERR_INVALID) {
        memory->dry_run = DRY_RUN_REFUSED;
        memory->dry_run_reason = "PodTemplateRefused";
        memory->dry_run_text = in_words_of_job(res->message);
    } else if (res->err.kind == ERR_DENIED && res->denial != KUBE_DENIAL_LEASE) {
        memory->dry_run = DRY_RUN_FORBIDDEN;
        memory->dry_run_reason = denial_reason(res->denial);
        memory->dry_run_text = mem_strdup(res->message);
        memory->dry_run_retry_at_ms = now + REFUSED_AGAIN_MS;
    } else {
        memory->dry_run_generation = 0;
        fail(request, res);
        return;
    }
    again_at(request->work, now);
}

static void on_service_created(struct request *request, struct kube_response *res)
{
    struct job_memory *memory = memory_of(request->work);

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_EXISTS) {
        fail(request, res);
        return;
    }
    if (memory)
        memory->has_service = true;
    again_at(request->work, loop_now_ms(request->work->r->loop));
}

/* A POST that was sent twice, or by a process before us, meets itself: then the record is ours. */
static void on_record_looked(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct work *work = request->work;
    struct job_memory *memory = memory_of(work);
    const struct record *wanted = request->op.record;
    struct record *found = res->err.kind == ERR_NONE ? record_parse(res->body) : NULL;
    bool ours = found && str_eq(found->job_uid, wanted->job_uid) && found->instance == wanted->instance &&
                found->attempt == wanted->attempt;

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
        fail(request, res);
    else if (res->err.kind == ERR_NONE && !ours && memory) {
        map_set(&memory->taken, wanted->name, memory);
        memory_forget_part(memory, wanted->name);
    }
    again_at(work, loop_now_ms(work->r->loop));
    record_free(found);
    request_free(request);
    work_put(work);
}

static void look_whose_record(struct request *request)
{
    struct work *work = request->work;
    struct op op = {.kind = OP_RECORD_CREATE, .record = record_copy(request->op.record)};
    struct kube_request http = {.method = "GET",
                                .resource = &KUBE_CONFIGMAPS,
                                .ns = work->r->options.operator_ns,
                                .name = op.record->name};

    send_to(work, &op, &http, on_record_looked);
}

static void on_record_created(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    AUTO(mem) char *key = key_in(r->options.operator_ns, request->op.record->name);

    if (res->err.kind == ERR_NONE) {
        expect_version(request, r->records, key, res);
        reconciler_follow(r, request->op.record); /* its IPUs are spoken for from now on */
        return;
    }
    if (res->err.kind == ERR_EXISTS)
        look_whose_record(request);
    else
        fail(request, res);
}

static void on_record_patched(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    const struct record *record = request->op.record;
    AUTO(mem) char *key = key_in(r->options.operator_ns, record->name);
    struct job_memory *memory = memory_of(request->work);

    if (res->err.kind == ERR_NOT_FOUND)
        return;
    if (res->err.kind != ERR_NONE) {
        fail(request, res);
        return;
    }
    expect_version(request, r->records, key, res);
    if (memory && !record->started && !record->releasing) {
        part_begin_run(memory_part(memory, record->name, loop_now_ms(r->loop)), record->run);
        pool_begin_run(r->pool, record->controller, record->name);
    }
}

static void on_record_deleted(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    AUTO(mem) char *key = key_in(r->options.operator_ns, request->op.name);

    if (res->err.kind == ERR_NONE || res->err.kind == ERR_NOT_FOUND)
        expect_gone(request, r->records, key);
    else
        fail(request, res);
}

static void refuse_pods(const struct request *request, char *text_take)
{
    struct job_memory *memory = memory_of(request->work);
    int64_t at = loop_now_ms(request->work->r->loop) + REFUSED_AGAIN_MS;

    if (memory) {
        memory->create_refused = true;
        memory->create_retry_at_ms = at;
        mem_free(memory->create_text);
        memory->create_text = text_take;
    } else {
        mem_free(text_take);
    }
    again_at(request->work, loop_now_ms(request->work->r->loop));
}

static void on_pod_created(struct request *request, struct kube_response *res)
{
    struct reconciler *r = request->work->r;
    const char *ns_end = strchr(request->work->key, '/');
    AUTO(mem) char *ns = mem_strndup(request->work->key, (size_t)(ns_end - request->work->key));
    AUTO(mem) char *key = key_in(ns, request->op.text);
    const struct store_item *seen = store_get(watch_store(r->pods), key);

    if (res->err.kind == ERR_NONE) {
        struct job_memory *memory = memory_of(request->work);

        if (memory)
            memory->create_refused = false;
        expect_version(request, r->pods, key, res);
    } else if (res->err.kind == ERR_EXISTS) {
        if (seen && str_eq(((const struct pod *)seen->view)->job_uid, request->work->uid))
            again_at(request->work, loop_now_ms(r->loop));
        else
            refuse_pods(request, mem_printf("pod %s exists and is not part of this job; delete or rename it",
                                            request->op.text));
    } else if (res->err.kind == ERR_INVALID ||
               (res->err.kind == ERR_DENIED && res->denial != KUBE_DENIAL_LEASE)) {
        refuse_pods(request, in_words_of_job(res->message));
    } else {
        fail(request, res);
    }
}

static void on_pod_deleted(struct request *request, struct kube_response *res)
{
    const char *ns_end = strchr(request->work->key, '/');
    AUTO(mem) char *ns = mem_strndup(request->work->key, (size_t)(ns_end - request->work->key));
    AUTO(mem) char *key = key_in(ns, request->op.name);

    if (res->err.kind == ERR_NONE)
        expect_gone(request, request->work->r->pods, key);
    else if (res->err.kind != ERR_NOT_FOUND && res->err.kind != ERR_CONFLICT) /* another uid: ours has gone */
        fail(request, res);
}

static void on_done(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct work *work = request->work;

    switch (request->op.kind) {
    case OP_STATUS:
    case OP_FINALIZER_ADD:
        on_job_patched(request, res);
        break;
    case OP_FINALIZER_REMOVE:
        on_finalizer_removed(request, res);
        break;
    case OP_DRY_RUN:
        on_dry_run(request, res);
        break;
    case OP_SERVICE_CREATE:
        on_service_created(request, res);
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
    request_free(request);
    work_put(work);
}

/* ---- sending ---- */

static void send(struct work *work, struct op *op, const struct kube_request *http)
{
    send_to(work, op, http, on_done);
}

static void send_finalizers(struct work *work, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");
    cJSON *finalizers = json_put_array(metadata, "finalizers");

    json_put_str(metadata, "uid", job->uid);
    json_put_str(metadata, "resourceVersion", job->resource_version);
    for (size_t i = 0; i < job->finalizers.count; i++) {
        if (!str_eq(job->finalizers.items[i], API_FINALIZER))
            json_push_str(finalizers, job->finalizers.items[i]);
    }
    if (op->kind == OP_FINALIZER_ADD)
        json_push_str(finalizers, API_FINALIZER);
    send(work, op,
         &(struct kube_request){.method = "PATCH",
                                .resource = &KUBE_IPUJOBS,
                                .ns = job->ns,
                                .name = job->name,
                                .body = body,
                                .content_type = KUBE_MERGE_PATCH});
}

static void send_status(struct work *work, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");

    json_put_str(metadata, "uid", job->uid);
    json_put_str(metadata, "resourceVersion", job->resource_version);
    json_put_take(body, "status", TAKE(op->body));
    send(work, op,
         &(struct kube_request){.method = "PATCH",
                                .resource = &KUBE_IPUJOBS,
                                .ns = job->ns,
                                .name = job->name,
                                .sub = "status",
                                .body = body,
                                .content_type = KUBE_MERGE_PATCH});
}

static void send_event(const struct work *work, const struct op *op, const struct job *job)
{
    events_send(work->r->events, &(struct event){
                                     .regarding = {.api_version = API_GROUP_VERSION,
                                                   .kind = API_KIND,
                                                   .ns = job->ns,
                                                   .name = job->name,
                                                   .uid = job->uid},
                                     .type = op->warning ? "Warning" : "Normal",
                                     .reason = op->reason,
                                     .action = "Reconcile",
                                     .note = op->text,
                                 });
}

/* Where an instance's pods are told their partition is. */
static bool find_place(const struct reconciler *r, const struct record *record, struct podspec_place *ret,
                       char **ret_options)
{
    int index = pool_find(r->pool, record->controller);
    const struct vipu_controller_config *config =
        index < 0 ? NULL : pool_controller(r->pool, (size_t)index)->config;
    const struct vipu_partition *listed = pool_listed(r->pool, record->controller, record->name);

    if (!config)
        return false;
    if (listed)
        *ret_options = vipu_target_options(listed->size, listed->num_ilds, listed->num_gcds, listed->routing);
    *ret = (struct podspec_place){
        .partition = record->name,
        .run = record->run,
        .vipu_host = config->host,
        .vipu_port = config->port,
        .node_label = config->node_label,
        .node_value = config->node_value,
        .reconfigurable = record->reconfigurable,
        .target_options = *ret_options,
    };
    return true;
}

static void send_pod(struct work *work, struct op *op, const struct job *job)
{
    const struct reconciler *r = work->r;
    const struct record *record = store_view(watch_store(r->records), r->options.operator_ns, op->name);
    AUTO(mem) char *target_options = NULL;
    AUTO(json) cJSON *pod = NULL;
    struct podspec_place place;
    struct err err = {0};

    if (!record || !find_place(r, record, &place, &target_options))
        return;
    pod = podspec_worker(job, op->instance, op->worker, &place, &r->options.pods, &err);
    if (!pod) {
        log_error("pod cannot be made", KV("job", work->key), KV("cause", err.msg));
        return;
    }
    op->text = mem_strdup(json_str(pod, "metadata/name", ""));
    send(work, op,
         &(struct kube_request){
             .method = "POST", .resource = &KUBE_PODS, .ns = job->ns, .body = pod, .retry_post = true});
}

/* A pod that differs from the later one in nothing that the API server judges. */
static void send_dry_run(struct work *work, struct op *op, const struct job *job)
{
    static const char *const query[] = {"dryRun", "All", NULL};
    const struct podspec_place place = {.partition = "dry-run", .vipu_host = "dry-run", .vipu_port = 1};
    AUTO(json) cJSON *pod = NULL;
    struct err err = {0};

    pod = podspec_worker(job, 0, 0, &place, &work->r->options.pods, &err);
    if (!pod) {
        log_error("pod cannot be made", KV("job", work->key), KV("cause", err.msg));
        return;
    }
    if (!admitted_ask(&work->r->admitted, job))
        return;
    op->text = admitted_fingerprint(job);
    send(work, op,
         &(struct kube_request){.method = "POST",
                                .resource = &KUBE_PODS,
                                .ns = job->ns,
                                .query = query,
                                .body = pod,
                                .retry_post = true});
}

static void send_service(struct work *work, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *service = podspec_service(job);

    send(work, op,
         &(struct kube_request){.method = "POST",
                                .resource = &KUBE_SERVICES,
                                .ns = job->ns,
                                .body = service,
                                .retry_post = true});
}

static void send_record(struct work *work, struct op *op)
{
    const struct reconciler *r = work->r;
    struct job_memory *memory = memory_of(work);
    AUTO(json) cJSON *body = NULL;

    if (op->kind == OP_RECORD_PATCH) {
        body = record_patch(op->record);
        send(work, op,
             &(struct kube_request){.method = "PATCH",
                                    .resource = &KUBE_CONFIGMAPS,
                                    .ns = r->options.operator_ns,
                                    .name = op->record->name,
                                    .body = body,
                                    .content_type = KUBE_MERGE_PATCH});
        return;
    }
    if (memory) /* before the watch can show it */
        memory_part(memory, op->record->name, loop_now_ms(r->loop))->is_ours_fresh = true;
    if (!op->record->job_key)
        op->record->job_key = mem_strdup(work->key);
    body = record_build(op->record, r->options.operator_ns);
    send(work, op,
         &(struct kube_request){.method = "POST",
                                .resource = &KUBE_CONFIGMAPS,
                                .ns = r->options.operator_ns,
                                .body = body,
                                .retry_post = true});
}

static void send_delete(struct work *work, struct op *op, const struct kube_resource *resource,
                        const char *ns)
{
    AUTO(json) cJSON *body = json_object();

    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "kind", "DeleteOptions");
    json_put_str(json_put_object(body, "preconditions"), "uid", op->uid);
    if (op->now)
        json_put_i64(body, "gracePeriodSeconds", 0);
    send(work, op,
         &(struct kube_request){
             .method = "DELETE", .resource = resource, .ns = ns, .name = op->name, .body = body});
}

static void create_partition(const struct work *work, const struct op *op, const struct job *job)
{
    const struct record *record = op->record;
    struct vipu_requirements want = {
        .id = record->name,
        .size = record->size,
        .num_gcds = record->gcds,
        .num_replicas = record->replicas,
        .reconfigurable = record->reconfigurable,
        .allocation_id = job->spec.allocation,
        .num_ilds = record->size > VIPU_ILD_IPUS ? record->size / VIPU_ILD_IPUS : 0,
    };

    if (job->spec.sync_type)
        vipu_sync_type_parse(job->spec.sync_type, &want.sync_type);
    if (job->spec.routing)
        vipu_routing_parse(job->spec.routing, &want.routing);
    pool_create(work->r->pool, record->controller, &want);
}

/* The controller of a partition stands in its record. */
static const char *controller_of(const struct reconciler *r, const char *id)
{
    const struct record *record = store_view(watch_store(r->records), r->options.operator_ns, id);

    return record ? record->controller : "";
}

static void perform(struct work *work, struct op *op, const struct job *job)
{
    struct reconciler *r = work->r;

    switch (op->kind) {
    case OP_CLAIM:
        return;
    case OP_EVENT:
        if (job && op->reason)
            send_event(work, op, job);
        return;
    case OP_PARTITION_CREATE:
        create_partition(work, op, job);
        return;
    case OP_PARTITION_RESET:
        pool_reset(r->pool, controller_of(r, op->name), op->name);
        return;
    case OP_PARTITION_REMOVE:
        pool_remove(r->pool, controller_of(r, op->name), op->name);
        return;
    case OP_FINALIZER_ADD:
    case OP_FINALIZER_REMOVE:
        send_finalizers(work, op, job);
        return;
    case OP_STATUS:
        send_status(work, op, job);
        return;
    case OP_DRY_RUN:
        send_dry_run(work, op, job);
        return;
    case OP_SERVICE_CREATE:
        send_service(work, op, job);
        return;
    case OP_RECORD_CREATE:
    case OP_RECORD_PATCH:
        send_record(work, op);
        return;
    case OP_RECORD_DELETE:
        send_delete(work, op, &KUBE_CONFIGMAPS, r->options.operator_ns);
        return;
    case OP_POD_CREATE:
        send_pod(work, op, job);
        return;
    case OP_POD_DELETE: {
        const char *slash = strchr(work->key, '/');
        AUTO(mem) char *ns = mem_strndup(work->key, (size_t)(slash - work->key));

        send_delete(work, op, &KUBE_PODS, ns);
        return;
    }
    }
}

static struct work *work_new(struct reconciler *r, const char *key, const char *uid)
{
    struct work *work = NEW(struct work);

    work->r = r;
    work->key = mem_strdup(key);
    work->uid = mem_strdup(uid);
    work->outstanding = 1; /* ours, until all is sent */
    map_set(&r->works, key, work);
    return work;
}

void act(struct reconciler *r, const char *key, const struct job *job, struct job_memory *memory,
         struct plan *plan)
{
    struct work *work = work_new(r, key, memory ? memory->uid : "");

    work->generation = job ? job->generation : 0;
    work->again_at_ms = plan->again_at_ms;
    if (log_enabled(LOG_DEBUG) && plan->count) {
        AUTO(str) struct str text = {0};

        plan_print(plan, &text);
        log_debug("plan", KV("job", key), KV("ops", str_text(&text)));
    }
    for (size_t i = 0; i < plan->count; i++)
        perform(work, &plan->ops[i], job);
    work_put(work);
}

/* ---- is a job really gone? ---- */

static void on_looked(void *ctx, struct kube_response *res)
{
    struct request *request = ctx;
    struct work *work = request->work;
    const char *uid = request->op.uid;
    bool is_there = res->err.kind == ERR_NONE && str_eq(json_str(res->body, "metadata/uid", ""), uid);

    if (res->err.kind != ERR_NONE && res->err.kind != ERR_NOT_FOUND)
        fail(request, res);
    else if (!is_there)
        map_set(&work->r->gone, uid, work->r);
    again_at(work, loop_now_ms(work->r->loop) + (is_there ? EXPECT_MS : 0)); /* there: the watch is behind */
    request_free(request);
    work_put(work);
}

void act_confirm_gone(struct reconciler *r, const char *key, const char *uid)
{
    struct work *work = work_new(r, key, uid);
    struct op op = {.kind = OP_RECORD_DELETE, .uid = mem_strdup(uid)};
    const char *slash = strchr(key, '/');
    AUTO(mem) char *ns = mem_strndup(key, (size_t)(slash - key));
    struct kube_request http = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = ns, .name = slash + 1};

    send_to(work, &op, &http, on_looked);
    work_put(work);
}

void act_cancel_all(struct reconciler *r)
{
    void *value;

    for (size_t i = 0; map_next(&r->works, &i, NULL, &value);) {
        struct work *work = value;

        while (work->requests) {
            struct request *request = work->requests;

            kube_cancel(request->call);
            request_free(request);
        }
        mem_free(work->key);
        mem_free(work->uid);
        mem_free(work);
    }
}
