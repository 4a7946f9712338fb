/* Pod templates that the API server has just admitted in a namespace: an array of like jobs is judged once,
 * not a thousand times. Short-lived, because quotas and policies change. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/api/job.h"

#define ADMITTED_FOR_MS 5000

struct admitted {
    struct map until; /* fingerprint -> time */
};

void admitted_note(struct admitted *admitted, const struct job *job, int64_t now_ms);
bool admitted_has(const struct admitted *admitted, const struct job *job, int64_t now_ms);
void admitted_release(struct admitted *admitted);
