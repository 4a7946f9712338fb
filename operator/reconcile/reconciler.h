/* The shell around decide: four watches in, requests out. One reconcile of a key observes (stores and pool),
 * decides (pure) and acts (requests in flight together); the next one starts when all of them are answered
 * and the watches have shown what was written. Everything else waits in a queue without duplicates. */
#pragma once

#include "base/doc/openmetrics.h"
#include "operator/api/podspec.h"
#include "operator/pool/config.h"
#include "operator/reconcile/state/phases.h"

enum { WATCHES_MAX = 7 }; /* kinds of objects that it follows */

struct events;
struct kube;
struct loop;
struct reconciler;
struct str;

struct reconciler_options {
    const struct pool_config *controllers;
    const char *credentials;      /* folder of the controllers' Secrets */
    const char *operator_ns;      /* where the records are */
    const char *watch_ns;         /* the one namespace whose jobs are run, and no node is seen; NULL: all */
    const char *partition_prefix; /* "p" */
    struct podspec_options pods;
    int64_t hold_ms;              /* how long IPUs are held when a process may still run on them */
    int64_t trouble_ms;           /* how long a running job lives with a partition that is broken or gone */
    bool (*may_write)(void *ctx); /* do we hold the lease, right now? */
    void *ctx;
};

/* Everything in `options` is borrowed for the reconciler's life. Watches start at the next turn. */
struct reconciler *reconciler_new(struct loop *loop, struct kube *kube, struct events *events,
                                  const struct reconciler_options *options);
void reconciler_free(struct reconciler *reconciler);
void reconciler_abort(struct reconciler *reconciler); /* the lease is lost: nothing may leave any more */
/* Everybody who waits for IPUs, as {"queue": [...]}, who goes first first. Yours. */
struct cJSON *reconciler_queue(const struct reconciler *reconciler);
bool reconciler_is_synced(const struct reconciler *reconciler);
/* What keeps it from seeing what happens, in a sentence; NULL: nothing does. Yours. */
char *reconciler_trouble(const struct reconciler *reconciler);

struct reconciler_counters {
    uint64_t reconciles;                    /* decisions made */
    uint64_t empty;                         /* of them, those with nothing to do */
    uint64_t failures;                      /* answered by a back-off */
    struct openmetrics_histogram durations; /* from a look at a job until all its requests are answered */
    struct openmetrics_histogram phases[PHASES];
};
const struct reconciler_counters *reconciler_counters(const struct reconciler *reconciler);
