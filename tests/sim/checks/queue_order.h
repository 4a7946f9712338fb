/* Who waits in line for IPUs and who is served, as users see it: by the status that jobs were given and the
 * records that are made (invariant 9). A job that waits, and could use a controller, is not passed there by
 * one of lower priority, nor by a younger one of the same. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"
#include "world/world.h"

/* The job's object has changed. */
void queue_order_note_reported(struct user_job *job, const cJSON *doc);
/* A plan of the job: it waits with its template validated, or not yet. */
void queue_order_note_plan(struct world *world, const char *job, const struct plan *plan);
/* The API server has rejected a pod: its job leaves the line for a while, and says so a moment later. */
void queue_order_note_left(struct world *world, const cJSON *pod);
/* A record was made: an instance has been served. */
void queue_order_note_served(struct world *world, const struct api_object *record);
/* A record was written. */
void queue_order_note_preempted(struct world *world, const struct api_object *record);
/* A job that waits is not kept from IPUs for long by jobs that hold them and cannot start. */
void queue_order_step(struct world *world);
/* At rest: every waiting job has to wait, because there are not enough IPUs, or not enough for a job ahead
 * of it. */
bool queue_order_is_right(const struct world *world, const cJSON *job);
