/* What jobs that wait are told of their next start: jobs whose status would say something new are reconciled,
 * and the first band of each is kept, to learn from the start how good it was. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* For queue_plan.tell; ctx is the reconciler. A job that comes meanwhile may be left out: it is in the next
 * plan. */
bool told_forecast_tell(void *ctx, size_t *at);
/* Of the IPUs that it waits for, only the number counts: their controller chooses which ones a partition
 * gets. Of the plan that is told. */
bool told_forecast_is_counted(const struct reconciler *r, const struct forecast_verdict *expected);
/* An instance of the job of this cache has got IPUs. */
void told_forecast_note_start(const struct reconciler *r, struct job_cache *cache);

struct told_places {
    struct job_forecast_place *items;
    size_t count;
};

/* For its view. Places are borrowed from ret_places. */
void told_forecast_view(const struct reconciler *r, const struct job_cache *cache, struct job_forecast *ret,
                        struct told_places *ret_places, struct job_view *view);
void told_places_release(struct told_places *places);
