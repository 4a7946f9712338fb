#include "operator/pool/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/model/shape.h"

/* What looking ahead changes about a controller. */
struct forecast {
    struct vipu_pool_view left; /* free IPUs after the grants so far */
    const struct claim *head;   /* the first that could use it and has to wait; no later claim passes it */
    uint32_t behind;            /* instances that wait behind the first of the head's */
    uint32_t blind_grants;      /* if its size is unknown */
};

/* The instances that may wait, so far. */
struct admitted {
    struct queue_limits limits;
    uint32_t total;
    struct map namespaces; /* -> their number */
};

static int compare_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->created_s != y->created_s)
        return x->created_s < y->created_s ? -1 : 1;
    if (x->arrival != y->arrival)
        return x->arrival < y->arrival ? -1 : 1;
    return strcmp(x->uid, y->uid);
}

static bool is_eligible(const struct claim *claim, size_t controller)
{
    return !claim->eligible || claim->eligible[controller];
}

static bool size_is_known(const struct claims_controller *c)
{
    return c->pool->total_ipus > 0;
}

static bool could_ever_hold(const struct claims_controller *c, uint32_t size)
{
    return !c->is_known || !size_is_known(c) || vipu_pool_could_fit(c->pool, size);
}

/* Of so many instances, how many have capacity. If the size is unknown, the controller's response decides. */
static uint32_t reserve_capacity(const struct claims_controller *c, struct forecast *forecast, uint32_t size,
                                 uint32_t count)
{
    uint32_t reserved = 0;

    if (!size_is_known(c)) {
        uint32_t used = forecast->blind_grants;
        uint32_t blind = used < CLAIMS_BLIND_GRANTS ? CLAIMS_BLIND_GRANTS - used : 0;

        reserved = count < blind ? count : blind;
        forecast->blind_grants += reserved;
        return reserved;
    }
    while (reserved < count && vipu_pool_reserve(&forecast->left, size))
        reserved++;
    return reserved;
}

/* ---- limits ---- */

/* Of so many more instances of the namespace, how many may wait. */
static uint32_t admit_waiting(struct admitted *admitted, const struct claim *claim, uint32_t waiting,
                              enum claim_wait_cause *ret_full)
{
    const struct queue_limits *limits = &admitted->limits;
    uint32_t count = waiting;

    *ret_full = CLAIM_NOTHING_TO_REPORT;
    if (limits->total && count > limits->total - admitted->total) {
        count = limits->total - admitted->total;
        *ret_full = CLAIM_QUEUE_IS_FULL;
    }
    if (limits->per_namespace) {
        AUTO(mem) char *ns = mem_strndup(claim->job, strcspn(claim->job, "/"));
        uint32_t before = (uint32_t)(uintptr_t)map_get(&admitted->namespaces, ns);

        if (count > limits->per_namespace - before) {
            count = limits->per_namespace - before;
            *ret_full = CLAIM_NAMESPACE_IS_FULL;
        }
        if (count)
            map_set(&admitted->namespaces, ns, (void *)(uintptr_t)(before + count));
    }
    admitted->total += count;
    return count;
}

/* ---- the decision ---- */

static void add_grant(struct claims_grants *grants, struct claims_grant grant)
{
    if (grants->count == grants->cap) {
        grants->cap = grants->cap ? 2 * grants->cap : 16;
        grants->items = mem_grow(grants->items, grants->cap, sizeof(*grants->items));
    }
    grants->items[grants->count++] = grant;
}

void claims_grants_release(struct claims_grants *grants)
{
    mem_free(grants->items);
    *grants = (struct claims_grants){0};
}

/* Returns how many instances have capacity. */
static uint32_t grant_instances(const struct claims_view *view, const struct claim *claim, size_t index,
                                struct forecast *forecasts, struct claims_grants *grants)
{
    uint32_t reserved = 0;

    for (size_t i = 0; i < view->controller_count && reserved < claim->count; i++) {
        const struct claims_controller *c = &view->controllers[i];
        uint32_t here;

        if (!is_eligible(claim, i) || !c->is_known || !c->has_nodes || forecasts[i].head ||
            !could_ever_hold(c, claim->size))
            continue;
        here = reserve_capacity(c, &forecasts[i], claim->size, claim->count - reserved);
        if (here && claim->is_ready)
            add_grant(grants, (struct claims_grant){.claim = index, .controller = i, .count = here});
        reserved += here;
    }
    return reserved;
}

