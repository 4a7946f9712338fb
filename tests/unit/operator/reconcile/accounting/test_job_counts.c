/* The numbers of jobs are those of the jobs there are, whatever each has been before. */
#include "operator/reconcile/accounting/job_counts.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define NS "ipu-system"
#define JOBS 30
#define CHANGES 3000

static struct job *new_job(const char *state, const char *operator_ns, bool is_vendors, int64_t deleted_s)
{
    struct job *job = NEW(struct job);

    (void)snprintf(job->state, sizeof(job->state), "%s", state);
    job->operator_ns = mem_strdup(operator_ns);
    job->has_finalizer = operator_ns != NULL;
    job->is_vendors = is_vendors;
    job->ns = mem_strdup("team");
    job->deleted_s = deleted_s;
    return job;
}

TEST(a_job_without_a_state_is_pending)
{
    struct job_counts counts = {0};
    AUTO(job) struct job *job = new_job("", NULL, false, 0);

    job_counts_note(&counts, NS, NULL, job);
    CHECK_INT_EQ(counts.states[JOB_PENDING], 1);
    job_counts_note(&counts, NS, job, NULL);
    CHECK_INT_EQ(counts.states[JOB_PENDING], 0);
    job_counts_release(&counts);
}

TEST(jobs_of_other_operators_are_in_no_state)
{
    struct job_counts counts = {0};
    AUTO(job) struct job *others = new_job("Running", "other-system", false, 100);
    AUTO(job) struct job *vendors = new_job("Running", NULL, true, 100);

    job_counts_note(&counts, NS, NULL, others);
    job_counts_note(&counts, NS, NULL, vendors);
    CHECK_INT_EQ(counts.others, 1);
    CHECK_INT_EQ(counts.vendors, 1);
    CHECK_INT_EQ(counts.states[JOB_RUNNING], 0);
    CHECK_INT_EQ(seconds_first(&counts.deletions), 0);
    job_counts_release(&counts);
}

TEST(templates_are_counted_by_namespace)
{
    struct job_counts counts = {0};
    AUTO(job)
    struct job *job = new_job("Running", NULL, false, 0), *changed = new_job("Running", NULL, false, 0);

    job->template_text = compressed_text_new(slice_of("{}"));
    changed->template_text = compressed_text_new(slice_of("{\"spec\":{}}"));
    job_counts_note(&counts, NS, NULL, job);
    job_counts_note(&counts, NS, NULL, job);
    CHECK_INT_EQ(job_counts_template_bytes(&counts, "team"), 2 * template_bytes(job));
    CHECK_INT_EQ(job_counts_template_bytes(&counts, "tea"), 0);
    job_counts_note(&counts, NS, job, changed);
    CHECK_INT_EQ(job_counts_template_bytes(&counts, "team"), template_bytes(job) + template_bytes(changed));
    job_counts_note(&counts, NS, job, NULL);
    job_counts_note(&counts, NS, changed, NULL);
    CHECK_INT_EQ(counts.template_bytes.count, 0);
    job_counts_release(&counts);
}

static void check_against(const struct job_counts *counts, struct job *const *jobs)
{
    uint32_t states[JOB_STATES] = {0};
    int64_t oldest = 0;

    for (size_t i = 0; i < JOBS; i++) {
        for (size_t k = 0; jobs[i] && k < JOB_STATES; k++)
            states[k] += str_eq(jobs[i]->state, job_state_name((enum job_state)k));
        if (jobs[i] && jobs[i]->deleted_s && (!oldest || jobs[i]->deleted_s < oldest))
            oldest = jobs[i]->deleted_s;
    }
    for (size_t k = 0; k < JOB_STATES; k++)
        CHECK_INT_EQ(counts->states[k], states[k]);
    CHECK_INT_EQ(seconds_first(&counts->deletions), oldest);
}

TEST(after_any_changes_the_counts_are_those_of_the_jobs)
{
    struct job_counts counts = {0};
    struct job *jobs[JOBS] = {0};
    uint32_t random = 3;

    for (unsigned change = 0; change < CHANGES; change++) {
        struct job **job = &jobs[(random = random * 1664525u + 1013904223u) % JOBS], *new = NULL;

        if (random >> 16 & 3)
            new = new_job(job_state_name((enum job_state)((random >> 18) % JOB_STATES)), NULL, false,
                          random >> 24 & 1 ? 1 + (random >> 25) : 0);
        job_counts_note(&counts, NS, *job, new);
        job_free(*job);
        *job = new;
        check_against(&counts, jobs);
    }
    for (size_t i = 0; i < JOBS; i++) {
        job_counts_note(&counts, NS, jobs[i], NULL);
        job_free(jobs[i]);
    }
    CHECK_INT_EQ(counts.deletions.count, 0);
    job_counts_release(&counts);
}
