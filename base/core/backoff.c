#include "base/core/backoff.h"

int64_t backoff_delay_ms(const struct backoff *b, unsigned failures, uint32_t random)
{
    int64_t delay = b->first_ms;

    for (unsigned i = 1; i < failures && delay < b->max_ms; i++)
        delay = delay > b->max_ms / 2 ? b->max_ms : delay * 2;
    if (delay > b->max_ms)
        delay = b->max_ms;
    return delay -
           (delay / 4 * (int64_t)(random >> 16) >> 16); /* 16 bits of jitter, so that the product fits */
}
