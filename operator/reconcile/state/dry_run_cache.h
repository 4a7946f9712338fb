/* Pod templates that the API server has just admitted in a namespace, has just refused, or is being asked
 * about: an array of like jobs is judged once, not a thousand times. Short-lived, because quotas and policies
 * change. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/api/job/job.h"
#include "operator/reconcile/decide/model/view.h"

#define DRY_RUN_VALID_MS 5000

struct dry_run_cache {
    struct map templates; /* fingerprint -> struct judged */
};

/* NULL: unknown. Borrowed until the next call. */
const struct dry_run_result *dry_run_cache_get(const struct dry_run_cache *dry_run_cache,
                                               const struct job *job, int64_t now_ms);
/* True: the caller asks, and calls dry_run_cache_complete when it knows. False: somebody is asking already,
 * and its dry_run_cache_complete names this job among those who wait. */
bool dry_run_cache_begin(struct dry_run_cache *dry_run_cache, const struct job *job);
/* NULL: the answer says nothing about other jobs. Its text is copied, and when to ask again is filled in.
 * Moves the keys of the jobs that waited for this answer into ret_waiting. */
void dry_run_cache_complete(struct dry_run_cache *dry_run_cache, const char *fingerprint,
                            struct dry_run_result *dry_run_result, int64_t now_ms, struct strv *ret_waiting);
char *dry_run_cache_key(const struct job *job); /* yours */
void dry_run_cache_release(struct dry_run_cache *dry_run_cache);
