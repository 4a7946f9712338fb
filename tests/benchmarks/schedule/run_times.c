#include "schedule/run_times.h"

#include <string.h>

#define RUNS 50u  /* that a kind keeps */
#define ENOUGH 9u /* from which its 10th and 90th percentile exist: ranks of n + 1 equally likely places */
#define FEW_LEFT 3u
#define KINDS 65536u /* kinds that share a place are taken for one */
#define SIZES 1088u

struct recent {
    uint32_t count, oldest;
    uint32_t times[RUNS]; /* as they came */
    uint32_t sorted[RUNS];
};

struct run_times {
    struct recent kinds[KINDS], sizes[SIZES], all;
};

struct run_times *run_times_new(void)
{
    return NEW(struct run_times);
}

void run_times_free(struct run_times *r)
{
    mem_free(r);
}

static uint32_t size_number(uint32_t size)
{
    return size <= DOMAIN_IPUS ? (uint32_t)__builtin_ctz(size) : (6 + size / DOMAIN_IPUS) % SIZES;
}

/* The first of the sorted times that is greater. */
static uint32_t above(const struct recent *r, int64_t time_s)
{
    uint32_t low = 0, high = r->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (r->sorted[middle] > time_s)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void recent_add(struct recent *r, uint32_t time_s)
{
    uint32_t at;

    if (r->count == RUNS) {
        at = above(r, r->times[r->oldest]) - 1;
        memmove(&r->sorted[at], &r->sorted[at + 1], (--r->count - at) * sizeof(*r->sorted));
    }
    at = above(r, time_s);
    memmove(&r->sorted[at + 1], &r->sorted[at], (r->count++ - at) * sizeof(*r->sorted));
    r->sorted[at] = time_s;
    r->times[r->oldest] = time_s;
    r->oldest = (r->oldest + 1) % RUNS;
}

void run_times_add(struct run_times *r, const struct job *job)
{
    uint32_t time_s = (uint32_t)(job->run_s < UINT32_MAX ? job->run_s : UINT32_MAX);

    recent_add(&r->kinds[job->kind % KINDS], time_s);
    recent_add(&r->sizes[size_number(job->size)], time_s);
    recent_add(&r->all, time_s);
}

static uint32_t no_longer(int64_t time_s, int64_t bound_s)
{
    int64_t least = time_s < bound_s ? time_s : bound_s;

    return least < 1 ? 1 : least < UINT32_MAX ? (uint32_t)least : UINT32_MAX;
}

/* The time with that rank, from 1, of those from `first` on; the lowest and highest stand for what is beyond.
 */
static int64_t ranked(const struct recent *r, uint32_t first, uint32_t rank)
{
    uint32_t at = first + (rank > 0 ? rank - 1 : 0);

    return r->sorted[at < r->count ? at : r->count - 1];
}

struct forecast_quantiles run_times_left(const struct run_times *r, const struct job *job, int64_t elapsed_s)
{
    const struct recent *runs = &r->kinds[job->kind % KINDS];
    int64_t bound_s = job->bound_s == NO_BOUND ? INT64_MAX : job->bound_s - elapsed_s;
    int64_t p10 = elapsed_s / 10, p50 = elapsed_s / 2, p90 = 2 * elapsed_s;
    uint32_t first, n;

    if (runs->count < ENOUGH)
        runs = &r->sizes[size_number(job->size)];
    if (runs->count < ENOUGH)
        runs = &r->all;
    if (runs->count < ENOUGH)
        return (struct forecast_quantiles){0};
    first = above(runs, elapsed_s);
    n = runs->count - first;
    /* Who has run longer than the others is expected to run on as long again, because run times have long
     * tails. */
    if (n >= FEW_LEFT) {
        p10 = ranked(runs, first, (n + 1) / 10) - elapsed_s;
        p50 = ranked(runs, first, (n + 1) / 2) - elapsed_s;
        p90 = ranked(runs, first, (9 * (n + 1) + 9) / 10) - elapsed_s;
    }
    return (struct forecast_quantiles){no_longer(p10, bound_s), no_longer(p50, bound_s),
                                       no_longer(p90, bound_s)};
}
