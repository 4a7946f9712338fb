#include "replay.h"

#include <string.h>

#include "lib/check.h"

void replay_init(struct replay *r)
{
    *r = (struct replay){.settings = FORECAST_SETTINGS_DEFAULT};
}

void replay_release(struct replay *r)
{
    forecast_free(r->forecast);
}

struct forecast_controller *replay_add_controller(struct replay *r, uint32_t domains)
{
    struct forecast_controller *c = &r->controllers[r->controller_count++];

    *c = (struct forecast_controller){.is_usable = true,
                                      .is_placed = true,
                                      .policy = FORECAST_BOUNDED,
                                      .ipus_per_domain = 64,
                                      .domains = &r->domains[r->domain_count],
                                      .domain_count = domains};
    CHECK(r->domain_count + domains <= REPLAY_DOMAINS);
    for (uint32_t d = 0; d < domains; d++)
        r->domains[r->domain_count++] = ~(uint64_t)0;
    return c;
}

struct replay_job *replay_add_job(struct replay *r, int64_t arrives_s, uint32_t size, int64_t run_s)
{
    struct replay_job *job = &r->jobs[r->job_count];

    CHECK(r->job_count < REPLAY_JOBS);
    *job = (struct replay_job){
        .arrives_s = arrives_s,
        .run_s = run_s,
        .start_s = FORECAST_UNKNOWN,
        .first_promise_s = FORECAST_UNKNOWN,
        .claim = {.uid = 1000 + r->job_count,
                  .count = 1,
                  .eligible = ~(uint64_t)0,
                  .ns = FORECAST_NONE,
                  .size = size,
                  .turn_s = arrives_s,
                  .arrival = r->job_count,
                  .bound_s = run_s,
                  .is_ready = true},
    };
    r->job_count++;
    return job;
}

struct replay_job *replay_add_running(struct replay *r, int64_t start_s, uint32_t controller, uint32_t domain,
                                      uint32_t first_ipu, uint32_t size, int64_t end_s)
{
    struct replay_job *job =
        replay_add_job(r, start_s, size, end_s == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : end_s - start_s);
    uint64_t ones = size >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;

    job->start_s = start_s;
    job->controller = controller;
    job->block = (struct forecast_block){domain, size > 64 ? size / 64 : 1, ones << first_ipu};
    return job;
}

static bool is_over(const struct replay *r, const struct replay_job *job)
{
    return job->start_s != FORECAST_UNKNOWN && job->run_s != FORECAST_UNKNOWN &&
           job->start_s + job->run_s <= r->now_s;
}

static void observe(struct replay *r)
{
    r->input = (struct forecast_input){.now_s = r->now_s,
                                       .controllers = r->controllers,
                                       .controller_count = r->controller_count,
                                       .running = r->running,
                                       .claims = r->claims,
                                       .namespaces = r->namespaces,
                                       .namespace_count = r->namespace_count,
                                       .reservations = r->reservations,
                                       .reservation_count = r->reservation_count,
                                       .settings = r->settings};
    for (size_t i = 0; i < r->job_count; i++) {
        struct replay_job *job = &r->jobs[i];
        int64_t bound = job->claim.bound_s;

        job->is_over = is_over(r, job);
        if (job->is_over || job->arrives_s > r->now_s)
            continue;
        if (job->start_s == FORECAST_UNKNOWN) {
            r->claim_jobs[r->input.claim_count] = i;
            r->claims[r->input.claim_count++] = job->claim;
            continue;
        }
        r->running[r->input.running_count++] =
            (struct forecast_running){.uid = job->claim.uid,
                                      .ns = job->claim.ns,
                                      .controller = job->controller,
                                      .block = job->block,
                                      .size = job->claim.size,
                                      .priority = job->claim.priority,
                                      .start_s = job->start_s,
                                      .end_s = bound == FORECAST_UNKNOWN ? bound : job->start_s + bound,
                                      .left = job->claim.run,
                                      .checkpoint_s = job->start_s};
    }
}

static void note_promises(struct replay *r, const struct forecast_plan *plan)
{
    r->reservation_count = plan->reserved_count;
    for (size_t i = 0; i < plan->reserved_count; i++) {
        struct replay_job *job = &r->jobs[r->claim_jobs[plan->reserved[i].claim]];

        r->reservations[i] = plan->reserved[i];
        if (job->first_promise_s == FORECAST_UNKNOWN)
            job->first_promise_s = plan->reserved[i].promise_s;
    }
}

const struct forecast_plan *replay_plan(struct replay *r, int64_t now_s)
{
    const struct forecast_plan *plan;

    r->now_s = now_s;
    observe(r);
    forecast_free(r->forecast);
    r->forecast = forecast_new(&r->input);
    plan = forecast_plan_of(r->forecast);
    check_plan(&r->input, plan);
    for (size_t i = 0; i < plan->start_count; i++) {
        struct replay_job *job = &r->jobs[r->claim_jobs[plan->starts[i].claim]];

        job->start_s = now_s;
        job->controller = plan->starts[i].controller;
        job->block = plan->starts[i].block;
    }
    note_promises(r, plan);
    return plan;
}

static int64_t next_event(const struct replay *r, int64_t wake_s)
{
    int64_t next_s = FORECAST_UNKNOWN;

    for (size_t i = 0; i < r->job_count; i++) {
        const struct replay_job *job = &r->jobs[i];
        int64_t at_s = job->arrives_s;

        if (job->start_s != FORECAST_UNKNOWN)
            at_s = job->run_s == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : job->start_s + job->run_s;
        if (at_s > r->now_s && at_s < next_s)
            next_s = at_s;
    }
    return wake_s > r->now_s && wake_s < next_s ? wake_s : next_s;
}

void replay_run(struct replay *r)
{
    int64_t next_s = r->now_s;

    for (int steps = 0; next_s != FORECAST_UNKNOWN && steps < 100000; steps++)
        next_s = next_event(r, replay_plan(r, next_s)->next_wake_s);
}

const struct forecast_reservation *replay_reservation(const struct replay *r, const struct replay_job *job)
{
    for (size_t i = 0; i < r->reservation_count; i++)
        if (r->reservations[i].uid == job->claim.uid)
            return &r->reservations[i];
    return NULL;
}

const struct forecast_verdict *replay_verdict(const struct replay *r, const struct replay_job *job)
{
    for (size_t i = 0; i < r->input.claim_count; i++)
        if (r->claims[i].uid == job->claim.uid)
            return &forecast_plan_of(r->forecast)->verdicts[i];
    CHECK_FAIL("this job did not wait");
}
