/* Workers that meet by name: who is behind the names of their job's Service. It is written when all of them
 * have their addresses, and not with each one; again only when an address has changed. */
#include "base/core/mem.h"
#include "operator/api/endpoints.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/instance/instance_endpoints.h"

/* For so long the last addresses are waited for; then those that are there are told, once: who debugs a job
 * with a pod that cannot start finds the others by name, and 10,000 pods that start slowly cost no write
 * each. */
#define ENDPOINTS_WAIT_S 600

struct names {
    struct endpoint *workers;
    uint32_t count, found;
    int64_t newest_s, written_s; /* when the last pod was created, and the last slice written; 0: none */
};

static void names_auto(struct names *names)
{
    mem_free(names->workers);
}

static void look_up(const struct job_view *view, const struct instance_view *inst, struct names *ret)
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

/* A slice that does not say what it should. */
static bool is_wrong(const struct instance_view *inst, const struct names *names, uint32_t slice)
{
    const struct owned *seen = inst->slices[slice];

    return endpoints_content(names->workers, names->count, slice) != (seen ? seen->content : 0);
}

static bool are_wrong(const struct instance_view *inst, const struct names *names)
{
    for (uint32_t i = 0; i < endpoints_slices(names->count); i++) {
        if (is_wrong(inst, names, i))
            return true;
    }
    return false;
}

static void write_slice(const struct job_view *view, const struct instance_view *inst,
                        const struct names *names, uint32_t slice, struct plan *plan)
{
    const struct owned *seen = inst->slices[slice];
    struct op *op = plan_add(plan, OP_ENDPOINTS_WRITE);

    op->name = endpoints_slice_name(view->job, inst->index, slice);
    op->uid = seen ? mem_strdup(seen->uid) : NULL;
    op->body = endpoints_slice(view->job, inst->index, slice, names->workers);
}

/* What was refused is tried again later. */
static void write_names(const struct job_view *view, const struct instance_view *inst,
                        const struct names *names, struct plan *plan)
{
    if (view->endpoints_rejected && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms))
        return;
    for (uint32_t i = 0; i < endpoints_slices(names->count); i++) {
        if (is_wrong(inst, names, i))
            write_slice(view, inst, names, i, plan);
    }
}

static bool are_ours(const struct job_view *view)
{
    return job_meets_by_name(&view->job->spec) && !view->service_has_selector;
}

static bool waits_for_more(const struct job_view *view, const struct names *names, struct plan *plan)
{
    bool part_is_told = names->written_s > names->newest_s;

    return names->found < names->count &&
           (part_is_told ||
            plan_is_within(plan, view->now_ms, view->now_unix_s, names->newest_s, ENDPOINTS_WAIT_S));
}

bool decide_endpoints(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                      struct instance_result *ret)
{
    AUTO(names) struct names names = {0};

    if (!are_ours(view))
        return false;
    look_up(view, inst, &names);
    if (!are_wrong(inst, &names) || waits_for_more(view, &names, plan))
        return false;
    write_names(view, inst, &names, plan);
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
    AUTO(names) struct names nobody = {.count = view->job->spec.workers_per_instance};

    if (!are_ours(view))
        return false;
    nobody.workers = mem_alloc(nobody.count * sizeof(*nobody.workers));
    if (!are_wrong(inst, &nobody))
        return false;
    write_names(view, inst, &nobody, plan);
    return true;
}
