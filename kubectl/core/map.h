/* What kubectl ipu map shows of VIPUControllers: a report, whose JSON is stable, and its drawing. Pure. */
#pragma once

#include "kubectl/core/table.h"

/* Of one IPU. Jobs have letters, and one that has no letter any more is '+'. */
enum map_cell {
    MAP_FREE = '.',
    MAP_CORDONED = '-', /* free, but kept off new partitions */
    MAP_FAILED = 'x',   /* in a partition that has failed */
    MAP_FOREIGN = '#',  /* in a partition that is no job's */
    MAP_MANY = '+',
    MAP_UNKNOWN = '?',
};

/* It answers the operator. */
bool controller_is_reachable(const cJSON *controller);
/* Items: the controllers. jobs tell the statuses of the holders; both are items of lists. Owned by the
 * caller. */
cJSON *map_report(const cJSON *controllers, const cJSON *jobs, const char *domain); /* NULL: all domains */
/* wide: a domain is drawn in one line, whatever the width of the terminal; also the controllers' versions. */
void map_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out);
