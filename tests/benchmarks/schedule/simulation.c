#include "schedule/run_times.h"
#include "schedule/simulation.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WARM_UP_PERCENT 10
#define PROGRESS_S 10
/* As in a look of the operator: those behind are told no start. */
#define TOLD_WAITING_MAX 1000
#define ASKED_PER_FAIR                                                                                       \
    5 /* a fair start takes a simulation of its own: it is asked for one in so many of the others */

static void *copy_of(const void *from, size_t count, size_t size)
{
    void *copy = mem_alloc(count * size);

    memcpy(copy, from, count * size);
    return copy;
}

void simulation_init(struct simulation *s, const struct workload *work, enum policy policy,
                     uint32_t sample_every)
{
    *s = (struct simulation){.work = work,
                             .policy = policy,
                             .sample_every = sample_every,
                             .arrivals = work->count,
                             .wake_s = NEVER,
                             .settings = FORECAST_SETTINGS_DEFAULT,
                             .waiting = mem_alloc(work->count * sizeof(*s->waiting)),
                             .running = mem_alloc(work->count * sizeof(*s->running)),
                             .outcome = mem_alloc(work->count * sizeof(*s->outcome)),
                             .block = mem_alloc(work->count * sizeof(*s->block)),
                             .free = mem_alloc(work->domains * sizeof(*s->free)),
                             .free_ipus = work->domains * DOMAIN_IPUS,
                             .measured_from_s = work->jobs[work->count * WARM_UP_PERCENT / 100].submit_s,
                             .measured_until_s = work->jobs[work->count - 1].submit_s};
    s->smallest = UINT32_MAX;
    for (size_t i = 0; i < work->count; i++)
        s->smallest = work->jobs[i].size < s->smallest ? work->jobs[i].size : s->smallest;
    memset(s->free, 0xff, work->domains * sizeof(*s->free));
    for (size_t i = 0; i < work->count; i++)
        s->outcome[i] = (struct outcome){.start_s = NEVER, .promise_s = NEVER, .fair_s = NEVER};
}

void simulation_release(struct simulation *s)
{
    mem_free(s->waiting);
    mem_free(s->running);
    mem_free(s->outcome);
    mem_free(s->block);
    mem_free(s->free);
    mem_free(s->reserved);
    samples_release(&s->decision_us);
    samples_release(&s->forecast_us);
}

int64_t job_end_s(const struct simulation *s, uint32_t job)
{
    return s->outcome[job].start_s + s->work->jobs[job].run_s;
}

/* ---- blocks ---- */

static bool domain_has_block(uint64_t free, uint32_t size)
{
    uint64_t block = size == DOMAIN_IPUS ? UINT64_MAX : (UINT64_C(1) << size) - 1;

    for (uint32_t at = 0; at < DOMAIN_IPUS; at += size)
        if ((free >> at & block) == block)
            return true;
    return false;
}

static bool has_block(const uint64_t *free, uint32_t domains, uint32_t size)
{
    uint32_t whole = 0;

    for (uint32_t d = 0; d < domains; d++) {
        if (size <= DOMAIN_IPUS && domain_has_block(free[d], size))
            return true;
        whole = free[d] == UINT64_MAX ? whole + 1 : 0;
        if (size > DOMAIN_IPUS && whole == size / DOMAIN_IPUS)
            return true;
    }
    return false;
}

/* A mistake of the policy: nothing that was measured counts. */
static void require(bool is_true, const struct simulation *s, uint32_t job, const char *what)
{
    if (is_true)
        return;
    (void)fprintf(stderr, "schedule-load: job %u of %u IPUs at %lld s: %s\n", job, s->work->jobs[job].size,
                  (long long)s->now_s, what);
    abort();
}

static void take_block(struct simulation *s, uint32_t job, struct forecast_block block)
{
    uint32_t size = s->work->jobs[job].size;
    uint32_t part = size < DOMAIN_IPUS ? size : DOMAIN_IPUS;
    uint64_t ipus = part == DOMAIN_IPUS ? UINT64_MAX : (UINT64_C(1) << part) - 1;

    require(block.domain + block.domain_count <= s->work->domains &&
                block.domain_count == (size + DOMAIN_IPUS - 1) / DOMAIN_IPUS,
            s, job, "its block has another number of domains");
    require(block.ipus == ipus << (uint32_t)__builtin_ctzll(block.ipus) &&
                (uint32_t)__builtin_ctzll(block.ipus) % part == 0,
            s, job, "its block has another size, or is not aligned");
    for (uint32_t d = block.domain; d < block.domain + block.domain_count; d++) {
        require((s->free[d] & block.ipus) == block.ipus, s, job, "its block is not free");
        s->free[d] &= ~block.ipus;
    }
}

