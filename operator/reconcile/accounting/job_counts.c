#include "operator/reconcile/accounting/job_counts.h"

static enum job_state state_of(const struct job *job)
{
    for (size_t i = 0; i < JOB_STATES; i++) {
        if (str_eq(job_state_name((enum job_state)i), job->state))
            return (enum job_state)i;
    }
    return JOB_PENDING;
}

static uint32_t *count_of(struct job_counts *counts, const char *operator_ns, const struct job *job)
{
    if (job->is_vendors)
        return &counts->vendors;
    return job_is_of_other_operator(job, operator_ns) ? &counts->others : &counts->states[state_of(job)];
}

static bool is_in_state(const struct job_counts *counts, const uint32_t *count)
{
    return count != &counts->vendors && count != &counts->others;
}

size_t job_counts_template_bytes(const struct job_counts *counts, const char *ns)
{
    return (uintptr_t)map_get(&counts->template_bytes, ns);
}

static void set_template_bytes(struct job_counts *counts, const char *ns, size_t bytes)
{
    if (bytes)
        map_set(&counts->template_bytes, ns, (void *)(uintptr_t)bytes); /* a number */
    else
        map_remove(&counts->template_bytes, ns);
}

static void note_templates(struct job_counts *counts, const struct job *old, const struct job *new)
{
    const char *ns = new ? new->ns : old->ns;
    size_t bytes = job_counts_template_bytes(counts, ns);

    set_template_bytes(counts, ns, bytes + (new ? template_bytes(new) : 0) - (old ? template_bytes(old) : 0));
}

void job_counts_note(struct job_counts *counts, const char *operator_ns, const struct job *old,
                     const struct job *new)
{
    uint32_t *before = old ? count_of(counts, operator_ns, old) : NULL;
    uint32_t *now = new ? count_of(counts, operator_ns, new) : NULL;

    if (now) {
        ++*now;
        if (new->deleted_s && is_in_state(counts, now))
            seconds_add(&counts->deletions, new->deleted_s);
    }
    if (before) {
        --*before;
        if (old->deleted_s && is_in_state(counts, before))
            seconds_remove(&counts->deletions, old->deleted_s);
    }
    if (old || new)
        note_templates(counts, old, new);
}

void job_counts_release(struct job_counts *counts)
{
    seconds_release(&counts->deletions);
    map_release(&counts->template_bytes);
}
