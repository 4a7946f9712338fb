/* Partitions and the records that prove whose they are, at the API server and at the V-IPU controllers
 * (invariants 1, 2 and 6). */
#pragma once

#include "operator/reconcile/decide/model/view.h"
#include "world/world.h"

/* The partition with that id, wherever it is; NULL: there is none. */
const struct controller_partition *records_find_partition(const struct world *world, const char *id);
/* It has IPUs, or is about to get them. */
bool records_reserve(const struct api_object *record);
/* Partitions that a job has, by its uid; without `with_releasing` only those that are not on their way out.
 */
/* IPUs of all jobs, for as long as their records are there. */
uint32_t records_held_ipus(const struct world *world);
size_t records_count(const struct world *world, const char *job_uid, bool with_releasing);
/* A partition is about to be made, reset or removed. */
void records_ordered(struct world *world, const struct sim_vipu *side, const struct vipu_order *order);
/* An operator decides about a job, or about what one has left behind. */
void records_judged(struct world *world, const struct job_view *view);
/* A job has gone. */
void records_left(struct world *world, const struct api_object *job);
/* A record has gone. */
void records_ended(struct world *world, const struct api_object *record);
/* Something of this job is on the controller that never responds again. */
bool records_are_stuck(const struct world *world, const char *job);
void records_at_rest(struct world *world);
