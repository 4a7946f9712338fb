/* Whether a rejection is logged: one line a minute for each reason, with the number of those that were
 * suppressed since. A flood must not fill a node's disk. Pure. */
#pragma once

#include <stdint.h>

#include "launcher/env/identity.h"

#define LOG_RATELIMIT_INTERVAL_MS 60000

struct log_ratelimit {
    struct {
        bool was_logged;
        int64_t last_logged_ms;
        uint64_t suppressed;
    } of[REJECTION_COUNT];
};

/* True if the line may be logged; *ret_more is the number of similar lines suppressed since the last one. */
bool log_ratelimit_allow(struct log_ratelimit *log_ratelimit, enum rejection rejection, int64_t now_ms,
                         uint64_t *ret_more);
