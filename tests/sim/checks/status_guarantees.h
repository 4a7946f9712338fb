/* What users are promised, by the names of docs/ARCHITECTURE.md: invariants 5, 7 and 8. Each is checked as it
 * happens, against what the API server has. */
#pragma once

#include "world/world.h"

/* A job's status has been written. */
void status_guarantees_on_status(struct world *world, const cJSON *job);
/* The object of a job has changed: how often it is told when it will start, and nothing else. */
void status_guarantees_on_change(struct world *world, struct user_job *job, const cJSON *doc);
/* A pod is about to be deleted by an operator. */
void status_guarantees_on_deletion(struct world *world, const struct api_object *pod);
/* Something was made for a job. */
void status_guarantees_init(struct world *world, const struct api_object *object);
/* At rest: every waiting job reports the reason, and every finished job its result. */
void status_guarantees_at_rest(struct world *world, const struct user_job *job, const cJSON *doc);
