/* How much may be on its way on one channel: the receiver holds a window's bytes at most, and lets the sender
 * go on as it gets rid of them. So a reader that is slow stops its writer, and neither the other channels nor
 * the memory of either side. Pure. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define FLOW_WINDOW_BYTES (256u * 1024u)

/* The receiving end. */
struct flow {
    struct str held;  /* came, and is not written yet */
    uint32_t allowed; /* the peer may still send this much */
    uint32_t owed;    /* written, and not told to the peer yet */
    bool is_ended;    /* nothing more comes */
};

void flow_init(struct flow *flow);
void flow_release(struct flow *flow);
/* ERR_INVALID when the peer sends more than it may, or after its end. */
MUST_USE bool flow_take(struct flow *flow, struct slice bytes, struct err *err);
/* The first len bytes have been written, or are not wanted. Returns what the peer is to be told it may send
 * now, 0 as long as it is not worth a message. */
uint32_t flow_drop(struct flow *flow, size_t len);

/* The sending end's counter. ERR_INVALID when more is given than a window. */
MUST_USE bool flow_add_credit(uint32_t *credit, uint32_t more, struct err *err);
