/* What the watches report to the job caches, which live as long as the job or a record of it. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

void job_cache_on_pod(struct reconciler *r, const struct store_change *change, const struct pod *pod);
/* Its pods may have been heard of first: from a list that was behind the others. */
void job_cache_on_pods_of_record(struct reconciler *r, const struct record *record);
void job_cache_forget(struct reconciler *r, const char *key, const char *uid); /* unless a record is left */
/* Of what was remembered before all was listed: the partitions that have no record, and the jobs that have
 * gone. */
void job_cache_forget_unlisted(struct reconciler *r);
