/* Flow control of one channel: the receiver buffers at most a window, and allows the sender more as it
 * empties it. So a slow reader stops its writer, but neither the other channels nor the memory of either
 * side. Pure. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define FLOW_WINDOW_BYTES (256u * 1024u)

/* The receiving end. */
struct flow {
    struct str held;  /* received, and not written yet */
    uint32_t allowed; /* the peer may still send so many bytes */
    uint32_t owed;    /* written, and not announced to the peer yet */
    bool is_ended;    /* end of data */
};

void flow_init(struct flow *flow);
void flow_release(struct flow *flow);
/* ERR_INVALID if the peer sends more than allowed, or after its end. */
MUST_USE bool flow_take(struct flow *flow, struct slice bytes, struct err *err);
/* The first len bytes have been written, or are discarded. Returns the credit to send to the peer, 0 as long
 * as it is not worth a message. */
uint32_t flow_drop(struct flow *flow, size_t len);

/* The sender's counter. ERR_INVALID if the credit exceeds a window. */
MUST_USE bool flow_add_credit(uint32_t *credit, uint32_t more, struct err *err);
