#include "operator/reconcile/decide/instance/instance_prerequisites.h"

#include "base/core/mem.h"
#include "operator/reconcile/decide/instance/instance_endpoints.h"

/* A pod in preparation for this long may wait for a Secret that was deleted. */
#define KEYS_PROBE_AFTER_MS 20000

static void create_keys(const struct job_view *view, const struct instance_view *inst,
                        const struct pod_summary *pods, struct plan *plan)
{
    struct op *op;

    if (view->create_rejected && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms))
        return;
    op = plan_add(plan, OP_KEYS_CREATE);
    op->instance = inst->index;
    op->name = mem_strdup(inst->record->name);
    op->ready = view->job->spec.has_launcher && pods->present > 0; /* the other pods can use a new one */
}

/* The operator must not read a Secret; that it is gone shows when it can be created again. */
void probe_keys_secret(const struct job_view *view, const struct instance_view *inst,
                       const struct pod_summary *pods, struct plan *plan)
{
    int64_t since = inst->keys == KEYS_THERE ? inst->keys_at_ms : inst->partition_since_ms;
    int64_t until = since + KEYS_PROBE_AFTER_MS;

    if (!pods->not_started)
        return;
    if (view->now_ms < until)
        plan_again_at(plan, until);
    else
        create_keys(view, inst, pods, plan);
}

static void create_once(struct plan *plan, enum op_kind kind)
{
    if (!plan_has(plan, kind))
        plan_add(plan, kind);
}

bool decide_shared(const struct job_view *view, struct plan *plan)
{
    bool needs_service = job_needs_worker_service(&view->job->spec) && !view->has_service;

    if (!needs_service && !view->needs_policy)
        return false;
    if (view->create_rejected && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms))
        return true;
    if (needs_service)
        create_once(plan, OP_SERVICE_CREATE);
    if (view->needs_policy)
        create_once(plan, OP_POLICY_CREATE);
    return true;
}

bool decide_prerequisites(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan)
{
    bool needs_shared = decide_shared(view, plan);
    bool needs_keys = (view->job->spec.has_launcher || inst->needs_vipu_access) && inst->keys == KEYS_UNKNOWN;
    bool has_old_names = decide_endpoints_are_old(view, inst, plan);

    if (needs_keys)
        create_keys(view, inst, pods, plan);
    return !needs_shared && !needs_keys && !has_old_names;
}
