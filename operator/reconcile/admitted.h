/* Pod templates that the API server has just admitted in a namespace, or is being asked about: an array of
 * like jobs is judged once, not a thousand times. Short-lived, because quotas and policies change. Pure: time
 * is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/api/job.h"

#define ADMITTED_FOR_MS 5000

struct admitted {
    struct map templates; /* fingerprint -> struct judged */
};

/* ret_priority: of the pods, as the API server reads the template's PriorityClass; left alone when false. */
bool admitted_has(const struct admitted *admitted, const struct job *job, int64_t now_ms,
                  int32_t *ret_priority);
/* True: the caller asks, and calls admitted_answer when it knows. False: somebody is asking already, and its
 * admitted_answer names this job among those who wait. */
bool admitted_ask(struct admitted *admitted, const struct job *job);
/* priority: of the pods, when passed. Moves the keys of the jobs that waited for this answer into
 * ret_waiting.
 */
void admitted_answer(struct admitted *admitted, const char *fingerprint, bool passed, int32_t priority,
                     int64_t now_ms, struct strv *ret_waiting);
char *admitted_fingerprint(const struct job *job); /* yours */
void admitted_release(struct admitted *admitted);
