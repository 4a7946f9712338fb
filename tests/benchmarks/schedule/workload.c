#include "schedule/workload.h"

#include <math.h>

#include "schedule/draw.h"

#define MINUTE_S 60
#define HOUR_S 3600
#define LONGEST_S (60.0 * 24 * 3600)

void workload_release(struct workload *w)
{
    mem_free(w->jobs);
    *w = (struct workload){0};
}

uint32_t partition_size(uint64_t ipus)
{
    uint32_t size = 1;

    if (ipus > DOMAIN_IPUS)
        return (uint32_t)((ipus + DOMAIN_IPUS - 1) / DOMAIN_IPUS * DOMAIN_IPUS);
    while (size < ipus)
        size *= 2;
    return size;
}

double workload_load(const struct workload *w)
{
    double asked = 0;

    for (size_t i = 0; i < w->count; i++)
        asked += (double)w->jobs[i].size * (double)w->jobs[i].run_s;
    return asked / (double)(w->jobs[w->count - 1].submit_s - w->jobs[0].submit_s) / w->domains / DOMAIN_IPUS;
}

void workload_set_load(struct workload *w, double load)
{
    double factor = workload_load(w) / load;

    for (size_t i = 0; i < w->count; i++)
        w->jobs[i].submit_s = (int64_t)((double)w->jobs[i].submit_s * factor);
}

static struct workload workload_new(const struct workload_settings *s)
{
    return (struct workload){
        .jobs = mem_alloc(s->jobs * sizeof(struct job)), .count = s->jobs, .domains = s->domains};
}

/* Deadlines are guesses of people, who leave room. */
static int64_t draw_bound(struct draw *d, const struct workload_settings *s, int64_t run_s)
{
    return draw_below(d, 100) < s->deadline_percent ? (int64_t)((double)run_s * draw_uniform(d, 1.2, 5))
                                                    : NO_BOUND;
}

/* Where nothing tells repetitions apart, a kind is all jobs of a tenant that have one size. */
static uint32_t kind_of(uint32_t tenant, uint32_t size)
{
    return tenant * 32 + (uint32_t)__builtin_ctz(size);
}

static int64_t seconds_of(double value)
{
    return value < 1 ? 1 : (int64_t)(value > LONGEST_S ? LONGEST_S : value);
}

/* ---- the mix ---- */

#define TENANTS 8
#define MEDIAN_S (10.0 * MINUTE_S)
#define SIGMA 2.2
#define KIND_SIGMA 0.7 /* of the runs of one recurring kind */
#define RUNS_OF_KIND 20

struct kind {
    uint32_t size, tenant;
    double median_s;
};

static struct kind draw_kind(struct draw *d, uint32_t largest, double sigma)
{
    static const struct {
        uint32_t size, percent;
    } shares[] = {{1, 10}, {2, 5}, {4, 30}, {8, 15}, {16, 20}, {32, 8}, {64, 8}, {128, 3}, {256, 1}};
    uint32_t left = draw_below(d, 100);
    size_t at = 0;

    while (left >= shares[at].percent)
        left -= shares[at++].percent;
    return (struct kind){.size = shares[at].size < largest ? shares[at].size : largest,
                         .tenant = draw_below(d, TENANTS),
                         .median_s = MEDIAN_S * exp(sigma * draw_normal(d))};
}

static void draw_arrivals(struct workload *w, struct draw *d)
{
    double now_s = 0;

    for (size_t i = 0; i < w->count; i++)
        w->jobs[i].submit_s = (int64_t)(now_s += draw_exponential(d, HOUR_S));
}

struct workload workload_mix(const struct workload_settings *s)
{
    struct workload w = workload_new(s);
    struct draw d = {s->seed};

    for (uint32_t i = 0; i < s->jobs; i++) {
        struct kind kind = draw_kind(&d, s->domains * DOMAIN_IPUS, SIGMA);
        int64_t run_s = seconds_of(kind.median_s);

        w.jobs[i] = (struct job){.run_s = run_s,
                                 .bound_s = draw_bound(&d, s, run_s),
                                 .size = kind.size,
                                 .tenant = kind.tenant,
                                 .kind = kind_of(kind.tenant, kind.size)};
    }
    draw_arrivals(&w, &d);
    workload_set_load(&w, s->load);
    return w;
}

struct workload workload_recurring(const struct workload_settings *s)
{
    struct workload w = workload_new(s);
    struct draw d = {s->seed};
    uint32_t kind_count = s->jobs / RUNS_OF_KIND + 1;
    AUTO(mem) struct kind *kinds = mem_alloc(kind_count * sizeof(*kinds));

