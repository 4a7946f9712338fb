/* How many jobs there are, by what is asked of them all the time. The numbers change with a job, so that no
 * answer walks all jobs. Pure. */
#pragma once

#include "base/core/map.h"
#include "operator/api/job/template_limit.h"
#include "operator/reconcile/decide/model/verdict.h"
#include "operator/reconcile/accounting/seconds.h"

#define JOB_STATES (JOB_TERMINATING + 1)

struct job_counts {
    uint32_t states[JOB_STATES]; /* as users see them; a job without one has just been created */
    uint32_t vendors, others;    /* of the vendor's operator and of another one; in no state above */
    struct seconds deletions;    /* requested; of the jobs in these states */
    struct map template_bytes;   /* namespace -> number of bytes that the templates of all of its jobs take */
};

/* A change of a job. `old`: as it was counted; NULL: it is new. `new` NULL: it is gone. */
void job_counts_note(struct job_counts *counts, const char *operator_ns, const struct job *old,
                     const struct job *new);
size_t job_counts_template_bytes(const struct job_counts *counts, const char *ns);
void job_counts_release(struct job_counts *counts);
