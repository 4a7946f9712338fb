/* The operator's own engine as a policy of the simulation: one controller that honours places. */
#include <string.h>
#include <time.h>

#include "schedule/run_times.h"
#include "schedule/simulation.h"

#define ASKED_IN_ORDER 64u

struct request {
    struct forecast_controller controller;
    struct forecast_running *running;
    struct forecast_claim *claims;
    struct forecast_input input;
};

static void request_release(struct request *r)
{
    mem_free(r->running);
    mem_free(r->claims);
    mem_free((void *)(uintptr_t)r->controller.domains);
}
DEFINE_AUTO(request);

static int64_t sum_or_unknown(int64_t start_s, int64_t span_s)
{
    return span_s == NO_BOUND ? FORECAST_UNKNOWN : start_s + span_s;
}

static struct forecast_running running_of(const struct simulation *s, uint32_t job, bool with_times)
{
    const struct job *j = &s->work->jobs[job];
    int64_t start_s = s->outcome[job].start_s;

    return (struct forecast_running){.uid = job,
                                     .ns = j->tenant,
                                     .block = s->block[job],
                                     .size = j->size,
                                     .start_s = start_s,
                                     .end_s = sum_or_unknown(start_s, j->bound_s),
                                     .left = with_times ? run_times_left(s->run_times, j, s->now_s - start_s)
                                                        : (struct forecast_quantiles){0}};
}

static struct forecast_claim claim_of(const struct simulation *s, uint32_t job, bool with_times)
{
    const struct job *j = &s->work->jobs[job];

    return (struct forecast_claim){.uid = job,
                                   .count = 1,
                                   .eligible = 1,
                                   .ns = j->tenant,
                                   .size = j->size,
                                   .turn_s = j->submit_s,
                                   .arrival = job,
                                   .bound_s = j->bound_s == NO_BOUND ? FORECAST_UNKNOWN : j->bound_s,
                                   .run = with_times ? run_times_left(s->run_times, j, 0)
                                                     : (struct forecast_quantiles){0},
                                   .is_ready = true};
}

/* Of the first that wait. Without times: nobody reads what is known of run times but bounds. */
static struct request request_of(const struct simulation *s, size_t waiting, bool with_times)
{
    struct request r = {.running = mem_alloc((s->running_count + 1) * sizeof(*r.running)),
                        .claims = mem_alloc((waiting + 1) * sizeof(*r.claims))};
    uint64_t *domains = mem_alloc(s->work->domains * sizeof(*domains));

    for (uint32_t d = 0; d < s->work->domains; d++)
        domains[d] = UINT64_MAX;
    r.controller = (struct forecast_controller){.is_usable = true,
                                                .is_placed = true,
                                                .policy = s->policy == STRICT    ? FORECAST_STRICT
                                                          : s->policy == BOUNDED ? FORECAST_BOUNDED
                                                                                 : FORECAST_PREDICTED,
                                                .ipus_per_domain = DOMAIN_IPUS,
                                                .domains = domains,
                                                .domain_count = s->work->domains,
                                                .total_ipus = s->work->domains * DOMAIN_IPUS};
    for (size_t i = 0; i < s->running_count; i++)
        r.running[i] = running_of(s, s->running[i], with_times);
    for (size_t i = 0; i < waiting; i++)
        r.claims[i] = claim_of(s, s->waiting[i], with_times);
    r.input = (struct forecast_input){.now_s = s->now_s,
                                      .controller_count = 1,
                                      .running = r.running,
                                      .running_count = s->running_count,
                                      .claims = r.claims,
                                      .claim_count = waiting,
                                      .reservations = s->reserved,
                                      .reservation_count = s->reserved_count,
                                      .settings = s->settings};
    return r;
}

static double clock_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void keep_reservations(struct simulation *s, const struct forecast_plan *plan)
{
    s->reserved = mem_grow(s->reserved, plan->reserved_count + 1, sizeof(*s->reserved));
    s->reserved_count = plan->reserved_count;
    for (size_t i = 0; i < plan->reserved_count; i++) {
        struct outcome *o = &s->outcome[plan->reserved[i].uid];

        s->reserved[i] = plan->reserved[i];
        if (o->promise_s == NEVER && plan->reserved[i].start_s != FORECAST_UNKNOWN) {
            o->promise_s = plan->reserved[i].start_s;
            o->promised_s = s->now_s;
        }
    }
}