    for (uint32_t k = 0; k < kind_count; k++)
        kinds[k] = draw_kind(&d, s->domains * DOMAIN_IPUS, sqrt(SIGMA * SIGMA - KIND_SIGMA * KIND_SIGMA));
    for (uint32_t i = 0; i < s->jobs; i++) {
        uint32_t k = draw_below(&d, kind_count);
        int64_t run_s = seconds_of(kinds[k].median_s * exp(KIND_SIGMA * draw_normal(&d)));

        w.jobs[i] = (struct job){.run_s = run_s,
                                 .bound_s = draw_bound(&d, s, run_s),
                                 .size = kinds[k].size,
                                 .tenant = kinds[k].tenant,
                                 .kind = k};
    }
    draw_arrivals(&w, &d);
    workload_set_load(&w, s->load);
    return w;
}

/* ---- Lublin and Feitelson ---- */

#define BUCKET_S 1800.0
#define BUCKETS 48
#define FITTED_NODES 128 /* of the machine that the run times by size were fitted on */

static const double SERIAL = 0.244, LOW = 0.8, BELOW_HIGH = 2.5, Q = 0.86;
static const double A1 = 4.2, B1 = 0.94, A2 = 312, B2 = 0.03, PA = -0.0054, PB = 0.78, LONGEST_LOG = 12;
static const double A_GAP = 10.2303, B_GAP = 0.4871, A_DAY = 8.1737, B_DAY = 3.9631, RUSH = 1.0225,
                    LONGEST_GAP = 13;

struct day {
    double weight[BUCKETS]; /* how much of the day's work arrives in each half hour; their mean is 1 */
    double points, part, now_s;
    int bucket;
};

static struct day day_new(void)
{
    struct day day = {0};
    double sum = 0;

    for (int i = 11; i < 11 + BUCKETS; i++) {
        double weight = gamma_cdf(i + 0.5, A_DAY, B_DAY) - gamma_cdf(i - 0.5, A_DAY, B_DAY);

        day.weight[(i - 1) % BUCKETS] = weight;
        sum += weight;
    }
    for (int i = 0; i < BUCKETS; i++)
        day.weight[i] *= BUCKETS / sum;
    return day;
}

static double day_next_arrival(struct day *day, struct draw *d)
{
    double gap, part;

    do
        gap = draw_gamma(d, A_GAP * RUSH, B_GAP);
    while (gap > LONGEST_GAP);
    day->points += exp(gap) / BUCKET_S;
    while (day->points > day->weight[day->bucket]) {
        day->points -= day->weight[day->bucket];
        day->bucket = (day->bucket + 1) % BUCKETS;
        day->now_s += BUCKET_S;
    }
    part = day->points / day->weight[day->bucket];
    day->now_s += BUCKET_S * (part - day->part);
    day->part = part;
    return day->now_s;
}

static uint32_t draw_lublin_size(struct draw *d, uint32_t largest)
{
    double high = log2(largest), middle = high - BELOW_HIGH;
    double size = draw_uniform(d, 0, 1) <= SERIAL ? 0
                  : draw_uniform(d, 0, 1) <= Q    ? draw_uniform(d, LOW, middle)
                                                  : draw_uniform(d, middle, high);

    return 1u << (uint32_t)lround(size);
}

static int64_t draw_lublin_run(struct draw *d, uint32_t size, uint32_t largest)
{
    double p = PA * size * FITTED_NODES / largest + PB, log_s;

    do
        log_s = draw_uniform(d, 0, 1) <= p ? draw_gamma(d, A1, B1) : draw_gamma(d, A2, B2);
    while (log_s > LONGEST_LOG);
    return seconds_of(exp(log_s));
}

struct workload workload_lublin(const struct workload_settings *s)
{
    struct workload w = workload_new(s);
    struct draw d = {s->seed};
    struct day day = day_new();
    uint32_t largest = 1u << (31 - __builtin_clz(s->domains * DOMAIN_IPUS));

    for (uint32_t i = 0; i < s->jobs; i++) {
        struct job *job = &w.jobs[i];

        job->size = draw_lublin_size(&d, largest);
        job->run_s = draw_lublin_run(&d, job->size, largest);
        job->bound_s = draw_bound(&d, s, job->run_s);
        job->tenant = draw_below(&d, TENANTS);
        job->kind = kind_of(job->tenant, job->size);
        job->submit_s = (int64_t)day_next_arrival(&day, &d);
    }
    workload_set_load(&w, s->load);
    return w;
}
