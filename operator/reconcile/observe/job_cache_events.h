/* Updates the job caches from the watches. A cache exists as long as the job or a record of it. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

void job_cache_on_pod(struct reconciler *r, const struct store_change *change, const struct pod *pod);
/* Pods may be seen before their job, from a list that is newer than the others. */
void job_cache_on_pods_of_record(struct reconciler *r, const struct record *record);
void job_cache_forget(struct reconciler *r, const char *key, const char *uid); /* unless a record is left */
/* When everything is listed, before any job is reconciled: drops cached partitions without a record, and jobs
 * that are gone, some at a time. Returns whether none is left. */
bool job_cache_forget_unlisted(struct reconciler *r);
