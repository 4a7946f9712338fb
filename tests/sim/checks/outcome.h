/* How jobs proceed and end, by what their status says (invariants 1, 3, 5 and 7). status_guarantees.h checks
 * the words, this one checks whether they are true. */
#pragma once

#include "world/world.h"

bool outcome_is_end(const char *state);
/* A rejection is no end: another spec may mend it. */
bool outcome_is_rejection(const cJSON *job);
/* The object of a job has changed. */
void outcome_changed(struct world *world, struct user_job *job, const cJSON *doc);
void outcome_at_rest(struct world *world);