/* The position of the first of the claim's instances that wait, which are behind the head now. */
static void enqueue_claim(const struct claim *claim, uint32_t waiting, const struct claims_controller *c,
                          const struct forecast *forecast, struct claim_verdict *verdict)
{
    bool is_head = forecast->head == claim;

    verdict->position = is_head ? 1 : forecast->behind - waiting + 2;
    verdict->first = forecast->head->job;
    if (verdict->position > CLAIMS_POSITIONS) {
        verdict->why = CLAIM_IS_FAR_BEHIND;
        return;
    }
    verdict->why = is_head ? CLAIM_IS_FIRST : CLAIM_IS_BEHIND;
    verdict->free_ipus = forecast->left.free_ipus;
    verdict->granted_ipus = c->pool->free_ipus - forecast->left.free_ipus;
    verdict->fitting_partitions = vipu_pool_fit_count(&forecast->left, claim->size);
}

/* The first `count` stuck partitions that the claim needs; how many those are, 0 if they are not enough. */
static size_t find_needed(const struct claims_controller *c, const struct forecast *forecast, uint32_t size,
                          size_t count, size_t *ret)
{
    const struct vipu_partitions some = {.items = c->stuck->items, .count = count};
    uint32_t freed = forecast->left.free_ipus;
    size_t needed = 0;

    if (forecast->left.placed)
        return vipu_pool_blockers(&forecast->left, &some, size, ret);
    for (; needed < count && freed < size; needed++) {
        freed += some.items[needed].size;
        ret[needed] = needed;
    }
    return freed >= size ? needed : 0;
}

/* Stuck partitions make room for the head of the queue only if they are enough: else they would be given up
 * in vain. Returns whether they are. */
static bool want_stuck(const struct claims_controller *c, const struct forecast *forecast, uint32_t size)
{
    AUTO(mem) size_t *needed = NULL;
    size_t count;

    if (!c->stuck || c->stuck->count == 0)
        return false;
    needed = mem_alloc(c->stuck->count * sizeof(*needed));
    if (find_needed(c, forecast, size, c->stuck_leaving, needed))
        return true;
    count = find_needed(c, forecast, size, c->stuck->count, needed);
    for (size_t i = 0; i < count; i++)
        c->stuck_wanted[needed[i]] = true;
    return count > 0;
}

/* Queues so many instances of the claim on every eligible controller, and explains the wait of the first by
 * the controller that is closest to serving it. */
static void make_wait(const struct claims_view *view, const struct claim *claim, uint32_t waiting,
                      struct forecast *forecasts, struct claim_verdict *verdict)
{
    const struct claims_controller *controllers = view->controllers;
    int unavailable = -1, without_nodes = -1, without_capacity = -1;
    bool has_unqueried = false, is_eligible_anywhere = false, has_stuck = false;

    for (size_t i = 0; i < view->controller_count; i++) {
        is_eligible_anywhere = is_eligible_anywhere || is_eligible(claim, i);
        if (!is_eligible(claim, i) || !could_ever_hold(&controllers[i], claim->size))
            continue;
        if (!controllers[i].is_known) {
            has_unqueried = has_unqueried || !controllers[i].trouble;
            unavailable = (int)i;
        } else if (!controllers[i].has_nodes) {
            without_nodes = (int)i;
        } else {
            bool makes_room = !forecasts[i].head && !has_stuck && claim->is_ready &&
                              want_stuck(&controllers[i], &forecasts[i], claim->size);

            forecasts[i].behind += forecasts[i].head ? waiting : waiting - 1;
            if (!forecasts[i].head)
                forecasts[i].head = claim;
            if (without_capacity < 0 || makes_room ||
                (forecasts[without_capacity].head != claim && forecasts[i].head == claim))
                without_capacity = (int)i;
            has_stuck = has_stuck || makes_room;
        }
    }
    if (!claim->is_ready || (without_capacity >= 0 && !forecasts[without_capacity].head->is_ready))
        return; /* a job whose template is being validated may leave the queue within milliseconds */
    if (has_unqueried)
        return; /* after a start: the status stays as it is until the controller has responded */
    verdict->about = (size_t)(without_capacity >= 0 ? without_capacity
                              : without_nodes >= 0  ? without_nodes
                              : unavailable >= 0    ? unavailable
                                                    : 0);
    if (without_capacity >= 0)
        enqueue_claim(claim, waiting, &controllers[without_capacity], &forecasts[without_capacity], verdict);
    else if (without_nodes >= 0)
        verdict->why = CLAIM_HAS_NO_NODES;
    else if (unavailable >= 0)
        verdict->why = CLAIM_CONTROLLER_UNAVAILABLE;
    else
        verdict->why = is_eligible_anywhere ? CLAIM_IS_TOO_LARGE : CLAIM_NO_MATCHING_CONTROLLER;
}

