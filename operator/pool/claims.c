#include "operator/pool/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/str.h"

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

bool claim_is_eligible(const struct claim *claim, size_t controller)
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

        if (c->pool->is_cordoned)
            return 0;
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

        if (!claim_is_eligible(claim, i) || !c->is_known || !c->has_nodes || forecasts[i].head ||
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

    if (c->pool->is_cordoned)
        return 0;
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
        is_eligible_anywhere = is_eligible_anywhere || claim_is_eligible(claim, i);
        if (!claim_is_eligible(claim, i) || !could_ever_hold(&controllers[i], claim->size))
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
