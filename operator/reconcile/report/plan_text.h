/* What the engine of operator/forecast/ plans, as JSON. Pure. */
#pragma once

#include "base/doc/json.h"
#include "operator/forecast/forecast.h"

const char *plan_cause_name(enum forecast_cause cause);
const char *plan_basis_name(enum forecast_basis basis);
/* {"domain", "domains", "ipus"}: a mask in hexadecimal, of each of the domains. */
void plan_push_block(cJSON *blocks, const struct forecast_block *block);
/* "Now", "Later", "Open": at a time that nobody knows, or "Never". The forecast must be complete. */
const char *plan_start_name(const struct forecast_verdict *verdict);
/* "cause", "basis", "earliest", "expected", "latest" */
/* `is_counted` as for job_forecast_round. */
void plan_put_verdict(cJSON *out, const struct forecast_verdict *verdict, bool is_counted);
