/* The core: from what is observed and what is wanted follows what to do. Pure: the same view gives the same
 * plan; no clock, no random numbers, no requests. Level-triggered: it never depends on what has just
 * happened. Applying a plan and deciding again gives the empty plan. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

void job_decide(const struct job_view *view, struct plan *plan);
