#include "operator/reconcile/accounting/promises.h"

/* Freed IPUs are seen, and granted, within seconds. */
#define GRACE_S 5

const char *promise_name(enum promise promise)
{
    static const char *const names[] = {[PROMISE_KEPT] = "kept",
                                        [PROMISE_BROKEN_BY_BACKFILL] = "backfill",
                                        [PROMISE_BROKEN_BY_PRIORITY] = "priority",
                                        [PROMISE_BROKEN_BY_OVERRUN] = "overrun",
                                        [PROMISE_BROKEN_BY_ESTIMATE] = "estimate",
                                        [PROMISE_BROKEN_BY_FOREIGN] = "foreign",
                                        [PROMISE_BROKEN_OTHERWISE] = "other"};

    return names[promise];
}

static bool starts(const struct forecast_input *input, const struct forecast_plan *plan,
                   const struct forecast_reservation *kept)
{
    for (size_t i = 0; i < plan->start_count; i++)
        if (input->claims[plan->starts[i].claim].uid == kept->uid &&
            plan->starts[i].instance == kept->instance)
            return true;
    return false;
}

static const struct forecast_claim *claim_of(const struct forecast_input *input, uint64_t uid)
{
    for (size_t i = 0; i < input->claim_count; i++)
        if (input->claims[i].uid == uid)
            return &input->claims[i];
    return NULL;
}

static bool is_in_the_way(const struct forecast_running *running, const struct forecast_reservation *kept)
{
    return running->controller == kept->controller && forecast_blocks_overlap(&running->block, &kept->block);
}

static enum promise cause_of(const struct forecast_running *running, const struct forecast_reservation *kept,
                             int32_t priority)
{
    bool is_bounded = running->end_s != FORECAST_UNKNOWN;

    if (running->ns == FORECAST_NONE)
        return PROMISE_BROKEN_BY_FOREIGN;
    if (running->priority > priority)
        return PROMISE_BROKEN_BY_PRIORITY;
    if (is_bounded && running->end_s <= kept->promise_s)
        return PROMISE_BROKEN_BY_OVERRUN;
    if (running->start_s <= kept->since_s)
        return PROMISE_BROKEN_BY_ESTIMATE;
    if (kept->is_displaced)
        return PROMISE_BROKEN_BY_PRIORITY;
    return kept->is_overrun ? PROMISE_BROKEN_BY_OVERRUN : PROMISE_BROKEN_BY_BACKFILL;
}

/* Of several occupants, the one that comes first in the enumeration. */
static enum promise cause_of_all(const struct forecast_input *input, const struct forecast_reservation *kept,
                                 int32_t priority)
{
    enum promise found = PROMISE_BROKEN_OTHERWISE;

    for (size_t i = 0; i < input->running_count; i++) {
        enum promise cause = is_in_the_way(&input->running[i], kept)
                                 ? cause_of(&input->running[i], kept, priority)
                                 : PROMISE_BROKEN_OTHERWISE;

        found = cause < found ? cause : found;
    }
    return found;
}

void promises_count(const struct forecast_input *input, const struct forecast_plan *plan, int64_t looked_s,
                    uint64_t counts[PROMISES])
{
    for (size_t i = 0; i < input->reservation_count; i++) {
        const struct forecast_reservation *kept = &input->reservations[i];
        const struct forecast_claim *claim;

        if (kept->promise_s == FORECAST_UNKNOWN || looked_s > kept->promise_s + GRACE_S)
            continue;
        if (starts(input, plan, kept)) {
            counts[PROMISE_KEPT]++;
            continue;
        }
        claim = input->now_s > kept->promise_s + GRACE_S ? claim_of(input, kept->uid) : NULL;
        if (claim)
            counts[cause_of_all(input, kept, claim->priority)]++;
    }
}
