/* Partitions on which pods cannot start: they are offered to the jobs in the queue. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* Those of one controller. */
struct offers {
    struct vipu_partitions partitions; /* those that are being given up first; borrowed from the pool */
    size_t leaving;                    /* so many are */
    bool *wanted;                      /* set by claims_decide */
    struct partition_cache **caches;
    const char **jobs; /* keys; borrowed */
};

/* Notes the offers of a plan, and gives up what it says. */
void offers_set(struct reconciler *r, const struct job *job, struct job_cache *cache,
                const struct plan *plan);
/* Why the pods on the partition of this record cannot start; NULL: they can. */
const char *offers_reason(const struct reconciler *r, const struct record *record);
void offers_read(const struct reconciler *r, const char *controller, struct offers *ret);
/* Reconciles the jobs whose partitions are wanted now. */
void offers_note_wanted(struct reconciler *r, const struct offers *offers);
void offers_release(struct offers *offers);
