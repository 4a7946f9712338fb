/* vipu-server's counters, and their text for /metrics (OpenMetrics 1.0). What the controller already knows
 * is not counted twice but read when a scraper asks. One table in metrics.c has every metric family; a test
 * compares it with the table in docs/vipu.md. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"
#include "base/doc/openmetrics.h"
#include "vipu/server/controller/controller.h"

#define METRICS_METHODS 16u
#define METRICS_STATUSES 17u /* gRPC status codes: 0 to 16 */

struct metrics_method {
    const char *name;
    uint64_t calls[METRICS_STATUSES];
    struct openmetrics_histogram durations;
};

/* Why a log-in failed. */
enum login_failure { LOGIN_MISSING, LOGIN_WRONG, LOGIN_PAUSED, LOGIN_FAILURES };

struct metrics {
    struct metrics_method methods[METRICS_METHODS];
    size_t method_count;
    uint64_t storage_commits;
    uint64_t storage_failures;
    uint64_t reloads;
    uint64_t rejected_reloads;
    uint64_t failed_logins[LOGIN_FAILURES];
    int64_t certificate_expiry_s; /* Unix time; 0: cleartext */
};

/* The index of a method for later calls; the name is borrowed and must outlive the metrics. */
size_t metrics_add_method(struct metrics *metrics, const char *name);
/* A status that gRPC does not have counts as UNKNOWN. */
void metrics_count_call(struct metrics *metrics, size_t method, int status, uint64_t duration_us);
/* The complete text of /metrics. */
void metrics_put(const struct metrics *metrics, const struct controller *controller, struct str *out);
