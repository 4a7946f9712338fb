#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "operator/api/names.h"
#include "operator/reconcile/act/act.h"
#include "operator/reconcile/act/dry_run.h"
#include "operator/reconcile/act/launcher_requests.h"
#include "operator/reconcile/act/responses.h"
#include "operator/reconcile/decide/model/previous_attempt.h"
#include "operator/reconcile/state/partitions.h"
#include "vipu/model/shape.h"

static void send(struct execution *execution, struct op *op, const struct kube_request *http)
{
    execution_send(execution, op, http, on_response);
}

static void put_finalizers(cJSON *metadata, bool adds, const struct job *job)
{
    cJSON *finalizers;

    if (adds && job->has_finalizer)
        return; /* only the annotation is missing, and of many finalizers not all are known */
    finalizers = json_put_array(metadata, "finalizers");
    for (size_t i = 0; i < job->finalizers.count; i++) {
        if (!str_eq(job->finalizers.items[i], API_FINALIZER))
            json_push_str(finalizers, job->finalizers.items[i]);
    }
    if (adds)
        json_push_str(finalizers, API_FINALIZER);
}

static void send_finalizers(struct execution *execution, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");

    json_put_str(metadata, "uid", job->uid);
    json_put_str(metadata, "resourceVersion", job->resource_version);
    put_finalizers(metadata, op->kind == OP_FINALIZER_ADD, job);
    if (op->kind == OP_FINALIZER_ADD) {
        cJSON *annotations = json_put_object(metadata, "annotations");

        json_put_str(annotations, ANNOTATION_OPERATOR, execution->r->options.operator_ns);
        if (!job->first_operator_ns)
            json_put_str(annotations, ANNOTATION_FIRST_OPERATOR, execution->r->options.operator_ns);
    } else if (job->operator_ns) {
        json_put_take(json_put_object(metadata, "annotations"), ANNOTATION_OPERATOR, cJSON_CreateNull());
    }
    send(execution, op,
         &(struct kube_request){.method = "PATCH",
                                .resource = &KUBE_IPUJOBS,
                                .ns = job->ns,
                                .name = job->name,
                                .body = body,
                                .content_type = KUBE_MERGE_PATCH});
}

static void send_status(struct execution *execution, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");

    json_put_str(metadata, "uid", job->uid);
    json_put_str(metadata, "resourceVersion", job->resource_version);
    json_put_take(body, "status", TAKE(op->body));
    send(execution, op,
         &(struct kube_request){.method = "PATCH",
                                .resource = &KUBE_IPUJOBS,
                                .ns = job->ns,
                                .name = job->name,
                                .sub = "status",
                                .body = body,
                                .content_type = KUBE_MERGE_PATCH});
}

/* The partition as the pods of an instance need it. */
static bool find_placement(const struct reconciler *r, const struct record *record,
                           struct partition_placement *ret, char **ret_options)
{
    int index = pool_find(r->pool, record->controller);
    const struct vipu_controller_config *config =
        index < 0 ? NULL : pool_controller(r->pool, (size_t)index)->config;
    const struct vipu_partition *listed = pool_listed(r->pool, record->controller, record->name);
    AUTO(vipu_access) struct vipu_access access = vipu_access_of(r, record);

    if (!config)
        return false;
    if (listed)
        *ret_options = vipu_target_options(listed->size, listed->num_ilds, listed->num_gcds, listed->routing);
    *ret = (struct partition_placement){
        .partition = record->name,
        .run = record->run,
        .vipu_host = config->host,
        .vipu_port = config->port,
        .node_label = config->node_label,
        .node_value = config->node_value,
        .reconfigurable = record->reconfigurable,
        .target_options = *ret_options,
        .start = record->start,
        .keeps_grace = record->limit_s > 0,
        .grace_s = record->grace_s,
        .vipu_tls = config->tls,
        .has_vipu_user = access.user_id != NULL,
        .has_vipu_ca = access.ca_pem != NULL,
    };
    return true;
}

static void add_report(cJSON *pod, const struct job *job, const struct record *record, const char *name)
{
    struct err err = {0};
    AUTO(json) cJSON *status = record->restarts ? job_status(job, &err) : NULL;
    AUTO(mem) char *report = previous_attempt_report(status, record->instance, record->restarts, name);

    if (report)
        pod_spec_add_report(pod, report);
}

