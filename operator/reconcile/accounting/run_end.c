#include "operator/reconcile/accounting/run_end.h"

int64_t run_elapsed_s(const struct record *record, int64_t created_ms, struct run_time now)
{
    if (created_ms >= 0)
        return (now.loop_ms - created_ms) / 1000;
    return record->created_s && now.unix_s >= record->created_s ? now.unix_s - record->created_s : -1;
}

static bool is_run(const struct record *record)
{
    return record_holds_ipus(record, false) && (record->started || record->run);
}

bool run_has_ended(const struct record *old, const struct record *new)
{
    return old && is_run(old) && (!new || !record_holds_ipus(new, false) || !str_eq(old->uid, new->uid));
}
