/* What the queue says of a claim: its verdict in words. Pure. */
#include "operator/pool/claims.h"

#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/model/shape.h"

void claim_wait_release(struct claim_wait *wait)
{
    mem_free(wait->text);
    mem_free(wait->controller);
    strv_release(&wait->blockers);
    *wait = (struct claim_wait){0};
}

/* A controller without a label serves every job. */
static void add_node_label(const struct claims_controller *c, struct str *text)
{
    str_addf(text, " %s serves nodes labeled %s", c->name, c->node_label);
}

/* The job's nodeSelector and every controller's label exclude each other. */
static void report_no_matching_controller(const struct claims_controller *controllers, size_t count,
                                          struct str *text)
{
    if (count == 0) {
        str_adds(text, "No V-IPU controller is configured; set global.vipuControllers in the chart's values");
        return;
    }
    str_adds(text, "No V-IPU controller matches the job's nodeSelector:");
    for (size_t i = 0; i < count; i++) {
        str_adds(text, i ? "," : "");
        add_node_label(&controllers[i], text);
    }
}

/* No partition spans clusters, and sizes are powers of two, so the largest may be smaller than the total. */
static void add_capacity(const struct claims_controller *c, struct str *text)
{
    uint32_t largest = vipu_pool_capacity(c->pool);

    str_addf(text, " %s has %u", c->name, c->pool->total_ipus);
    if (largest < c->pool->total_ipus)
        str_addf(text, ", largest partition %u", largest);
}

static void report_too_large(const struct claim *claim, const struct claims_controller *controllers,
                             size_t count, struct str *text)
{
    str_adds(text, "A partition of ");
    str_add_count(text, claim->size, "IPU", NULL);
    if (!vipu_is_power_of_two(claim->size)) {
        str_adds(text, " is not possible: partition sizes are powers of two");
        return;
    }
    str_adds(text, " exceeds the capacity of every V-IPU controller:");
    for (size_t i = 0; i < count; i++) {
        str_adds(text, i ? "," : "");
        if (claim_is_eligible(claim, i))
            add_capacity(&controllers[i], text);
        else
            add_node_label(&controllers[i], text);
    }
}

static void report_no_nodes(const struct claims_controller *c, struct str *text)
{
    str_addf(text, "No node is labeled %s for V-IPU controller %s; run: kubectl label node NODE %s",
             c->node_label, c->name, c->node_label);
}

static void report_unavailable(const struct claims_controller *c, struct str *text)
{
    str_addf(text, "V-IPU controller %s is unavailable%s%s: %s", c->name, c->trouble_since ? " " : "",
             c->trouble_since ? c->trouble_since : "", c->trouble);
}

static const char *holder_name(const struct claims_holder *holder)
{
    return holder->job ? holder->job : holder->partition;
}

static void name_holder(const struct claims_holder *holder, struct str *list)
{
    str_addf(list, "%s%s%s (", list->len ? ", " : "", holder->job ? "" : "foreign partition ",
             holder_name(holder));
    str_add_count(list, holder->size, "IPU", NULL);
    if (holder->stuck)
        str_addf(list, ", its pods cannot start: %s", holder->stuck);
    if (holder->is_preempted)
        str_adds(list, ", being preempted");
    str_addc(list, ')');
}

static void report_holders(const struct claims_controller *c, struct claim_wait *wait, struct str *text)
{
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < c->holder_count && i < CLAIMS_BLOCKERS; i++) {
        name_holder(&c->holders[i], &names);
        strv_push(&wait->blockers, holder_name(&c->holders[i]));
    }
    if (c->holder_count)
        str_addf(text, "; in use by %s", str_text(&names));
    if (c->holder_count > CLAIMS_BLOCKERS) {
        str_adds(text, " and ");
        str_add_count(text, c->holder_count - CLAIMS_BLOCKERS, "other", NULL);
    }
}

static void report_movable(const struct claims_controller *c, struct str *text)
{
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < c->movable_count && i < CLAIMS_BLOCKERS; i++)
        name_holder(&c->movable[i], &names);
    if (c->movable_count && c->movable_count <= CLAIMS_BLOCKERS)
        str_addf(text, "; restarting %s would make room now", str_text(&names));
}

/* Who waits behind the head waits for those that cannot start, too: there may be something to be done. */
static void report_stuck_holders(const struct claims_controller *c, struct str *text)
{
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < c->holder_count && i < CLAIMS_BLOCKERS; i++) {
        if (c->holders[i].stuck)
            name_holder(&c->holders[i], &names);
    }
    if (names.len)
        str_addf(text, ", which waits for %s", str_text(&names));
}

static void start_waiting_text(const struct claim *claim, struct str *text)
{
    str_adds(text, "Waiting for ");
    str_add_count(text, claim->size, "IPU", NULL);
    str_adds(text, ": ");
}

