/* The complete effect of an op of a plan; plan_print is for readers and leaves out most of a body. Ops with
 * the same text do the same thing; the text does not include the time. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"

/* All ops but claims, which are no requests: they say who waits. */
void plan_describe(const struct plan *plan, struct strv *out);
