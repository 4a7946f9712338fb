/* The engine on virtual time: what starts occupies IPUs until its run is over, and the next plan gets the
 * reservations of the last one. Every plan is checked against the rules that hold for all (check_plan). */
#pragma once

#include "operator/forecast/forecast.h"

#define REPLAY_DOMAINS 64
#define REPLAY_JOBS 512

struct replay_job {
    int64_t arrives_s, run_s;
    struct forecast_claim claim; /* turn_s and uid are set on arrival if they are 0 */
    int64_t start_s;             /* FORECAST_UNKNOWN: has not started */
    uint32_t controller;
    struct forecast_block block;
    int64_t first_promise_s; /* the first reserved start that it was told */
    bool is_over;
};

struct replay {
    int64_t now_s;
    uint64_t domains[REPLAY_DOMAINS];
    struct forecast_controller controllers[4];
    size_t controller_count, domain_count;
    struct replay_job jobs[REPLAY_JOBS]; /* of one instance each */
    size_t job_count;
    struct forecast_namespace namespaces[4];
    size_t namespace_count;
    struct forecast_settings settings;
    struct forecast_reservation reservations[4 * FORECAST_DEPTH_MAX];
    size_t reservation_count;
    /* Of the last plan. */
    struct forecast_running running[REPLAY_JOBS];
    struct forecast_claim claims[REPLAY_JOBS];
    size_t claim_jobs[REPLAY_JOBS];
    struct forecast_input input;
    struct forecast *forecast;
};

void replay_init(struct replay *r);
void replay_release(struct replay *r);
/* A controller with so many domains of 64 IPUs. */
struct forecast_controller *replay_add_controller(struct replay *r, uint32_t domains);
/* run_s is the bound as well; FORECAST_UNKNOWN: no bound, runs forever. */
struct replay_job *replay_add_job(struct replay *r, int64_t arrives_s, uint32_t size, int64_t run_s);
/* The same, running already. */
struct replay_job *replay_add_running(struct replay *r, int64_t start_s, uint32_t controller, uint32_t domain,
                                      uint32_t first_ipu, uint32_t size, int64_t end_s);

/* Makes the plan of this moment, checks it, and starts what it says. */
const struct forecast_plan *replay_plan(struct replay *r, int64_t now_s);
/* Until nobody runs or waits, or nothing happens any more. */
void replay_run(struct replay *r);
/* NULL: none. */
const struct forecast_reservation *replay_reservation(const struct replay *r, const struct replay_job *job);
const struct forecast_verdict *replay_verdict(const struct replay *r, const struct replay_job *job);

/* What holds for each plan: places exist, are free and aligned; invariant I-HEAD; nobody who waits could have
 * started; causes are true. Fails the test otherwise. */
void check_plan(const struct forecast_input *input, const struct forecast_plan *plan);
