#include "operator/pool/claims_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"

/* One controller after what is granted now. */
struct counter {
    struct vipu_pool_view left; /* free IPUs */
    uint32_t granted;           /* partitions */
    const struct claim *head;   /* the first that could use it and has to wait */
    int32_t priority;           /* of those who stand there last */
    uint32_t above;             /* instances there of higher priority */
    uint32_t claims, instances; /* of this priority */
};

static int compare_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->turn_s != y->turn_s)
        return x->turn_s < y->turn_s ? -1 : 1;
    if (x->arrival != y->arrival)
        return x->arrival < y->arrival ? -1 : 1;
    return strcmp(x->uid, y->uid);
}

static bool size_is_known(const struct claims_controller *c)
{
    return c->pool->total_ipus > 0;
}

/* ---- what is granted ---- */

static void take_ipus(struct vipu_pool_view *left, const struct forecast_block *block, uint32_t size)
{
    const struct vipu_pool_part part = {block->domain, block->domain_count, block->ipus};

    if (block->domain_count)
        (void)vipu_pool_take(left, &part); /* the engine starts nothing where something is */
    else
        (void)vipu_pool_reserve(left, size);
}

/* Each partition of a controller that does not report its size is a request that may be rejected. */
static bool is_sent(const struct claims_controller *c, const struct counter *counter)
{
    return size_is_known(c) || c->unlisted + counter->granted < CLAIMS_BLIND_GRANTS;
}

/* How many instances of each claim get IPUs. What gets some although its claim is not ready keeps them from
 * others. */
static void count_starts(const struct claims_view *view, const struct claim *claims,
                         const struct forecast_plan *plan, struct counter *counters, uint32_t *started,
                         struct claims_grants *grants)
{
    for (size_t i = 0; i < plan->start_count; i++) {
        const struct forecast_start *start = &plan->starts[i];
        struct counter *counter = &counters[start->controller];

        if (!is_sent(&view->controllers[start->controller], counter))
            continue;
        counter->granted++;
        take_ipus(&counter->left, &start->block, claims[start->claim].size);
        started[start->claim]++;
        if (claims[start->claim].is_ready)
            grants->items[grants->count++] =
                (struct claims_grant){start->claim, start->controller, start->block};
    }
}

static int compare_grants(const void *a, const void *b)
{
    const struct claims_grant *x = a, *y = b;

    if (x->claim != y->claim)
        return x->claim < y->claim ? -1 : 1;
    if (x->controller != y->controller)
        return x->controller < y->controller ? -1 : 1;
    if (x->block.domain != y->block.domain)
        return x->block.domain < y->block.domain ? -1 : 1;
    return (x->block.ipus > y->block.ipus) - (x->block.ipus < y->block.ipus);
}

/* ---- who waits ---- */

/* The position of the first of so many instances, which stand there now. Instances of one job take turns with
 * other jobs of its priority, so one of each is before it. */
static uint32_t queue_claim(struct counter *counter, const struct claim *claim, uint32_t waiting)
{
    if (!counter->head)
        counter->head = claim;
    if (counter->priority != claim->priority) {
        counter->above += counter->instances;
        counter->claims = counter->instances = 0;
        counter->priority = claim->priority;
    }
    counter->claims++;
    counter->instances += waiting;
    return counter->above + counter->claims;
}

static void report_position(const struct claim *claim, uint32_t position, const struct claims_controller *c,
                            const struct counter *counter, struct claim_verdict *verdict)
{
    bool is_head = counter->head == claim;

    verdict->position = position;
    verdict->first = counter->head->job;
    if (position > CLAIMS_POSITIONS) {
        verdict->why = CLAIM_IS_FAR_BEHIND;
        return;
    }
    verdict->why = is_head ? CLAIM_IS_FIRST : CLAIM_IS_BEHIND;
    verdict->free_ipus = counter->left.free_ipus;
    verdict->granted_ipus = c->pool->free_ipus - counter->left.free_ipus;
    verdict->fitting_partitions = vipu_pool_fit_count(&counter->left, claim->size);
}

/* The first `count` stuck partitions that the claim needs; how many those are, 0 if they are not enough. */
static size_t find_needed(const struct claims_controller *c, const struct counter *counter, uint32_t size,
                          size_t count, size_t *ret)
{
    const struct vipu_partitions some = {.items = c->stuck->items, .count = count};
    uint32_t freed = counter->left.free_ipus;
    size_t needed = 0;

    if (c->pool->is_cordoned)
        return 0;
    if (counter->left.placed)
        return vipu_pool_blockers(&counter->left, &some, size, ret);
    for (; needed < count && freed < size; needed++) {
        freed += some.items[needed].size;
        ret[needed] = needed;
    }
    return freed >= size ? needed : 0;
}

/* Stuck partitions make room for the head of the queue only if they are enough: else they would be given up
 * in vain. Returns whether they are. */
