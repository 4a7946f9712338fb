/* Pod templates that the API server has just admitted or rejected in a namespace, or that it is being asked
 * about: one dry run serves an array of jobs with the same template. Entries are short-lived, because quotas
 * and policies change. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/api/job/job.h"
#include "operator/reconcile/decide/model/view.h"

#define DRY_RUN_VALID_MS 5000

struct dry_run_cache {
    struct map templates; /* fingerprint -> struct dry_run_entry */
};

/* NULL: unknown. Borrowed until the next call. */
const struct dry_run_result *dry_run_cache_get(const struct dry_run_cache *cache, const struct job *job,
                                               int64_t now_ms);
/* True: the caller starts a dry run, and calls dry_run_cache_complete with its result. False: one is in
 * flight, and its dry_run_cache_complete returns this job among those that wait. */
bool dry_run_cache_begin(struct dry_run_cache *cache, const struct job *job);
/* result NULL: the answer applies to no other job. Its text is copied, and the time of the next try is
 * filled in. Moves the keys of the jobs that waited for this answer into ret_waiting. */
void dry_run_cache_complete(struct dry_run_cache *cache, const char *fingerprint,
                            struct dry_run_result *result, int64_t now_ms, struct strv *ret_waiting);
char *dry_run_cache_key(const struct job *job); /* caller frees */
void dry_run_cache_release(struct dry_run_cache *cache);
