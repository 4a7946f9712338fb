/* Fills the view of one job from the stores, the pool and its cache. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"
#include "operator/reconcile/queue/told_forecast.h"

struct observation {
    struct job_view view;
    void **owned; /* arrays of the view */
    size_t owned_count;
    struct indexset answered; /* of the view, as the following */
    struct job_forecast forecast;
    struct told_places places;
};
/* observe.c */
void observe(struct reconciler *r, const char *key, struct observation *o);
void observation_release(struct observation *observation);
/* The uid of a job of this name that is not in the store, although records name it, and that has not been
 * looked up yet; or NULL. */
const char *observe_unconfirmed(const struct reconciler *r, const char *key);