static bool want_stuck(const struct claims_controller *c, const struct counter *counter, uint32_t size)
{
    AUTO(mem) size_t *needed = NULL;
    size_t count;

    if (!c->stuck || c->stuck->count == 0)
        return false;
    needed = mem_alloc(c->stuck->count * sizeof(*needed));
    if (find_needed(c, counter, size, c->stuck_leaving, needed))
        return true;
    count = find_needed(c, counter, size, c->stuck->count, needed);
    for (size_t i = 0; i < count; i++)
        c->stuck_wanted[needed[i]] = true;
    return count > 0;
}

/* Queues so many instances of the claim on every eligible controller, and explains the wait of the first by
 * the controller that is closest to serving it; `reserved` is the number of the one where a block is kept for
 * it. */
static void make_wait(const struct claims_view *view, const struct claim *claim, uint32_t waiting,
                      size_t reserved, struct counter *counters, struct claim_verdict *verdict)
{
    const struct claims_controller *controllers = view->controllers;
    int unavailable = -1, without_nodes = -1, without_capacity = -1;
    bool has_unqueried = false, is_eligible_anywhere = false, has_stuck = false;
    uint32_t position = 0;

    for (size_t i = 0; i < view->controller_count; i++) {
        is_eligible_anywhere = is_eligible_anywhere || claim_is_eligible(claim, i);
        if (!claim_is_eligible(claim, i) || !claim_could_use(claim, &controllers[i]))
            continue;
        if (!controllers[i].is_known) {
            has_unqueried = has_unqueried || !controllers[i].trouble;
            unavailable = (int)i;
        } else if (!controllers[i].has_nodes) {
            without_nodes = (int)i;
        } else {
            bool makes_room = !counters[i].head && !has_stuck && claim->is_ready &&
                              want_stuck(&controllers[i], &counters[i], claim->size);
            uint32_t here = queue_claim(&counters[i], claim, waiting);

            if (without_capacity < 0 || makes_room || (reserved == i && !has_stuck) ||
                (counters[without_capacity].head != claim && counters[i].head == claim)) {
                without_capacity = (int)i;
                position = here;
            }
            has_stuck = has_stuck || makes_room;
        }
    }
    if (!claim->is_ready || (without_capacity >= 0 && !counters[without_capacity].head->is_ready))
        return; /* a job whose template is being validated may leave the queue within milliseconds */
    if (has_unqueried)
        return; /* after a start: the status stays as it is until the controller has responded */
    verdict->about = (size_t)(without_capacity >= 0 ? without_capacity
                              : without_nodes >= 0  ? without_nodes
                              : unavailable >= 0    ? unavailable
                                                    : 0);
    if (without_capacity >= 0)
        report_position(claim, position, &controllers[without_capacity], &counters[without_capacity],
                        verdict);
    else if (without_nodes >= 0)
        verdict->why = CLAIM_HAS_NO_NODES;
    else if (unavailable >= 0)
        verdict->why = CLAIM_CONTROLLER_UNAVAILABLE;
    else
        verdict->why = is_eligible_anywhere ? CLAIM_IS_TOO_LARGE : CLAIM_NO_MATCHING_CONTROLLER;
}

/* ---- quotas ---- */

/* Of a namespace, after what starts now. */
struct quota_use {
    uint32_t held, kept;
};

/* By number of the namespace; owned by the caller. */
static struct quota_use *count_quota_use(const struct claims_plan *plan)
{
    const struct forecast_input *input = &plan->input;
    const struct forecast_plan *made = forecast_plan_of(plan->forecast);
    struct quota_use *uses = mem_alloc((input->namespace_count + 1) * sizeof(*uses));

    if (!input->namespace_count)
        return uses;
    for (size_t i = 0; i < input->namespace_count; i++)
        uses[i].held = input->namespaces[i].held_ipus;
    for (size_t i = 0; i < input->running_count; i++) {
        if (input->running[i].ns != FORECAST_NONE)
            uses[input->running[i].ns].held += input->running[i].size;
    }
    for (size_t i = 0; i < made->start_count; i++) {
        const struct forecast_claim *claim = &input->claims[made->starts[i].claim];

        uses[claim->ns].held += claim->size;
    }
    for (size_t i = 0; i < made->reserved_count; i++) {
        const struct forecast_claim *claim = &input->claims[made->reserved[i].claim];

        uses[claim->ns].kept += claim->size;
    }
    return uses;
}

/* It is not in the queue, so that it blocks nobody. */
static void make_quota_wait(const struct claims_plan *plan, size_t i, const struct quota_use *uses,
                            struct claim_verdict *verdict)
{
    uint32_t ns = plan->input.claims[i].ns;

    if (forecast_plan_of(plan->forecast)->verdicts[i].cause == FORECAST_QUEUE_QUOTA) {
        verdict->why = CLAIM_IS_OVER_INSTANCE_QUOTA;
        verdict->quota_instances = plan->input.namespaces[ns].max_queued;
        return;
    }
    verdict->why = CLAIM_IS_OVER_QUOTA;
    verdict->held_ipus = uses[ns].held;
    verdict->kept_ipus = uses[ns].kept;
    verdict->quota_ipus = plan->input.namespaces[ns].max_ipus;
}

