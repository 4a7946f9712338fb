/* For how long jobs keep their IPUs: what the plan asks about them, and what is noted when they end. */
#pragma once

#include "operator/forecast/forecast.h"
#include "operator/reconcile/state/reconciler_state.h"

/* What runs of a job with that name and image are compared with: see run_kind_of. */
struct run_kind run_times_kind(const char *ns, const char *name, uint64_t image, uint32_t size);
/* For struct forecast_claim.run. */
struct forecast_quantiles run_times_of_kind(const struct reconciler *r, const struct run_kind *kind);
/* For struct forecast_running.left: the partition of this record. */
struct forecast_quantiles run_times_of_running(const struct reconciler *r, const struct record *record);

/* So that neither a plan nor the end of a run needs the job itself. */
void run_times_note_job(struct job_cache *cache, const struct job *job);
/* A record has changed. To be called before the cache forgets its partition. */
void run_times_note_record(struct reconciler *r, const struct job_cache *cache, const struct record *old,
                           const struct record *new);
