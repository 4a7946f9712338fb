/* When a job that waits is expected to start, as its status tells it: in times that change seldom. Pure. */
#pragma once

#include "base/doc/json.h"
#include "operator/pool/claims.h"

/* Jobs behind that are told nothing, so that a long queue does not write with every step. */
#define JOB_FORECAST_POSITIONS 100

/* The basis if the V-IPU controller chooses the IPUs of partitions. */
#define JOB_FORECAST_COUNTED "Counted"

struct job_forecast {
    uint32_t position;
    const char *basis;                        /* CamelCase */
    int64_t earliest_s, expected_s, latest_s; /* FORECAST_UNKNOWN: open */
    const char *controller;                   /* where a block is kept for it; NULL: none is */
    const struct job_forecast_place *places;  /* of that block */
    size_t place_count;
};

/* IPUs of a domain, as a mask. */
struct job_forecast_place {
    char *domain;
    uint64_t ipus;
};

/* What was expected at that time, without the block. `is_counted`: of the IPUs that it waits for, only the
 * number counts. False: nothing is told of it. */
bool job_forecast_round(const struct forecast_verdict *expected, int64_t now_s, bool is_counted,
                        struct job_forecast *ret);
/* Its times alone. */
void job_forecast_round_times(const struct forecast_verdict *expected, int64_t now_s,
                              struct job_forecast *ret);
/* A span of time, rounded down as coarsely. */
int64_t job_forecast_round_span(int64_t span_s);
/* As status.forecast: that of `before`, a status, if it says the same. Owned by the caller. */
cJSON *job_forecast_print(const cJSON *before, const struct job_forecast *forecast, int64_t now_s);
/* "expected to start between 16:40 and 18:10 UTC", with dates if one of them is not today's, of a
 * status.forecast. Owned by the caller; NULL: it has no times, or there is none. */
char *job_forecast_describe(const cJSON *forecast, int64_t now_s);