static void give_block(struct simulation *s, uint32_t job)
{
    struct forecast_block block = s->block[job];

    for (uint32_t d = block.domain; d < block.domain + block.domain_count; d++)
        s->free[d] |= block.ipus;
    s->free_ipus += s->work->jobs[job].size;
}

/* ---- events ---- */

void simulation_start(struct simulation *s, uint32_t job, struct forecast_block block)
{
    size_t low = 0, high = s->running_count;

    require(s->work->jobs[job].size <= s->free_ipus, s, job, "it has no IPUs");
    if (block.domain_count)
        take_block(s, job, block);
    s->free_ipus -= s->work->jobs[job].size;
    s->waiting_ipus -= s->work->jobs[job].size;
    s->block[job] = block;
    s->outcome[job].start_s = s->now_s;
    if (s->outcome[job].is_told && !s->is_what_if)
        forecast_calibrate(&s->settings, &s->outcome[job].told, s->now_s);
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (job_end_s(s, s->running[middle]) > job_end_s(s, job))
            high = middle;
        else
            low = middle + 1;
    }
    memmove(&s->running[low + 1], &s->running[low], (s->running_count++ - low) * sizeof(*s->running));
    s->running[low] = job;
}

static void end_jobs(struct simulation *s)
{
    size_t ended = 0;

    while (ended < s->running_count && job_end_s(s, s->running[ended]) <= s->now_s) {
        give_block(s, s->running[ended]);
        if (!s->is_what_if)
            run_times_add(s->run_times, &s->work->jobs[s->running[ended]]);
        ended++;
    }
    s->running_count -= ended;
    memmove(s->running, s->running + ended, s->running_count * sizeof(*s->running));
}

static void receive_jobs(struct simulation *s)
{
    for (; s->arriving < s->arrivals && s->work->jobs[s->arriving].submit_s <= s->now_s; s->arriving++) {
        s->waiting[s->waiting_count++] = (uint32_t)s->arriving;
        s->waiting_ipus += s->work->jobs[s->arriving].size;
    }
}

static int64_t next_event_s(const struct simulation *s)
{
    int64_t next = s->waiting_count ? s->wake_s : NEVER;

    if (s->arriving < s->arrivals && s->work->jobs[s->arriving].submit_s < next)
        next = s->work->jobs[s->arriving].submit_s;
    if (s->running_count && job_end_s(s, s->running[0]) < next)
        next = job_end_s(s, s->running[0]);
    return next;
}

/* ---- measuring ---- */

static uint32_t smallest_waiting(const struct simulation *s)
{
    uint32_t smallest = UINT32_MAX;

    for (size_t i = 0; i < s->waiting_count && smallest > s->smallest; i++)
        if (s->work->jobs[s->waiting[i]].size < smallest)
            smallest = s->work->jobs[s->waiting[i]].size;
    return smallest;
}

static int loss_cause(const struct simulation *s, uint32_t size)
{
    AUTO(mem) uint64_t *outside = NULL;

    if (s->policy == EASY) /* it knows no blocks, and nobody waits but for the head's sake */
        return s->free_ipus < size ? LOSS_FRAGMENTED : LOSS_RESERVED;
    if (!has_block(s->free, s->work->domains, size))
        return LOSS_FRAGMENTED;
    if (s->policy == STRICT)
        return LOSS_POLICY;
    outside = copy_of(s->free, s->work->domains, sizeof(*s->free));
    for (size_t i = 0; i < s->reserved_count; i++)
        for (uint32_t d = 0; d < s->reserved[i].block.domain_count; d++)
            outside[s->reserved[i].block.domain + d] &= ~s->reserved[i].block.ipus;
    return has_block(outside, s->work->domains, size) ? LOSS_POLICY : LOSS_RESERVED;
}

