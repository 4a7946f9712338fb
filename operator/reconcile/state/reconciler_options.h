/* The options of a reconciler, and its counters. */
#pragma once

#include "base/doc/openmetrics.h"
#include "operator/api/queue/queue_limits.h"
#include "operator/api/pod/pod_spec.h"
#include "operator/pool/claims.h"
#include "operator/pool/config.h"
#include "operator/reconcile/accounting/accounting.h"
#include "operator/reconcile/accounting/phases.h"
#include "operator/reconcile/accounting/promises.h"

enum { WATCHES_MAX = 7 }; /* number of kinds of objects that are watched */

struct reconciler_options {
    const struct pool_config *controllers;
    const char *credentials; /* folder of the controllers' Secrets */
    const char *operator_ns; /* where the records are */
    const char *watch_ns;    /* the one namespace whose jobs are run, without access to nodes; NULL: all */
    const char *partition_prefix;        /* "p" */
    const struct strv *priority_classes; /* that order the queue, as in queue_priority.h */
    struct queue_limits queue_limits;
    const struct namespace_numbers *quotas;          /* IPUs that a namespace may hold; NULL: any number */
    const struct namespace_numbers *instance_quotas; /* instances that may be in the queue; likewise */
    const struct namespace_numbers *share_weights;   /* NULL: all are equal */
    int64_t share_half_life_s;                       /* with forecast.has_shares */
    enum forecast_policy queue_policy;
    struct forecast_settings forecast;
    bool preempts;    /* jobs whose PriorityClass lets them get the IPUs of jobs that agree... */
    int64_t exempt_s; /* ...and have had them for so long */
    struct pod_spec_options pods;
    int64_t hold_ms;    /* how long to hold IPUs while a process may be running on them */
    int64_t requeue_ms; /* how long pods may fail to start before a job that waits for the IPUs gets them */
    int64_t
        partition_failure_ms; /* how long a running job tolerates a partition that is in error or missing */
    bool is_one_machine;      /* of all pods, whose ends it reports within a second */
    bool awaits_cordons; /* reconciler_cordons_known will be called: no IPUs are granted before, or for a few
                            seconds after the start */
    bool (*may_write)(void *ctx); /* does this process hold the lease right now? */
    void *ctx;
};

struct reconciler_counters {
    uint64_t reconciles; /* decisions made */
    uint64_t empty;      /* decisions with an empty plan */
    uint64_t failures;   /* requests answered by waiting for a retry */
    struct openmetrics_histogram
        durations; /* from the start of a reconcile until all its requests are answered */
    struct openmetrics_histogram phases[PHASES];
    struct openmetrics_histogram waits[PHASES_SIZES]; /* for IPUs, by phases_size */
    uint64_t promises[PROMISES];
    struct accounting accounting;
};
