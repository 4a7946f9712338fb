/* Run times of scenarios. The same job draws the same number in the same scenario in every plan, so that
 * expected starts do not shake. Pure. */
#pragma once

#include "operator/forecast/forecast.h"

#define SAMPLE_SCENARIOS 40u
#define SAMPLE_MEDIAN SAMPLE_SCENARIOS /* no scenario: the median of everything */
#define SAMPLE_NEVER UINT32_MAX

/* A span of at least a second. Between and beyond the quantiles as a log-normal that bends at the median;
 * never above the bound. Without quantiles, from an eighth to all of the bound. SAMPLE_NEVER: nothing is
 * known.
 */
uint32_t sample_span(const struct forecast_quantiles *q, int64_t bound_s, uint64_t uid, uint32_t instance,
                     uint32_t scenario);