static void report_far_behind(const struct claim *claim, const struct claims_controller *c, struct str *text)
{
    start_waiting_text(claim, text);
    str_addf(text,
             "%d or more instances ahead in the queue of V-IPU controller %s; the operator's /queue endpoint "
             "lists them",
             CLAIMS_POSITIONS, c->name);
}

static void report_free_blocks(const struct claim_wait *wait, struct str *text)
{
    if (wait->fitting_partitions == 0) {
        str_adds(text, ", no free block of this size");
        return;
    }
    str_adds(text, ", enough for ");
    str_add_count(text, wait->fitting_partitions, "partition", NULL);
    str_adds(text, " of this size");
}

static void report_free_ipus(const struct claims_controller *c, const struct claim_wait *wait,
                             struct str *text)
{
    if (wait->total_ipus == 0) {
        str_addf(
            text,
            "V-IPU controller %s does not report how many IPUs it has, and creates at most %d partitions "
            "at a time",
            c->name, CLAIMS_BLIND_GRANTS);
        return;
    }
    str_addf(text, "V-IPU controller %s has %u of %u IPUs free", c->name, wait->free_ipus, wait->total_ipus);
    report_free_blocks(wait, text);
}

static void report_cordon(const struct claims_controller *c, struct str *text)
{
    if (c->pool->is_cordoned) {
        str_adds(text, "; an admin has cordoned the controller for maintenance");
    } else if (c->pool->cordoned_ipus) {
        str_adds(text, "; an admin has cordoned ");
        str_add_count(text, c->pool->cordoned_ipus, "IPU", NULL);
        str_adds(text, " for maintenance");
    }
}

static void report_queued(const struct claim *claim, const struct claims_controller *c,
                          const struct claim_verdict *verdict, struct claim_wait *wait, struct str *text)
{
    bool is_first = verdict->why == CLAIM_IS_FIRST;

    wait->free_ipus = verdict->free_ipus;
    wait->total_ipus = c->pool->total_ipus;
    wait->fitting_partitions = verdict->fitting_partitions;
    start_waiting_text(claim, text);
    report_free_ipus(c, wait, text);
    report_cordon(c, text);
    if (is_first && !c->pool->is_cordoned) /* else the end of no job would help */
        report_holders(c, wait, text);
    if (is_first)
        report_movable(c, text);
    if (verdict->granted_ipus) { /* they have no record yet that would name them as holders */
        str_adds(text, "; ");
        str_add_count(text, verdict->granted_ipus, "IPU", NULL);
        str_adds(text, " just granted to jobs ahead in the queue");
    }
    if (!is_first) {
        str_adds(text, "; ");
        str_add_count(text, verdict->position - 1, "instance", NULL);
        str_addf(text, " ahead in the queue, the first is %s", verdict->first);
        strv_push(&wait->blockers, verdict->first);
        report_stuck_holders(c, text);
    }
}

/* The jobs of the namespace, or of all, that were there before have all places. */
static void report_full(const struct claim *claim, uint32_t limit, bool is_of_namespace, struct str *text)
{
    start_waiting_text(claim, text);
    str_adds(text, "not in the queue yet, because ");
    if (is_of_namespace)
        str_addf(text, "namespace %.*s has ", (int)strcspn(claim->job, "/"), claim->job);
    else
        str_adds(text, "the cluster has ");
    str_add_count(text, limit, "waiting instance", NULL);
    str_addf(text,
             ", the limit; reduce spec.jobInstances of jobs that wait, delete some, or set %s in the chart's "
             "values",
             is_of_namespace ? QUEUE_LIMIT_OF_NAMESPACE : QUEUE_LIMIT_OF_ALL);
}

/* Jobs of its own namespace are in its way, and nobody else's. */
static void report_over_quota(const struct claim *claim, const struct claim_verdict *verdict,
                              struct str *text)
{
    int len = (int)strcspn(claim->job, "/");

    start_waiting_text(claim, text);
    if (claim->size > verdict->quota_ipus) {
        str_addf(text, "namespace %.*s may hold ", len, claim->job);
        str_add_count(text, verdict->quota_ipus, "IPU", NULL);
        str_adds(text, "; create a new job with a smaller ipusPerJobInstance, or ask an admin to raise "
                       "queue.quotas in the chart's values");
        return;
    }
    str_addf(text, "namespace %.*s holds %u of its quota of ", len, claim->job, verdict->held_ipus);
    str_add_count(text, verdict->quota_ipus, "IPU", NULL);
    if (verdict->kept_ipus)
        str_addf(text, ", and %u are kept for its jobs ahead", verdict->kept_ipus);
    str_adds(text, "; it starts when jobs of the namespace have ended");
}

static void report_over_instance_quota(const struct claim *claim, const struct claim_verdict *verdict,
                                       struct str *text)
{
    start_waiting_text(claim, text);
    str_addf(text, "not in the queue yet, because namespace %.*s has ", (int)strcspn(claim->job, "/"),
             claim->job);
    str_add_count(text, verdict->quota_instances, "instance", NULL);
    str_adds(text, " there, its quota; it enters when others of the namespace have started");
}

