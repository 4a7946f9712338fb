/* What arrives at the queue: jobs in order of arrival, from a model or from a recorded trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/mem.h"

#define DOMAIN_IPUS 64u
#define NO_BOUND INT64_MAX

struct job {
    int64_t submit_s;
    int64_t run_s;
    int64_t bound_s; /* its deadline, from its start; NO_BOUND: it has none */
    uint32_t size;   /* IPUs, as a partition can have */
    uint32_t kind;   /* jobs of one kind are runs of the same thing: their times are alike */
    uint32_t tenant;
    uint32_t number; /* in the file that it comes from */
};

/* Why a row of a trace is left out. */
enum { NO_ROW, NO_ARRIVAL, NO_RUN, NO_IPUS, TOO_LARGE, LEFT_OUT };

struct workload {
    struct job *jobs;
    size_t count;
    uint32_t domains;
    size_t left_out[LEFT_OUT]; /* rows of a trace */
};

void workload_release(struct workload *w);
DEFINE_AUTO(workload);

struct workload_settings {
    uint32_t domains, jobs, seed;
    uint32_t deadline_percent; /* of jobs, where the source has none of its own */
    double load;               /* what is asked for by the machine's capacity, in IPU-seconds */
};

/* The deep-learning mix: sizes by share, and log-normal run times with the spread that published traces have.
 */
struct workload workload_mix(const struct workload_settings *s);
/* The same, but each job is a run of one of a few kinds, whose times are more alike. */
struct workload workload_recurring(const struct workload_settings *s);
/* The model of Lublin and Feitelson (Journal of Parallel and Distributed Computing 63(11), 2003) with the
 * constants for all jobs; sizes are powers of two. */
struct workload workload_lublin(const struct workload_settings *s);
/* A trace in the Standard Workload Format. The machine is that of the file unless `domains` is set, its load
 * that of the file unless `load` is. Jobs that took no time or no IPUs are left out, and those that the
 * machine could never hold. */
MUST_USE bool workload_read_swf(const char *path, const struct workload_settings *s, struct workload *ret,
                                struct err *err);
void workload_print_swf(const struct workload *w);
/* IPU-seconds that are asked for, by those that there are until the last arrival. */
double workload_load(const struct workload *w);
/* Spreads the arrivals so that the load is that. */
void workload_set_load(struct workload *w, double load);
/* The smallest partition with at least so many IPUs: a power of two in one domain, or whole domains. */
uint32_t partition_size(uint64_t ipus);
