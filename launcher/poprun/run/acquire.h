/* The partition of a run, as the guide has it (section 2.8): found, reset, created or replaced, and active in
 * the end. It asks one thing after the other and logs what it does. What it creates is noted in `left` first.
 * It never creates a reconfigurable partition, and removes one only where --update-partition allows it. */
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
    bool dry; /* change nothing: what would be created is only described */
};

/* Yours to release. ERR_CONFLICT, ERR_NOT_FOUND: the message says which option would do; others as the
 * controller has them. */
MUST_USE bool acquire_partition(const struct acquisition *a, struct vipu_partition *ret, struct err *err);
