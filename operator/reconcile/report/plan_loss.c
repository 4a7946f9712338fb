#include "operator/reconcile/report/plan_loss.h"

const char *plan_loss_name(enum plan_loss loss)
{
    static const char *const names[] = {
        [LOSS_RESERVED] = "reserved", [LOSS_ORDER] = "order",     [LOSS_FRAGMENTED] = "fragmented",
        [LOSS_QUOTA] = "quota",       [LOSS_NO_ROOM] = "no_room", [LOSS_UNWANTED] = "unwanted"};

    return names[loss];
}

static enum plan_loss loss_of(uint8_t cause)
{
    switch (cause) {
    case FORECAST_RESERVED:
        return LOSS_RESERVED;
    case FORECAST_ORDER:
        return LOSS_ORDER;
    case FORECAST_FRAGMENTED:
        return LOSS_FRAGMENTED;
    case FORECAST_IPU_QUOTA:
    case FORECAST_QUEUE_QUOTA:
        return LOSS_QUOTA;
    case FORECAST_NO_ROOM:
        return LOSS_NO_ROOM;
    default:
        return LOSS_UNWANTED;
    }
}

void plan_loss_add(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t controller,
                   uint64_t free_ipus, uint64_t losses[PLAN_LOSSES])
{
    uint64_t wanted[PLAN_LOSSES] = {0};

    for (size_t i = 0; plan && i < input->claim_count; i++) {
        const struct forecast_verdict *v = &plan->verdicts[i];

        if (v->controller == controller)
            wanted[loss_of(v->cause)] +=
                (uint64_t)input->claims[i].size * (input->claims[i].count - v->started);
    }
    wanted[LOSS_UNWANTED] = UINT64_MAX;
    for (size_t i = 0; i < PLAN_LOSSES; i++) {
        uint64_t lost = wanted[i] < free_ipus ? wanted[i] : free_ipus;

        losses[i] += lost;
        free_ipus -= lost;
    }
}
