/* How many instances may wait for IPUs. Admission rejects a job that would exceed a limit; one that is stored
 * all the same waits outside the queue (operator/pool/claims.h). Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* 0: any number. */
struct queue_limits {
    uint32_t per_namespace, total;
};

/* Instances that wait now. */
struct queue_counts {
    uint32_t in_namespace, total;
    uint32_t template_kib; /* that the templates of the jobs of the namespace take */
};

#define QUEUE_LIMIT_OF_NAMESPACE "queue.maxWaitingInstancesPerNamespace"
#define QUEUE_LIMIT_OF_ALL "queue.maxWaitingInstances"

/* Adds a problem for each limit that the instances exceed which `job` has in addition to `old` (NULL: it is
 * new) and which count as waiting. The job has no other problems. */
void queue_limits_check(const cJSON *old, const cJSON *job, const char *ns, const struct queue_limits *limits,
                        const struct queue_counts *counts, struct strv *problems);
