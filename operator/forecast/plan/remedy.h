/* Which jobs to end so that a waiting claim could start now, at the least cost. Advice: who acts on it
 * checks that it is wanted. It is tried on blocks, never on counts: IPUs that are spread over domains free
 * nothing. Pure. */
#pragma once

#include "operator/forecast/forecast.h"

#define REMEDY_VICTIMS_MAX 64u
#define REMEDY_GAIN_FACTOR 3u /* what is gained has to be so many times the cost */

enum remedy_kind {
    REMEDY_PREEMPTION,      /* end jobs of lower priority that are restartable */
    REMEDY_DEFRAGMENTATION, /* restart jobs that fit elsewhere now */
};

struct remedy {
    uint32_t controller;
    struct forecast_block block;          /* that it frees */
    uint32_t victims[REMEDY_VICTIMS_MAX]; /* indices of running[] */
    uint32_t victim_count;
    uint64_t cost_ipu_s; /* work since the last checkpoint and the restart, for all IPUs of the victims */
    uint64_t gain_ipu_s; /* IPUs of the claim, for as long as it starts earlier; UINT64_MAX: forever */
    bool is_agreed;      /* all victims are restartable */
};

/* The cheapest one for the next instance of a claim that waits in this plan. Victims have run for
 * `least_run_s` at least, or are leaving anyway. False if there is none, or its gain is too small. */
bool remedy_find(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t claim,
                 enum remedy_kind kind, int64_t least_run_s, struct remedy *ret);
