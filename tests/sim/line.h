/* Who waits in line for IPUs and who is served, as users see it: by the status that jobs were given and the
 * records that are made (invariant 9). A job that waits, and could use a controller, is not passed there by
 * one of lower priority, nor by a younger one of the same. */
#pragma once

#include "world.h"

/* The job's object has changed. */
void line_told(struct user_job *job, const cJSON *doc);
/* The API server has refused a pod: its job leaves the line for a while, and says so a moment later. */
void line_left(struct world *world, const cJSON *pod);
/* A record was made: an instance has been served. */
void line_served(struct world *world, const struct api_object *record);
/* At rest: it waits because it has to, for there is no room, or somebody ahead has none. */
bool line_waits_rightly(const struct world *world, const cJSON *job);
