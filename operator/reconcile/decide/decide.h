/* The heart: what is, and what should be, gives what to do. Pure: same view, same plan; no clock, no dice, no
 * requests. Level-triggered: it never asks what just happened. Applying a plan and deciding again leads to
 * the empty plan. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

void job_decide(const struct job_view *view, struct plan *plan);
