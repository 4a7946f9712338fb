#include "operator/reconcile/accounting/run_end.h"

int64_t run_elapsed_s(const struct record *record, int64_t created_ms, struct run_time now)
{
    if (created_ms >= 0)
        return (now.loop_ms - created_ms) / 1000;
    return record->created_s && now.unix_s >= record->created_s ? now.unix_s - record->created_s : -1;
}

/* Its partition is being removed, and its record stays until it runs again. */
static bool is_preempted(const struct record *record)
{
    return record->releasing && record->preemptor;
}

static bool is_run(const struct record *record)
{
    return !record->spent_s && !is_preempted(record) && !record_is_ownerless(record) &&
           (record->started || record->run);
}

bool run_has_ended(const struct record *old, const struct record *new)
{
    return old && is_run(old) && (!new || new->spent_s || is_preempted(new) || !str_eq(old->uid, new->uid));
}
