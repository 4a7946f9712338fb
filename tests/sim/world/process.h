/* One operator process of the simulated world: what operator/main.c wires up, but for its end-points. It is
 * killed like any process: what it has sent is on its way, everything else is gone. */
#pragma once

#include "fakes/clock.h"
#include "operator/forecast/forecast.h"
#include "operator/pool/config.h"

struct process;

struct process_options {
    const char *name; /* globally unique: the lease's holder */
    const struct pool_config *controllers;
    int64_t hold_ms;
    enum forecast_policy policy;
    bool has_preemption;
    uint32_t ipu_quota;      /* of each namespace; 0: none */
    uint32_t instance_quota; /* likewise */
    const char *watch_ns;    /* NULL: all namespaces, and nodes */
};

struct process *process_new(const struct process_options *options);
void process_free(struct process *process);
struct queue_plan;
const struct queue_plan *process_queue_plan(const struct process *process); /* NULL: it does not lead */
/* How many promised starts were broken because a job that started later was in the way, by its own count. */
uint64_t process_broken_by_backfill(const struct process *process);
/* For how long it expects a job that waits to keep its IPUs in nine of ten cases; 0: nothing is known. */
int64_t process_expects_s(const struct process *process, const char *uid);
struct host *process_host(struct process *process);
bool process_has_ended(const struct process *process); /* by itself: the lease was lost */
/* The uid of a job of which something is remembered though it is not known, borrowed; NULL: none. */
const char *process_remembers(const struct process *process, bool (*is_known)(void *ctx, const char *uid),
                              void *ctx);
