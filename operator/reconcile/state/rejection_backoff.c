#include "operator/reconcile/state/rejection_backoff.h"

#include "base/core/backoff.h"
#include "base/core/str.h"

/* More frequent retries would hold IPUs that other jobs could use; less frequent ones keep users waiting. */
static const struct backoff REJECTION_BACKOFF = {.first_ms = 10000, .max_ms = 120000};

int64_t rejection_backoff_ms(const char *who, unsigned rejections)
{
    return backoff_delay_ms(&REJECTION_BACKOFF, rejections, (uint32_t)str_hash(who) + rejections);
}
