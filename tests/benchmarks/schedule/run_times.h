/* How long the latest runs of each kind of job took, and what that tells of a run: the rule of the operator's
 * own history (operator/forecast/run_estimate.h), kept sorted, because here millions ask. */
#pragma once

#include "operator/forecast/forecast.h"
#include "schedule/workload.h"

struct run_times;

struct run_times *run_times_new(void);
void run_times_free(struct run_times *r);
void run_times_add(struct run_times *r, const struct job *job);
/* Of the time that it still runs, after it has run for so long. All 0: nobody knows. */
struct forecast_quantiles run_times_left(const struct run_times *r, const struct job *job, int64_t elapsed_s);
