/* The partitions of jobs: their records, and how the pool tracks them. */
#pragma once

#include "base/core/mem.h"
#include "operator/reconcile/state/reconciler_state.h"

const struct record *reconciler_record(const struct reconciler *r, const char *partition); /* NULL: none */
/* Its record is on the way to the API server: its place cannot change any more, and is not tracked yet. */
bool grant_is_being_recorded(const struct reconciler *r, const struct grant_cache *grant);
/* Once its record is tracked, the pool counts the IPUs of an instance as taken; its claim is removed when the
 * job is reconciled. In between they must not count twice. Adds those instances. */
void add_served(const struct reconciler *r, const struct job_claims *claims, struct indexset *ret);
/* The pool tracks the partition of this record from now on. */
void reconciler_follow(struct reconciler *r, const struct record *record);
/* The job of higher priority that gets its IPUs, "namespace/name"; NULL: it keeps them. Before the record
 * says so, only as long as that job waits and its own agrees. */
const char *reconciler_preemptor(const struct reconciler *r, const struct record *record);
/* When the partition of the record must have released its IPUs; FORECAST_UNKNOWN: no bound. */
int64_t reconciler_end_s(const struct reconciler *r, const struct record *record, int64_t now_s);
/* What the pods on this partition log in with, according to the Secret of its controller: the user for jobs,
 * or the partition's own. Owned, but for the CA. */
struct vipu_access {
    char *user_id, *key; /* both or none */
    const char *ca_pem;
};
struct vipu_access vipu_access_of(const struct reconciler *r, const struct record *record);
void vipu_access_release(struct vipu_access *access);
DEFINE_AUTO(vipu_access);