static void decide_claim(const struct claims_view *view, const struct claim *claim, size_t index,
                         struct forecast *forecasts, struct admitted *admitted, struct claims_grants *grants,
                         struct claim_verdict *verdict)
{
    uint32_t reserved = grant_instances(view, claim, index, forecasts, grants), waiting;
    enum claim_wait_cause full;

    *verdict = (struct claim_verdict){.granted = claim->is_ready ? reserved : 0};
    if (reserved == claim->count)
        return;
    waiting = admit_waiting(admitted, claim, claim->count - reserved, &full);
    if (waiting)
        make_wait(view, claim, waiting, forecasts, verdict);
    else
        verdict->why = full;
}

void claims_decide(const struct claims_view *view, struct claim *claims, size_t count,
                   struct claim_verdict *verdicts, struct claims_grants *ret_grants)
{
    AUTO(mem) struct forecast *forecasts = mem_alloc((view->controller_count + 1) * sizeof(*forecasts));
    struct admitted admitted = {.limits = view->limits};
    uint64_t total = 0;

    if (count > 1)
        qsort(claims, count, sizeof(*claims), compare_claims);
    for (size_t i = 0; i < view->controller_count; i++) {
        forecasts[i].left = vipu_pool_view_copy(view->controllers[i].pool);
        forecasts[i].blind_grants = view->controllers[i].unlisted;
    }
    for (size_t i = 0; i < count; i++)
        total += claims[i].count;
    if (total <= admitted.limits.per_namespace)
        admitted.limits.per_namespace = 0;
    for (size_t i = 0; i < count; i++)
        decide_claim(view, &claims[i], i, forecasts, &admitted, ret_grants, &verdicts[i]);
    for (size_t i = 0; i < view->controller_count; i++)
        vipu_pool_view_release(&forecasts[i].left);
    map_release(&admitted.namespaces);
}

/* ---- messages ---- */

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

/* No partition spans domains or clusters, so the largest may be smaller than the total. */
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
        if (is_eligible(claim, i))
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
    if (!size_is_known(c)) {
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

static void report_queued(const struct claim *claim, const struct claims_controller *c,
                          const struct claim_verdict *verdict, struct claim_wait *wait, struct str *text)
{
    bool is_first = verdict->why == CLAIM_IS_FIRST;

    wait->free_ipus = verdict->free_ipus;
    wait->total_ipus = c->pool->total_ipus;
    wait->fitting_partitions = verdict->fitting_partitions;
    start_waiting_text(claim, text);
    report_free_ipus(c, wait, text);
    if (is_first)
        report_holders(c, wait, text);
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

static void set_position(const struct claims_controller *c, const struct claim_verdict *verdict,
                         struct claim_wait *wait)
{
    wait->reason = verdict->why == CLAIM_IS_FIRST ? "InsufficientIPUs" : "Queued";
    wait->controller = mem_strdup(c->name);
    wait->position = verdict->position;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

uint64_t claims_basis(const struct claims_view *view)
{
    uint64_t hash = 1;

    for (size_t i = 0; i < view->controller_count; i++) {
        const struct claims_controller *c = &view->controllers[i];

        hash = mix(hash, str_hash(c->trouble ? c->trouble : ""));
        hash = mix(hash, str_hash(c->trouble_since ? c->trouble_since : ""));
        hash = mix(hash, c->is_known + 2u * c->has_nodes);
        hash = mix(hash, c->pool->total_ipus);
        hash = mix(hash, vipu_pool_capacity(c->pool));
    }
    return hash;
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
    }
    ret->text = str_take(&text);
}
