/* The place of one job in the queue: which of its instances claim IPUs, and what the queue answered. Its size
 * depends on the number of instances that were granted IPUs, not on that of those that wait. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/api/job/indexset.h"
#include "operator/pool/claims.h"

/* Waiting times are told apart up to here; later instances count as if they had come with the last. */
#define JOB_CLAIMS_BATCHES 16

/* Instances that claim IPUs since the same time. */
struct claim_batch {
    struct indexset instances;
    int64_t since_s; /* Unix seconds, for texts */
};

/* An instance that is granted IPUs, or was until its record was sent. */
struct grant_cache {
    uint32_t instance;
    const char *controller;    /* borrowed from the configuration; NULL: it is not granted any more */
    char *place;               /* there, as a record has it, or NULL */
    uint32_t limit_s, grace_s; /* as in its record */
    char *record;              /* the partition last recorded for it, or NULL */
};

struct job_claims {
    struct claim_batch *batches; /* the oldest first; none is empty */
    size_t batch_count;
    size_t count; /* of the instances of all batches */
    bool is_ready;
    bool is_answered;           /* the queue was evaluated with all of them */
    struct grant_cache *grants; /* in the order of instances */
    size_t grant_count;
    enum claim_wait_cause full; /* it may not wait, as the latest search (claim_window.h) found; else 0 */
    struct claim_wait wait;     /* of the first instance that is not granted any */
};

/* An instance may have IPUs of that controller. */
struct job_grant {
    const char *controller;
    char *place;               /* as a record has it; NULL: the controller chooses */
    uint32_t limit_s, grace_s; /* by which the queue counted, as a record has them */
};

void job_claims_release(struct job_claims *claims);
void job_claims_add_to(const struct job_claims *claims, struct indexset *ret);
bool job_claims_wait(const struct job_claims *claims); /* has some instance not been granted IPUs? */
int64_t job_claims_since_s(const struct job_claims *claims, uint32_t instance); /* 0: it does not claim */
/* Do these instances, and no others, claim already? */
bool job_claims_are(const struct job_claims *claims, const struct indexset *instances, bool is_ready);
/* Those that are new claim from now on; a place in the queue is kept. */
void job_claims_set(struct job_claims *claims, const struct indexset *instances, bool is_ready,
                    int64_t now_unix_s);
/* NULL: nothing is granted to it. */
struct grant_cache *job_claims_grant(const struct job_claims *claims, uint32_t instance);
/* Gives the grants to the first instances except the served ones, which have their partition already.
 * Returns whether an instance has got IPUs, lost them, or gets them of another controller. */
bool job_claims_assign(struct job_claims *claims, const struct indexset *served,
                       const struct job_grant *grants, size_t count);