static void send_pod(struct execution *execution, struct op *op, const struct job *job)
{
    struct reconciler *r = execution->r;
    const struct record *record = reconciler_record(r, op->name);
    bool is_worker = op->worker < job->spec.workers_per_instance;
    AUTO(mem) char *target_options = NULL;
    AUTO(json) cJSON *pod = NULL;
    struct partition_placement place;
    struct err err = {0};

    if (!record || !find_placement(r, record, &place, &target_options))
        return;
    if (job->spec.has_launcher && is_worker)
        place.agent_port = launch_port(r, job, record, op->worker);
    pod = is_worker ? pod_spec_worker(job, op->instance, op->worker, &place, &r->options.pods, &err)
                    : launch_make_pod(r, job, op->instance, &place, &err);
    if (!pod) {
        log_error("cannot build pod", KV("job", execution->key), KV("cause", err.msg));
        return;
    }
    op->text = mem_strdup(json_str(pod, "metadata/name", ""));
    add_report(pod, job, record, op->text);
    send(execution, op,
         &(struct kube_request){
             .method = "POST", .resource = &KUBE_PODS, .ns = job->ns, .body = pod, .retry_post = true});
}

static void send_service(struct execution *execution, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *service = pod_spec_service(job);

    op->text = mem_strdup(json_str(service, "metadata/name", ""));
    send(execution, op,
         &(struct kube_request){.method = "POST",
                                .resource = &KUBE_SERVICES,
                                .ns = job->ns,
                                .body = service,
                                .retry_post = true});
}

static void send_endpoints(struct execution *execution, struct op *op, const struct job *job)
{
    AUTO(json) cJSON *slice = TAKE(op->body);

    if (op->uid)
        json_put_str(json_at_mut(slice, "metadata"), "uid", op->uid);
    send(execution, op,
         &(struct kube_request){.method = op->uid ? "PATCH" : "POST",
                                .resource = &KUBE_ENDPOINT_SLICES,
                                .ns = job->ns,
                                .name = op->uid ? op->name : NULL,
                                .body = slice,
                                .content_type = op->uid ? KUBE_MERGE_PATCH : NULL,
                                .retry_post = true});
}

static void send_record(struct execution *execution, struct op *op)
{
    const struct reconciler *r = execution->r;
    struct job_cache *cache = execution_job_cache(execution);
    AUTO(json) cJSON *body = NULL;

    if (op->kind == OP_RECORD_PATCH) {
        body = record_patch(op->record);
        send(execution, op,
             &(struct kube_request){.method = "PATCH",
                                    .resource = &KUBE_CONFIGMAPS,
                                    .ns = r->options.operator_ns,
                                    .name = op->record->name,
                                    .body = body,
                                    .content_type = KUBE_MERGE_PATCH});
        return;
    }
    if (cache) { /* before the watch can show it */
        struct grant_cache *grant = job_claims_grant(&cache->claims, op->record->instance);

        job_cache_partition(cache, op->record->name, loop_now_ms(r->loop))->is_ours_fresh = true;
        if (grant)
            mem_set_str(&grant->record, op->record->name);
    }
    if (!op->record->job_key)
        op->record->job_key = mem_strdup(execution->key);
    body = record_build(op->record, r->options.operator_ns);
    send(execution, op,
         &(struct kube_request){.method = "POST",
                                .resource = &KUBE_CONFIGMAPS,
                                .ns = r->options.operator_ns,
                                .body = body,
                                .retry_post = true});
}

static void send_delete(struct execution *execution, struct op *op, const struct kube_resource *resource,
                        const char *ns)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *preconditions = json_put_object(body, "preconditions");

    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "kind", "DeleteOptions");
    json_put_str(preconditions, "uid", op->uid);
    json_put_str(preconditions, "resourceVersion", op->version);
    if (op->now)
        json_put_i64(body, "gracePeriodSeconds", 0);
    json_put_str(body, "propagationPolicy", "Background");
    send(execution, op,
         &(struct kube_request){
             .method = "DELETE", .resource = resource, .ns = ns, .name = op->name, .body = body});
}

static void send_pod_stop(struct execution *execution, struct op *op, const char *ns)
{
    AUTO(json) cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata");

    json_put_str(metadata, "resourceVersion", op->version);
    json_put_str(json_put_object(metadata, "annotations"), ANNOTATION_STOPPED, op->text);
    json_put_i64(json_put_object(body, "spec"), "activeDeadlineSeconds", STOPPED_DEADLINE_S);
    send(execution, op,
         &(struct kube_request){.method = "PATCH",
                                .resource = &KUBE_PODS,
                                .ns = ns,
                                .name = op->name,
                                .body = body,
                                .content_type = KUBE_MERGE_PATCH});
}