static void measure_until(struct simulation *s, int64_t until_s)
{
    int64_t from_s = s->now_s > s->measured_from_s ? s->now_s : s->measured_from_s;
    double seconds, third = (double)(s->measured_until_s - s->measured_from_s) / THIRDS;
    size_t part;

    if (until_s > s->measured_until_s)
        until_s = s->measured_until_s;
    if (s->is_what_if || until_s <= from_s)
        return;
    seconds = (double)(until_s - from_s);
    part = (size_t)((double)(from_s - s->measured_from_s) / third);
    s->busy += seconds * (s->work->domains * DOMAIN_IPUS - s->free_ipus);
    s->queued[part < THIRDS ? part : THIRDS - 1] += seconds * (double)s->waiting_ipus;
    if (s->free_ipus && s->waiting_count)
        s->lost[loss_cause(s, smallest_waiting(s))] +=
            seconds * (s->free_ipus < s->waiting_ipus ? s->free_ipus : (double)s->waiting_ipus);
}

static bool blocks_overlap(struct forecast_block a, struct forecast_block b)
{
    return a.domain < b.domain + b.domain_count && b.domain < a.domain + a.domain_count && (a.ipus & b.ipus);
}

/* Who holds the block of a job that should start before the next event, and passed the job after it was
 * promised? */
static void note_late_starts(struct simulation *s, int64_t next_s)
{
    for (size_t i = 0; i < s->reserved_count; i++) {
        uint32_t job = (uint32_t)s->reserved[i].uid;
        struct outcome *o = &s->outcome[job];

        for (size_t r = 0; o->start_s == NEVER && o->promise_s < next_s && r < s->running_count; r++)
            o->is_late_by_passer |= s->running[r] > job &&
                                    s->outcome[s->running[r]].start_s >= o->promised_s &&
                                    blocks_overlap(s->block[s->running[r]], s->reserved[i].block);
    }
}

/* ---- time ---- */

static void simulation_run_until_started(struct simulation *s, uint32_t job);

/* The start that it would have if nobody came after it. In strict order that is the one that it has. */
static int64_t fair_start_s(const struct simulation *s, uint32_t job)
{
    struct simulation alone = *s;

    alone.is_what_if = true;
    alone.arrivals = s->arriving;
    alone.waiting = copy_of(s->waiting, s->waiting_count, sizeof(*s->waiting));
    alone.running = copy_of(s->running, s->running_count + s->waiting_count, sizeof(*s->running));
    alone.outcome = copy_of(s->outcome, s->arriving, sizeof(*s->outcome));
    alone.block = copy_of(s->block, s->arriving, sizeof(*s->block));
    alone.free = copy_of(s->free, s->work->domains, sizeof(*s->free));
    alone.reserved = copy_of(s->reserved, s->reserved_count, sizeof(*s->reserved));
    alone.decision_us = alone.forecast_us = (struct samples){0};
    simulation_run_until_started(&alone, job);
    alone.now_s = alone.outcome[job].start_s;
    simulation_release(&alone);
    return alone.now_s;
}

static void ask(struct simulation *s, uint32_t job)
{
    if (s->outcome[job].start_s != NEVER || job % s->sample_every || s->policy == EASY ||
        s->work->jobs[job].submit_s < s->measured_from_s || s->waiting_count > TOLD_WAITING_MAX)
        return;
    engine_tell(s, job);
    if (s->policy != STRICT && job % (s->sample_every * ASKED_PER_FAIR) == 0)
        s->outcome[job].fair_s = fair_start_s(s, job);
}

static void simulation_advance(struct simulation *s)
{
    int64_t next_s = next_event_s(s);
    size_t arrived = s->arriving;

    require(next_s > s->now_s || !s->now_s, s, s->waiting[0], "nothing happens any more, but it waits");
    measure_until(s, next_s);
    note_late_starts(s, next_s);
    s->now_s = next_s;
    end_jobs(s);
    receive_jobs(s);
    if (s->policy == EASY)
        easy_decide(s);
    else
        engine_decide(s);
    if (s->is_what_if)
        return;
    for (; arrived < s->arriving; arrived++)
        ask(s, (uint32_t)arrived);
}

static void simulation_run_until_started(struct simulation *s, uint32_t job)
{
    while (s->outcome[job].start_s == NEVER)
        simulation_advance(s);
}

void simulation_run(struct simulation *s)
{
    time_t told = time(NULL);

    while (s->arriving < s->arrivals || s->waiting_count) {
        simulation_advance(s);
        if (time(NULL) - told < PROGRESS_S)
            continue;
        told = time(NULL);
        (void)fprintf(stderr, "schedule-load: %zu of %zu jobs have arrived, %zu wait\n", s->arriving,
                      s->arrivals, s->waiting_count);
    }
}
