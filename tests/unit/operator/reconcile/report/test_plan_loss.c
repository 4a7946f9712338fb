/* Free IPUs are lost to the causes for which instances wait, and never to more than are free. */
#include "operator/reconcile/report/plan_loss.h"

#include "lib/check.h"

TEST(free_ipus_are_assigned_to_causes)
{
    static const struct forecast_claim claims[] = {
        {.size = 64, .count = 2}, {.size = 8, .count = 3}, {.size = 4, .count = 1}, {.size = 2, .count = 1}};
    static const struct forecast_verdict verdicts[] = {{.cause = FORECAST_NO_ROOM},
                                                       {.cause = FORECAST_RESERVED, .started = 1},
                                                       {.cause = FORECAST_FRAGMENTED},
                                                       {.cause = FORECAST_IPU_QUOTA, .controller = 1}};
    static const struct forecast_input input = {.claims = claims, .claim_count = COUNT_OF(claims)};
    static const struct forecast_plan plan = {.verdicts = verdicts};
    static const struct {
        uint32_t controller;
        uint64_t free, losses[PLAN_LOSSES]; /* reserved, order, fragmented, quota, no room, unwanted */
    } rows[] = {
        {0, 0, {0}},
        {0, 10, {10}},
        {0, 48, {16, 0, 4, 0, 28, 0}},
        {0, 200, {16, 0, 4, 0, 128, 52}},
        {1, 5, {0, 0, 0, 2, 0, 3}},
    };

    CHECK_ROWS (row, rows) {
        uint64_t losses[PLAN_LOSSES] = {0};

        plan_loss_add(&input, &plan, row->controller, row->free, losses);
        for (size_t i = 0; i < PLAN_LOSSES; i++)
            CHECK_INT_EQ(losses[i], row->losses[i]);
    }
}

TEST(nobody_wants_them_if_nobody_waits)
{
    uint64_t losses[PLAN_LOSSES] = {0};

    plan_loss_add(NULL, NULL, 0, 64, losses);
    CHECK_INT_EQ(losses[LOSS_UNWANTED], 64);
}
