/* Acquires the partition of a run, as in section 2.8 of the guide: it is found, reset, created or replaced,
 * and finally active. It does one step after the other and logs them. What it creates is noted in `left`
 * first. It never creates a reconfigurable partition, and removes one only if --update-partition allows it.
 */
#pragma once

#include "base/core/err.h"
#include "launcher/poprun/run/vipu_endpoint_config.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/run/cleanup.h"
#include "launcher/poprun/options/options.h"
#include "vipu/client/sync_client.h"

struct acquisition {
    const struct poprun_options *options;
    const struct access *access;
    const char *(*env)(const char *name);
    const struct run_log *run_log;
    struct cleanup *left;
    uint32_t hosts;
    bool dry; /* change nothing: only describe what would be created */
};

/* The caller releases the result. ERR_CONFLICT, ERR_NOT_FOUND: the message says which option helps; other
 * errors are the controller's. */
MUST_USE bool acquire_partition(const struct acquisition *a, struct vipu_partition *ret, struct err *err);