/* ---- the decision ---- */

static struct counter *open_counters(const struct claims_view *view)
{
    struct counter *counters = mem_alloc((view->controller_count + 1) * sizeof(*counters));

    for (size_t i = 0; i < view->controller_count; i++)
        counters[i].left = vipu_pool_view_copy(view->controllers[i].pool);
    return counters;
}

static void close_counters(const struct claims_view *view, struct counter *counters)
{
    for (size_t i = 0; i < view->controller_count; i++)
        vipu_pool_view_release(&counters[i].left);
    mem_free(counters);
}

/* The claims that wait although as many instances wait already as may; false: none does. */
static bool find_excess(const struct claims_view *view, const struct claim *claims, size_t count,
                        const uint32_t *started, struct claim_verdict *verdicts, bool *is_excess)
{
    struct claims_admitted admitted;
    bool has_excess = false;
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += claims[i].count;
    claims_admitted_begin(&admitted, &view->limits, total);
    for (size_t i = 0; i < count; i++) {
        if (started[i] == claims[i].count)
            continue;
        verdicts[i].why = claims[i].full;
        if (!claims[i].full)
            verdicts[i].why = claims_admit(&admitted, claims[i].job, claims[i].count - started[i]);
        is_excess[i] = verdicts[i].why != CLAIM_NOTHING_TO_REPORT;
        has_excess = has_excess || is_excess[i];
    }
    claims_admitted_release(&admitted);
    return has_excess;
}

static void start_claims(const struct claims_view *view, const struct claim *claims, size_t count,
                         const struct claims_plan *plan, struct counter *counters, uint32_t *started,
                         struct claims_grants *grants)
{
    const struct forecast_plan *made = forecast_plan_of(plan->forecast);

    memset(started, 0, count * sizeof(*started));
    grants->count = 0;
    if (made->start_count > grants->cap) {
        grants->cap = made->start_count;
        grants->items = mem_grow(grants->items, grants->cap, sizeof(*grants->items));
    }
    count_starts(view, claims, made, counters, started, grants);
}

static void explain_waits(const struct claims_view *view, const struct claim *claims, size_t count,
                          const struct claims_plan *plan, struct counter *counters, const uint32_t *started,
                          const bool *is_excess, struct claim_verdict *verdicts)
{
    const struct forecast_plan *made = forecast_plan_of(plan->forecast);
    AUTO(mem) struct quota_use *uses = count_quota_use(plan);

    for (size_t k = 0; k < count; k++) {
        size_t i = made->order[k];
        enum claim_wait_cause full = is_excess[i] ? verdicts[i].why : CLAIM_NOTHING_TO_REPORT;
        const struct forecast_verdict *of = &made->verdicts[i];
        size_t reserved = of->is_reserved ? of->controller : SIZE_MAX;

        verdicts[i] = (struct claim_verdict){.granted = claims[i].is_ready ? started[i] : 0};
        if (started[i] == claims[i].count)
            continue;
        if (is_excess[i])
            verdicts[i].why = full;
        else if (of->cause != FORECAST_IPU_QUOTA && of->cause != FORECAST_QUEUE_QUOTA)
            make_wait(view, &claims[i], of->started + of->waiting - started[i], reserved, counters,
                      &verdicts[i]);
        else if (claims[i].is_ready)
            make_quota_wait(plan, i, uses, &verdicts[i]);
    }
}

/* Who may not wait is served only after all who do: it is not in the queue and blocks nobody. */
struct claims_plan *claims_decide(const struct claims_view *view, struct claim *claims, size_t count,
                                  struct claim_verdict *verdicts, struct claims_grants *ret_grants)
{
    AUTO(mem) uint32_t *started = mem_alloc((count + 1) * sizeof(*started));
    AUTO(mem) bool *is_excess = mem_alloc((count + 1) * sizeof(*is_excess));
    struct counter *counters = open_counters(view);
    struct claims_plan *plan;

    if (count > 1)
        qsort(claims, count, sizeof(*claims), compare_claims);
    plan = claims_plan_new(view, claims, count, NULL);
    start_claims(view, claims, count, plan, counters, started, ret_grants);
    if (find_excess(view, claims, count, started, verdicts, is_excess)) {
        claims_plan_free(plan);
        close_counters(view, counters);
        counters = open_counters(view);
        plan = claims_plan_new(view, claims, count, is_excess);
        start_claims(view, claims, count, plan, counters, started, ret_grants);
    }
    if (ret_grants->count > 1)
        qsort(ret_grants->items, ret_grants->count, sizeof(*ret_grants->items), compare_grants);
    explain_waits(view, claims, count, plan, counters, started, is_excess, verdicts);
    close_counters(view, counters);
    return plan;
}
