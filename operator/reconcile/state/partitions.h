/* The partitions of jobs: their records, and how the pool tracks them. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

const struct record *reconciler_record(const struct reconciler *r, const char *partition); /* NULL: none */
/* Once its record is tracked, the pool counts its IPUs as taken; the claim is removed when the job is
 * reconciled. In between it must not count twice. */
bool claim_is_served(const struct reconciler *r, const struct claim_cache *claim);
/* The pool tracks the partition of this record from now on. */
void reconciler_follow(struct reconciler *r, const struct record *record);
/* What a controller's Secret has for the pods of jobs. Borrowed until the loop's next turn. */
struct pod_vipu_credentials vipu_access(const struct reconciler *r, const char *controller);
