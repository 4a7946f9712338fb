/* Why free IPUs are not used although instances wait. Pure. */
#pragma once

#include "operator/forecast/forecast.h"

/* In the order in which free IPUs are assigned to them. */
enum plan_loss {
    LOSS_RESERVED,
    LOSS_ORDER,
    LOSS_FRAGMENTED,
    LOSS_QUOTA,
    LOSS_NO_ROOM,
    LOSS_UNWANTED,
    PLAN_LOSSES
};

const char *plan_loss_name(enum plan_loss loss);
/* Adds the free IPUs of each controller of the input to the causes for which the instances that wait there
 * wait: as many as they request, the rest is wanted by nobody. plan NULL: nobody waits. */
void plan_loss_add(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t controller,
                   uint64_t free_ipus, uint64_t losses[PLAN_LOSSES]);
