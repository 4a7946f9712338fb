/* The options of a reconciler, and its counters. */
#pragma once

#include "base/doc/openmetrics.h"
#include "operator/api/pod/pod_spec.h"
#include "operator/pool/config.h"
#include "operator/reconcile/state/phases.h"

enum { WATCHES_MAX = 7 }; /* kinds of objects that it follows */

struct reconciler_options {
    const struct pool_config *controllers;
    const char *credentials;      /* folder of the controllers' Secrets */
    const char *operator_ns;      /* where the records are */
    const char *watch_ns;         /* the one namespace whose jobs are run, and no node is seen; NULL: all */
    const char *partition_prefix; /* "p" */
    struct pod_spec_options pods;
    int64_t hold_ms;              /* how long IPUs are held when a process may still run on them */
    int64_t trouble_ms;           /* how long a running job lives with a partition that is broken or gone */
    bool (*may_write)(void *ctx); /* do we hold the lease, right now? */
    void *ctx;
};

struct reconciler_counters {
    uint64_t reconciles;                    /* decisions made */
    uint64_t empty;                         /* of them, those with nothing to do */
    uint64_t failures;                      /* answered by a back-off */
    struct openmetrics_histogram durations; /* from a look at a job until all its requests are answered */
    struct openmetrics_histogram phases[PHASES];
};
