/* When a new job would start, as the VIPUControllers tell it. Pure. */
#pragma once

#include "base/doc/json.h"
#include "kubectl/core/table.h"

struct whatif_query {
    const cJSON *controllers; /* items of a list */
    const cJSON *job;         /* like which the new one is; NULL: like none */
    uint32_t ipus;            /* of each instance; 0: all sizes */
    int64_t for_s;            /* its deadline; 0: that of the job, or none */
};

/* Items: each size at each controller, by size; the controller where it starts soonest is the first. Owned by
 * the caller. */
cJSON *whatif_report(const struct whatif_query *query);
/* The sizes that any controller tells of, as "1, 2, 4"; nothing if none tells. */
void whatif_add_sizes(struct str *out, const cJSON *controllers);
/* wide: all controllers, not only the soonest. */
void whatif_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out);
