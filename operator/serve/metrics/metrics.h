/* The operator's /metrics, as OpenMetrics. One table in metrics.c has every family; the one in
 * docs/monitoring.md is compared with it by a test. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "operator/history/history.h"
#include "operator/kube/client/client.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/report/metrics_snapshot.h"
#include "operator/serve/metrics/process_stats.h"
#include "operator/serve/pages/what_if_page.h"
#include "operator/serve/webhooks/webhooks.h"

/* All of it borrowed. */
struct metrics_view {
    bool is_leader;
    const struct metrics_snapshot *snapshot;    /* of the leader; NULL: this replica is not the leader */
    const struct reconciler_counters *counters; /* likewise */
    const struct history *history;              /* likewise */
    const struct kube_counter *requests;
    size_t request_count;
    uint64_t events_dropped;
    const struct what_if_counts *what_ifs;
    const struct webhooks_counters *webhooks; /* NULL: it serves none */
    int64_t webhooks_certificate_end_s, metrics_certificate_end_s,
        live_page_certificate_end_s; /* 0: there is none */
    struct process_stats process;
    double start_s; /* since when it runs, Unix time */
};

void metrics_print(const struct metrics_view *view, struct str *out);
