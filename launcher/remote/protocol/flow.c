#include "launcher/remote/protocol/flow.h"

#define WORTH_TELLING_BYTES (FLOW_WINDOW_BYTES / 4)

void flow_init(struct flow *flow)
{
    *flow = (struct flow){.held = {.max = FLOW_WINDOW_BYTES}, .allowed = FLOW_WINDOW_BYTES};
}

void flow_release(struct flow *flow)
{
    str_release(&flow->held);
}

bool flow_take(struct flow *flow, struct slice bytes, struct err *err)
{
    if (flow->is_ended)
        return err_set(err, ERR_INVALID, "protocol error: data after the end of its channel");
    if (bytes.len > flow->allowed || !str_add(&flow->held, bytes.ptr, bytes.len))
        return err_set(err, ERR_INVALID, "protocol error: window overflow by data");
    flow->allowed -= (uint32_t)bytes.len;
    return true;
}

uint32_t flow_drop(struct flow *flow, size_t len)
{
    uint32_t credit;

    str_drop(&flow->held, len);
    flow->owed += (uint32_t)len;
    if (flow->owed < WORTH_TELLING_BYTES || flow->is_ended)
        return 0;
    credit = flow->owed;
    flow->allowed += credit;
    flow->owed = 0;
    return credit;
}

bool flow_add_credit(uint32_t *credit, uint32_t more, struct err *err)
{
    if (more > FLOW_WINDOW_BYTES - *credit)
        return err_set(err, ERR_INVALID, "protocol error: window overflow by credit");
    *credit += more;
    return true;
}
