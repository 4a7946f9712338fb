/* What namespaces have used, for metrics, /queue and VIPUControllers. */
#pragma once

#include "operator/forecast/share_list.h"

struct reconciler;

/* Of all that have jobs, or had any since the start. Borrows names until the loop's next turn. */
void namespace_shares_read(const struct reconciler *reconciler, struct share_list *ret);
