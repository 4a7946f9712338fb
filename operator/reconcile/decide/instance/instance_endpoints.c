/* Workers that find each other by name: the EndpointSlices of their job's Service. They are written when all
 * workers have addresses, not with each one; and again only when an address has changed. */
#include "base/core/mem.h"
#include "operator/api/pod/endpoints.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/instance/instance_endpoints.h"

/* How long to wait for the last addresses. After that the known ones are written, once: a user who debugs a
 * job with a pod that cannot start finds the others by name, and 10,000 pods that start slowly do not cost a
 * write each. */
#define ENDPOINTS_WAIT_S 600

struct endpoints {
    struct endpoint *workers;
    uint32_t count, found;
    int64_t newest_s, written_s; /* when the last pod was created, and the last slice written; 0: none */
};

static void endpoints_auto(struct endpoints *endpoints)
{
    mem_free(endpoints->workers);
}

static void read_endpoints(const struct job_view *view, const struct instance_view *inst,
                           struct endpoints *ret)
{
    ret->count = view->job->spec.workers_per_instance;
    ret->workers = mem_alloc(ret->count * sizeof(*ret->workers));
    for (uint32_t w = 0; w < ret->count; w++) {
        const struct pod *pod = inst->workers[w].pod;

        if (!pod || !pod->ip)
            continue;
        ret->workers[w] = (struct endpoint){pod->host ? pod->host : pod->name, pod->ip};
        ret->found++;
        if (pod->created_s > ret->newest_s)
            ret->newest_s = pod->created_s;
    }
    for (uint32_t i = 0; i < endpoints_slices(ret->count); i++) {
        const struct owned *slice = inst->slices[i];
        int64_t ago_s = slice ? (view->now_ms - slice->written_ms) / 1000 : 0;

        if (slice && view->now_unix_s - ago_s > ret->written_s)
            ret->written_s = view->now_unix_s - ago_s;
    }
}

/* A slice whose content differs from what it should be. */
static bool is_outdated(const struct instance_view *inst, const struct endpoints *endpoints, uint32_t slice)
{
    const struct owned *seen = inst->slices[slice];

    return endpoints_content(endpoints->workers, endpoints->count, slice) != (seen ? seen->content : 0);
}

static bool any_outdated(const struct instance_view *inst, const struct endpoints *endpoints)
{
    for (uint32_t i = 0; i < endpoints_slices(endpoints->count); i++) {
        if (is_outdated(inst, endpoints, i))
            return true;
    }
    return false;
}

static void write_slice(const struct job_view *view, const struct instance_view *inst,
                        const struct endpoints *endpoints, uint32_t slice, struct plan *plan)
{
    const struct owned *seen = inst->slices[slice];
    struct op *op = plan_add(plan, OP_ENDPOINTS_WRITE);

    op->name = endpoints_slice_name(view->job, inst->index, slice);
    op->uid = seen ? mem_strdup(seen->uid) : NULL;
    op->body = endpoints_slice(view->job, inst->index, slice, endpoints->workers);
}

/* Retries rejected writes later. */
static void write_slices(const struct job_view *view, const struct instance_view *inst,
                         const struct endpoints *endpoints, struct plan *plan)
{
    if (view->endpoints_rejected && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms))
        return;
    for (uint32_t i = 0; i < endpoints_slices(endpoints->count); i++) {
        if (is_outdated(inst, endpoints, i))
            write_slice(view, inst, endpoints, i, plan);
    }
}

static bool writes_slices(const struct job_view *view)
{
    return job_needs_worker_service(&view->job->spec) && !view->service_has_selector;
}

static bool waits_for_more(const struct job_view *view, const struct endpoints *endpoints, struct plan *plan)
{
    bool some_are_written = endpoints->written_s > endpoints->newest_s;

    return endpoints->found < endpoints->count &&
           (some_are_written ||
            plan_is_within(plan, view->now_ms, view->now_unix_s, endpoints->newest_s, ENDPOINTS_WAIT_S));
}

bool decide_endpoints(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                      struct instance_result *ret)
{
    AUTO(endpoints) struct endpoints endpoints = {0};

    if (!writes_slices(view))
        return false;
    read_endpoints(view, inst, &endpoints);
    if (!any_outdated(inst, &endpoints) || waits_for_more(view, &endpoints, plan))
        return false;
    write_slices(view, inst, &endpoints, plan);
    if (!view->endpoints_rejected)
        return false;
    instance_set_result(ret, INSTANCE_STARTING, view->create_reason,
                        "The API server rejected the workers' EndpointSlices: %s", view->create_text);
    ret->is_stuck = reason_is_warning(view->create_reason);
    return true;
}

bool decide_endpoints_are_old(const struct job_view *view, const struct instance_view *inst,
                              struct plan *plan)
{
    AUTO(endpoints) struct endpoints none = {.count = view->job->spec.workers_per_instance};

    if (!writes_slices(view))
        return false;
    none.workers = mem_alloc(none.count * sizeof(*none.workers));
    if (!any_outdated(inst, &none))
        return false;
    write_slices(view, inst, &none, plan);
    return true;
}
