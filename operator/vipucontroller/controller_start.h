/* When a new job of some size would start at one V-IPU controller, as its VIPUController tells it. Pure. */
#pragma once

#include "base/doc/json.h"
#include "operator/forecast/forecast.h"

#define CONTROLLER_SIZES_MAX 17u /* 1 to 65,536 IPUs */

struct controller_start {
    uint32_t ipus;
    const char *state;                        /* plan_start_name */
    int64_t earliest_s, expected_s, latest_s; /* rounded; FORECAST_UNKNOWN: none */
    int64_t within_s; /* with a deadline of at most so long, it would start now; 0: none helps */
};

/* What is told of a job without a deadline; the verdict is complete. */
void controller_start_read(uint32_t ipus, const struct forecast_verdict *verdict, int64_t now_s,
                           struct controller_start *ret);
/* With which bounds such a job might start now, the longest first: those that let it end when a reservation
 * begins. Returns their number. */
size_t controller_start_bounds(const struct forecast_plan *plan, uint32_t controller, int64_t now_s,
                               int64_t ret[FORECAST_DEPTH_MAX]);
/* The deadline of a job that starts with this bound, so that it still does if it is created some time after
 * this was read; 0: it is too short. */
int64_t controller_start_within(int64_t bound_s);
/* Owned by the caller. */
cJSON *controller_start_print(const struct controller_start *start);