static void set_position(const struct claims_controller *c, const struct claim_verdict *verdict,
                         struct claim_wait *wait)
{
    wait->reason = verdict->why == CLAIM_IS_FIRST ? "InsufficientIPUs" : "Queued";
    wait->controller = mem_strdup(c->name);
    wait->position = verdict->position;
}

uint64_t claims_basis(const struct claims_view *view)
{
    uint64_t hash = 1;

    for (size_t i = 0; i < view->controller_count; i++) {
        const struct claims_controller *c = &view->controllers[i];

        hash = fnv64_add(hash, str_hash(c->trouble ? c->trouble : ""));
        hash = fnv64_add(hash, str_hash(c->trouble_since ? c->trouble_since : ""));
        hash = fnv64_add(hash, c->is_known + 2u * c->has_nodes);
        hash = fnv64_add(hash, c->pool->total_ipus);
        hash = fnv64_add(hash, vipu_pool_capacity(c->pool));
    }
    return hash;
}

static bool is_over_quota(const struct claim_verdict *verdict)
{
    return verdict->why == CLAIM_IS_OVER_QUOTA || verdict->why == CLAIM_IS_OVER_INSTANCE_QUOTA;
}

/* What the text says of a quota depends on nothing else. */
static uint64_t quota_basis(const struct claim_verdict *verdict)
{
    return fnv64_add(
        fnv64_add(fnv64_add(fnv64_add(1, verdict->held_ipus), verdict->kept_ipus), verdict->quota_ipus),
        verdict->quota_instances);
}

bool claims_report_has_position(const struct claim_verdict *verdict)
{
    return verdict->why == CLAIM_IS_FIRST || verdict->why == CLAIM_IS_BEHIND;
}

bool claims_report_is_current(const struct claims_view *view, uint64_t basis, const struct claim *claim,
                              const struct claim_verdict *verdict, const struct claim_wait *last)
{
    if (verdict->why != last->why || claims_report_has_position(verdict))
        return false;
    if (verdict->why == CLAIM_NOTHING_TO_REPORT)
        return true;
    if (last->size != claim->size)
        return false;
    if (is_over_quota(verdict))
        return last->basis == quota_basis(verdict);
    return verdict->why == CLAIM_IS_FAR_BEHIND
               ? str_eq(last->controller, view->controllers[verdict->about].name)
               : last->basis == basis;
}

void claims_explain(const struct claims_view *view, uint64_t basis, const struct claim *claim,
                    const struct claim_verdict *verdict, struct claim_wait *ret)
{
    const struct claims_controller *controllers = view->controllers, *c = &controllers[verdict->about];
    size_t controller_count = view->controller_count;
    struct str text = {0};

    *ret = (struct claim_wait){.size = claim->size, .why = verdict->why, .basis = basis};
    switch (verdict->why) {
    case CLAIM_NOTHING_TO_REPORT:
        return;
    case CLAIM_IS_FIRST:
    case CLAIM_IS_BEHIND:
        set_position(c, verdict, ret);
        report_queued(claim, c, verdict, ret, &text);
        break;
    case CLAIM_IS_FAR_BEHIND:
        set_position(c, verdict, ret);
        report_far_behind(claim, c, &text);
        break;
    case CLAIM_HAS_NO_NODES:
        ret->reason = "NoMatchingNodes";
        report_no_nodes(c, &text);
        break;
    case CLAIM_CONTROLLER_UNAVAILABLE:
        ret->reason = "ControllerUnavailable";
        report_unavailable(c, &text);
        break;
    case CLAIM_IS_TOO_LARGE:
        ret->reason = "ExceedsCapacity";
        report_too_large(claim, controllers, controller_count, &text);
        break;
    case CLAIM_NO_MATCHING_CONTROLLER:
        ret->reason = "NoMatchingController";
        report_no_matching_controller(controllers, controller_count, &text);
        break;
    case CLAIM_NAMESPACE_IS_FULL:
        ret->reason = "QueueFull";
        report_full(claim, view->limits.per_namespace, true, &text);
        break;
    case CLAIM_QUEUE_IS_FULL:
        ret->reason = "QueueFull";
        report_full(claim, view->limits.total, false, &text);
        break;
    case CLAIM_IS_OVER_QUOTA:
        ret->reason = "IPUQuotaExceeded";
        ret->basis = quota_basis(verdict);
        report_over_quota(claim, verdict, &text);
        break;
    case CLAIM_IS_OVER_INSTANCE_QUOTA:
        ret->reason = "QueueQuotaExceeded";
        ret->basis = quota_basis(verdict);
        report_over_instance_quota(claim, verdict, &text);
        break;
    }
    ret->text = str_take(&text);
}