static void create_partition(const struct execution *execution, const struct op *op, const struct job *job)
{
    const struct record *record = op->record;
    struct vipu_requirements want = {
        .id = record->name,
        .size = record->size,
        .num_gcds = record->gcds,
        .num_replicas = record->replicas,
        .reconfigurable = record->reconfigurable,
        .allocation_id = job->spec.allocation,
        .num_ilds = vipu_fewest_ilds(record->size),
    };

    if (job->spec.sync_type)
        vipu_sync_type_parse(job->spec.sync_type, &want.sync_type);
    if (job->spec.routing)
        vipu_routing_parse(job->spec.routing, &want.routing);
    pool_create(execution->r->pool, record->controller, &want);
}

/* The partition record names its controller. */
static const char *controller_of(const struct reconciler *r, const char *id)
{
    const struct record *record = reconciler_record(r, id);

    return record ? record->controller : "";
}

/* Whatever a deleted job still holds is released without it. */
static bool needs_job(enum op_kind kind)
{
    return kind != OP_RECORD_PATCH && kind != OP_RECORD_DELETE && kind != OP_PARTITION_REMOVE &&
           kind != OP_POD_STOP && kind != OP_POD_DELETE;
}

static void perform(struct execution *execution, struct op *op, const struct job *job)
{
    struct reconciler *r = execution->r;

    assert(job || !needs_job(op->kind));

    switch (op->kind) {
    case OP_CLAIM:
    case OP_OFFER: /* grants.c */
        return;
    case OP_EVENT:
        execution_hold_event(execution, op);
        return;
    case OP_PARTITION_CREATE:
        create_partition(execution, op, job);
        return;
    case OP_PARTITION_RESET:
        pool_reset(r->pool, controller_of(r, op->name), op->name);
        return;
    case OP_PARTITION_REMOVE:
        pool_remove(r->pool, controller_of(r, op->name), op->name);
        return;
    case OP_FINALIZER_ADD:
    case OP_FINALIZER_REMOVE:
        send_finalizers(execution, op, job);
        return;
    case OP_JOB_DELETE:
        send_delete(execution, op, &KUBE_IPUJOBS, job->ns);
        return;
    case OP_STATUS:
        send_status(execution, op, job);
        return;
    case OP_DRY_RUN:
        dry_run_send(execution, op, job);
        return;
    case OP_SERVICE_CREATE:
        send_service(execution, op, job);
        return;
    case OP_ENDPOINTS_WRITE:
        send_endpoints(execution, op, job);
        return;
    case OP_POLICY_CREATE:
        launch_send_policy(execution, op, job);
        return;
    case OP_KEYS_CREATE:
        launch_send_keys(execution, op, job);
        return;
    case OP_KEYS_DELETE:
        send_delete(execution, op, &KUBE_SECRETS, job->ns);
        return;
    case OP_RECORD_CREATE:
    case OP_RECORD_PATCH:
        send_record(execution, op);
        return;
    case OP_RECORD_DELETE:
        send_delete(execution, op, &KUBE_CONFIGMAPS, r->options.operator_ns);
        return;
    case OP_POD_CREATE:
        send_pod(execution, op, job);
        return;
    case OP_POD_STOP: {
        AUTO(mem) char *ns = execution_ns(execution);

        send_pod_stop(execution, op, ns);
        return;
    }
    case OP_POD_DELETE: {
        AUTO(mem) char *ns = execution_ns(execution);

        send_delete(execution, op, &KUBE_PODS, ns);
        return;
    }
    }
}

void act(struct reconciler *r, const char *key, const struct job *job, struct job_cache *cache,
         struct plan *plan)
{
    struct execution *execution = execution_new(r, key, cache ? cache->uid : "");
    bool writes_status = plan_has(plan, OP_STATUS);

    execution->generation = job ? job->generation : 0;
    execution->again_at_ms = plan->again_at_ms;
    if (log_enabled(LOG_DEBUG) && plan->count) {
        AUTO(str) struct str text = {0};

        plan_print(plan, &text);
        log_debug("plan", KV("job", key), KV("ops", str_text(&text)));
    }
    for (size_t i = 0; i < plan->count; i++)
        perform(execution, &plan->ops[i], job);
    if (!writes_status)
        execution_send_events(execution);
    execution_unref(execution);
}

void act_confirm_gone(struct reconciler *r, const char *key, const char *uid)
{
    struct execution *execution = execution_new(r, key, uid);
    struct op op = {.kind = OP_RECORD_DELETE, .uid = mem_strdup(uid)};
    AUTO(mem) char *ns = execution_ns(execution);
    struct kube_request http = {
        .method = "GET", .resource = &KUBE_IPUJOBS, .ns = ns, .name = strchr(key, '/') + 1};

    execution_send(execution, &op, &http, on_job_looked_up);
    execution_unref(execution);
}

void act_cancel_all(struct reconciler *r)
{
    void *value;

    for (size_t i = 0; map_next(&r->executions, &i, NULL, &value);)
        execution_free(value);
}
