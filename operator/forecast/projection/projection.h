/* When the waiting claims will start: the line served again and again on virtual time, in 40 scenarios with
 * drawn run times for the first in turn, and once with median times for all others. Resumable. Pure. */
#pragma once

#include "operator/forecast/queue/moment.h"

struct projection;

/* Borrows a moment whose line was served at the plan's now. */
struct projection *projection_new(const struct moment *served);
void projection_free(struct projection *p); /* accepts NULL */
/* About so many microseconds of work. True when it is complete; then it has filled the verdicts of the
 * claims that wait in line (p10_s, p50_s, p90_s, basis). */
bool projection_step(struct projection *p, uint32_t work, struct forecast_verdict *verdicts);
