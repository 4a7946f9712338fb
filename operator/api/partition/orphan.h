/* A partition without a record belongs to no job, and the operator never touches it. This is what the page
 * /partitions shows of one, and whether an admin may release it or assign it to a job. Pure. */
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
    struct strv jobs; /* "namespace/name": the job that its id may stand for */
    char *pod; /* "namespace/name": the job of a pod that this operator started on it and that may still run;
                  or NULL */
};

/* The orphan with this id; controller NULL: on any controller. Fails with a sentence if there is none, if
 * several controllers have one, or if it has a record. */
MUST_USE bool orphan_find(const cJSON *page, const char *id, const char *controller, struct orphan *ret,
                          struct err *err);
void orphan_release(struct orphan *orphan);

static inline void orphan_auto(struct orphan *orphan)
{
    orphan_release(orphan);
}

/* Whether this pod has the job's name or owner, so that it may use its partition, and may still run. Pods of
 * other operators do not have this operator's labels. */
bool orphan_is_used_by(const struct pod *pod, const char *job_key);
/* Why it cannot be released, a sentence for each reason. */
void orphan_check_release(const struct orphan *orphan, const struct strv *users, struct strv *problems);
/* Why it cannot be assigned to that job. page: the state of all partitions. */
void orphan_check_adoption(const struct orphan *orphan, const struct job *job, const cJSON *page,
                           struct strv *problems);
/* The record that makes the leader release it, or that assigns it to the job until the job is gone. Owned by
 * the caller. */
struct record *orphan_record_of_release(const struct orphan *orphan);
struct record *orphan_record_of_job(const struct orphan *orphan, const struct job *job);

/* A table of all that have no record; returns their number. */
size_t orphan_print_all(const cJSON *page, struct str *out);
