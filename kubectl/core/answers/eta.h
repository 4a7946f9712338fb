/* When a job starts or ends, as its status tells. Pure. */
#pragma once

#include "base/doc/json.h"
#include "kubectl/core/table.h"

/* "in 20m to 1h10m, likely in 30m" of its times; false: there are none. */
bool start_add_times(struct str *out, const cJSON *forecast, int64_t now_s);
/* "in 20m to 1h10m, likely in 30m, if nothing changes", of status.forecast. */
void start_add(struct str *out, const cJSON *forecast, int64_t now_s);

/* Owned by the caller. */
cJSON *eta_report(const cJSON *job);
/* wide: also since when that is expected. */
void eta_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out);
