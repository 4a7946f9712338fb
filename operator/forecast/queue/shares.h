/* The order between namespaces: who has used less per weight comes first. Pure. */
#pragma once

#include "operator/forecast/forecast.h"

/* Sorts the claims of one class, which are in turn: again and again, the first claim of the namespace with
 * the lowest usage, which is charged for it as if it started. `used` is per namespace, and stays charged. */
void shares_sort(const struct forecast_input *input, uint32_t *order, uint32_t count, uint64_t *used);
