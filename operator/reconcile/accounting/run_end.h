/* For how long a partition has kept its IPUs, from what was observed of its record. Pure. */
#pragma once

#include "operator/api/partition/record.h"

/* The same moment by two clocks. That of the loop never jumps, but only this process knows it. */
struct run_time {
    int64_t loop_ms, unix_s;
};

/* created_ms: when this process created the record, on the loop's clock; -1: another process has. -1: nobody
 * knows, or the clocks of the operator and of the API server disagree. */
int64_t run_elapsed_s(const struct record *record, int64_t created_ms, struct run_time now);
/* Whether the change of a record shows that a job's run has released its IPUs. One whose pods never existed
 * was none. */
bool run_has_ended(const struct record *old, const struct record *new);
