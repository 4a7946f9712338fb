/* Whether a refusal is worth a line of the log: one line a minute for each reason, with the number of those
 * that were passed over since. A flood must not fill a node's disk. Pure. */
#pragma once

#include <stdint.h>

#include "launcher/env/identity.h"

#define HUSH_MS 60000

struct hush {
    struct {
        bool was_told;
        int64_t told_ms;
        uint64_t passed_over;
    } of[REFUSAL_COUNT];
};

/* True: say it, and that *ret_more others were like it. */
bool hush_may_tell(struct hush *hush, enum refusal refusal, int64_t now_ms, uint64_t *ret_more);
