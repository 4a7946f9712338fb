/* How many instances claim IPUs, by what is asked of them all the time: admission, the leader's note in the
 * lease, metrics, the status of VIPUControllers. The numbers change with a job, so that no answer walks all
 * jobs that wait. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/reconcile/state/job_cache.h"
#include "operator/reconcile/accounting/seconds.h"

struct queue_namespace {
    uint32_t waiting; /* instances that are granted no IPUs */
    uint64_t ipus;    /* that all claim */
    size_t jobs;
};

/* Jobs that claim IPUs of the same size from the same V-IPU controllers. */
struct queue_group {
    char *name; /* in the map */
    uint32_t size;
    bool *eligible; /* as in the job cache; NULL: all */
    uint32_t claims;
    size_t jobs;
};

struct queue_totals {
    size_t controllers;    /* as `eligible` has them */
    uint32_t claims;       /* instances, granted or not... */
    uint32_t waiting;      /* ...and not */
    size_t unready;        /* jobs that were there at the start, and whose claims are not ready */
    struct map namespaces; /* -> struct queue_namespace, owned */
    struct map groups;     /* -> struct queue_group, owned */
    struct seconds since;  /* of the oldest claims of the jobs */
};

/* The job, which claims IPUs, has begun to, or its claims or what it asks for have changed. */
void queue_totals_note(struct queue_totals *totals, struct job_cache *cache, bool is_from_start);
/* It claims nothing any more. */
void queue_totals_drop(struct queue_totals *totals, struct job_cache *cache);
void queue_totals_release(struct queue_totals *totals);