/* Decides about the first that wait; true if all of them start. */
static bool decide(struct simulation *s, size_t waiting)
{
    AUTO(request) struct request r = request_of(s, waiting, s->policy == PREDICTED);
    bool have_started;
    double begin_us = clock_us();
    struct forecast *forecast;
    const struct forecast_plan *plan;
    size_t kept = 0;

    r.input.controllers = &r.controller;
    forecast = forecast_new(&r.input);
    plan = forecast_plan_of(forecast);
    if (!s->is_what_if)
        samples_add(&s->decision_us, clock_us() - begin_us);
    for (size_t i = 0; i < plan->start_count; i++)
        simulation_start(s, s->waiting[plan->starts[i].claim], plan->starts[i].block);
    for (size_t i = 0; i < waiting; i++)
        if (s->outcome[s->waiting[i]].start_s == NEVER)
            s->waiting[kept++] = s->waiting[i];
    if (kept < waiting) {
        memmove(&s->waiting[kept], &s->waiting[waiting], (s->waiting_count - waiting) * sizeof(*s->waiting));
        s->waiting_count -= waiting - kept;
    }
    keep_reservations(s, plan);
    s->wake_s = plan->next_wake_s;
    have_started = plan->start_count == waiting;
    forecast_free(forecast);
    return have_started;
}

/* In strict order nobody passes, so only the first matter; the line can be long. */
void engine_decide(struct simulation *s)
{
    size_t asked;

    do
        asked = s->policy == STRICT && s->waiting_count > ASKED_IN_ORDER ? ASKED_IN_ORDER : s->waiting_count;
    while (decide(s, asked) && s->waiting_count > 0);
}

/* ---- what those who wait are told ---- */

#define SLICE_US 1000

enum spans { AS_KNOWN, ALL_SHORT, ALL_LONG };

static struct forecast_quantiles narrowed(struct forecast_quantiles q, enum spans spans)
{
    uint32_t all = spans == ALL_SHORT ? q.p10 : q.p90;

    return spans == AS_KNOWN ? q : (struct forecast_quantiles){all, all, all};
}

/* The expected start of one that waits, if all run times are such. */
static struct forecast_verdict verdict_of(struct simulation *s, uint32_t job, enum spans spans)
{
    AUTO(request) struct request r = request_of(s, s->waiting_count, true);
    struct forecast_verdict verdict = {
        .p10_s = FORECAST_UNKNOWN, .p50_s = FORECAST_UNKNOWN, .p90_s = FORECAST_UNKNOWN};
    double begin_us = clock_us();
    struct forecast *forecast;

    r.input.controllers = &r.controller;
    for (size_t i = 0; i < s->running_count; i++)
        r.running[i].left = narrowed(r.running[i].left, spans);
    for (size_t i = 0; i < s->waiting_count; i++)
        r.claims[i].run = narrowed(r.claims[i].run, spans);
    forecast = forecast_new(&r.input);
    while (!forecast_step(forecast, SLICE_US))
        continue;
    if (spans == AS_KNOWN)
        samples_add(&s->forecast_us, clock_us() - begin_us);
    for (size_t i = 0; i < s->waiting_count; i++)
        if (s->waiting[i] == job)
            verdict = forecast_plan_of(forecast)->verdicts[i];
    forecast_free(forecast);
    return verdict;
}

void engine_tell(struct simulation *s, uint32_t job)
{
    struct forecast_verdict told = verdict_of(s, job, AS_KNOWN), sooner, later;
    struct outcome *o = &s->outcome[job];

    if (told.p90_s == FORECAST_UNKNOWN)
        return; /* it is told that nobody knows */
    sooner = verdict_of(s, job, ALL_SHORT);
    later = verdict_of(s, job, ALL_LONG);
    o->is_told = true;
    o->told = told;
    o->plain = (struct band){sooner.p50_s, later.p50_s};
}
