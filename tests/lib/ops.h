/* What an op of a plan does, told whole: plan_print is for people and leaves out most of a body. Ops that are
 * told alike do the same thing; when they do it is not part of it. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"

/* All ops but claims, which are no requests: they say who waits. */
void plan_tell(const struct plan *plan, struct strv *out);
