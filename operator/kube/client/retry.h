/* When a request may be asked again by itself. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct retry_state {
    bool is_safe;     /* from retry_is_safe */
    bool is_renewed;  /* the credentials were read again for this request */
    bool is_in_doubt; /* a try failed in a way that does not say whether it took effect */
    unsigned tries;   /* sent so far */
};

/* Doing it twice is the same as doing it once. Names and resource versions make sure of that, except for JSON
 * patches (their tests fail the second time) and for POSTs whose name the server or chance chooses. */
bool retry_is_safe(const char *method, const char *content_type, bool retry_post);

/* After a try that failed with `err` (its code is the HTTP status, 0 when none came): how long to wait before
 * the next, or -1 when this is the end. `*renew`: read the credentials again first. */
int64_t retry_delay_ms(struct retry_state *state, const struct err *err, int64_t retry_after_ms,
                       int64_t left_ms, uint32_t random, bool *renew);
