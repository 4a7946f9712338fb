/* A partition without a record is nobody's, and the operator never touches it. This is what the page
 * /partitions tells of one, and whether an admin may have it given back, or made a job's. Pure. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"
#include "operator/api/job/job.h"
#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"

struct orphan { /* owned */
    char *id, *controller, *state;
    uint32_t ipus, gcds;
    struct strv jobs; /* "namespace/name": whose it could be, by its id */
    char *pod;        /* "namespace/name": started on it by this operator, and may still run; or NULL */
};

/* The one of this id; controller NULL: whichever has it. Fails with a sentence when there is none, when
 * several controllers have one, or when it has a record. */
MUST_USE bool orphan_find(const cJSON *page, const char *id, const char *controller, struct orphan *ret,
                          struct err *err);
void orphan_release(struct orphan *orphan);

static inline void orphan_auto(struct orphan *orphan)
{
    orphan_release(orphan);
}

/* Has this pod the job's name or owner, so that it may use its partition, and may it still run? Other
 * operators put no label of ours on it. */
bool orphan_is_used_by(const struct pod *pod, const char *job_key);
/* Why it cannot be given back, a sentence for each reason. */
void orphan_check_release(const struct orphan *orphan, const struct strv *users, struct strv *problems);
/* Why it cannot be made that job's. page: who has what. */
void orphan_check_adoption(const struct orphan *orphan, const struct job *job, const cJSON *page,
                           struct strv *problems);
/* The record that has the leader give it back, or that makes it the job's until that has gone. Yours. */
struct record *orphan_record_of_release(const struct orphan *orphan);
struct record *orphan_record_of_job(const struct orphan *orphan, const struct job *job);

/* A table for people of all that have no record; their number. */
size_t orphan_print_all(const cJSON *page, struct str *out);
