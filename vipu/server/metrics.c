#include "vipu/server/metrics.h"

#include <assert.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc.h"

/* Upper ends of the histogram's buckets but the last one. */
static const uint64_t bucket_us[METRICS_BUCKETS - 1] = {100,   250,    500,    1000,    2500,
                                                        10000, 100000, 500000, 1000000, 10000000};

struct view {
    const struct metrics *metrics;
    const struct controller *controller;
    struct str *out;
};

size_t metrics_add_method(struct metrics *metrics, const char *name)
{
    assert(metrics->method_count < METRICS_METHODS);
    metrics->methods[metrics->method_count].name = name;
    return metrics->method_count++;
}

void metrics_count_call(struct metrics *metrics, size_t method, int status, uint64_t duration_us)
{
    struct metrics_method *m = &metrics->methods[method];
    size_t bucket = 0;

    m->calls[status >= 0 && status < (int)METRICS_STATUSES ? status : GRPC_UNKNOWN]++;
    while (bucket < METRICS_BUCKETS - 1 && duration_us > bucket_us[bucket])
        bucket++;
    m->buckets[bucket]++;
    m->sum_us += duration_us;
}

static void put_build(const struct view *v, const char *name)
{
    str_addf(v->out, "%s_info{version=\"%s\"} 1\n", name, IPU_OPERATOR_VERSION);
}

static void put_partitions(const struct view *v, const char *name)
{
    static const enum vipu_ready_state states[] = {VIPU_READY_PENDING, VIPU_READY_ACTIVE, VIPU_READY_ERROR,
                                                   VIPU_READY_REMOVED};

    for (size_t s = 0; s < COUNT_OF(states); s++) {
        size_t count = 0;

        for (size_t i = 0; i < v->controller->count; i++)
            count += v->controller->list[i]->partition.ready_state == states[s];
        str_addf(v->out, "%s{state=\"%s\"} %zu\n", name, vipu_ready_state_name(states[s]), count);
    }
}

static struct vipu_room room_of(const struct view *v, const struct vipu_cluster *cluster)
{
    return vipu_allocator_room(&v->controller->allocator, cluster, &cluster->allocations[0]);
}

static void put_ipus(const struct view *v, const char *name)
{
    for (size_t c = 0; c < v->controller->clusters->count; c++) {
        const struct vipu_cluster *cluster = &v->controller->clusters->items[c];
        struct vipu_room room = room_of(v, cluster);

        str_addf(v->out, "%s{cluster=\"%s\",state=\"free\"} %u\n", name, cluster->id, room.free);
        str_addf(v->out, "%s{cluster=\"%s\",state=\"partitioned\"} %u\n", name, cluster->id, room.taken);
        str_addf(v->out, "%s{cluster=\"%s\",state=\"failed\"} %u\n", name, cluster->id, room.failed);
    }
}

static uint32_t largest_of(const struct view *v, const struct vipu_cluster *cluster)
{
    struct vipu_requirements r = {.cluster_id = cluster->id, .size = VIPU_ILD_IPUS, .num_ilds = 1};

    while (r.size > 0 && vipu_allocator_count(&v->controller->allocator, &r) == 0)
        r.size /= 2;
    return r.size;
}

static void put_largest(const struct view *v, const char *name)
{
    for (size_t c = 0; c < v->controller->clusters->count; c++) {
        const struct vipu_cluster *cluster = &v->controller->clusters->items[c];

        str_addf(v->out, "%s{cluster=\"%s\"} %u\n", name, cluster->id, largest_of(v, cluster));
    }
}

static void put_calls(const struct view *v, const char *name)
{
    for (size_t m = 0; m < v->metrics->method_count; m++) {
        const struct metrics_method *method = &v->metrics->methods[m];

        for (int s = 0; s < (int)METRICS_STATUSES; s++)
            if (method->calls[s] || s == GRPC_OK)
                str_addf(v->out, "%s_total{method=\"%s\",status=\"%s\"} %llu\n", name, method->name,
                         grpc_status_name(s), (unsigned long long)method->calls[s]);
    }
}

static void put_durations(const struct view *v, const char *name)
{
    for (size_t m = 0; m < v->metrics->method_count; m++) {
        const struct metrics_method *method = &v->metrics->methods[m];
        unsigned long long sum = 0;

        for (size_t b = 0; b < METRICS_BUCKETS; b++) {
            str_addf(v->out, "%s_bucket{method=\"%s\",le=\"", name, method->name);
            if (b < METRICS_BUCKETS - 1)
                str_addf(v->out, "%g", (double)bucket_us[b] / 1e6);
            else
                str_adds(v->out, "+Inf");
            sum += method->buckets[b];
            str_addf(v->out, "\"} %llu\n", sum);
        }
        str_addf(v->out, "%s_sum{method=\"%s\"} %.6f\n", name, method->name, (double)method->sum_us / 1e6);
        str_addf(v->out, "%s_count{method=\"%s\"} %llu\n", name, method->name, sum);
    }
}

static void put_commits(const struct view *v, const char *name)
{
    str_addf(v->out, "%s_total %llu\n", name, (unsigned long long)v->metrics->storage_commits);
}

static void put_reloads(const struct view *v, const char *name)
{
    str_addf(v->out, "%s_total{result=\"taken\"} %llu\n", name, (unsigned long long)v->metrics->reloads);
    str_addf(v->out, "%s_total{result=\"refused\"} %llu\n", name,
             (unsigned long long)v->metrics->refused_reloads);
}

static const struct family {
    const char *name;
    const char *type;
    const char *help;
    void (*put)(const struct view *v, const char *name);
} families[] = {
    {"vipu_build", "info", "The version of vipu-server", put_build},
    {"vipu_partitions", "gauge", "Partitions by ready state", put_partitions},
    {"vipu_ipus", "gauge", "IPUs of a cluster, free, in a partition, or failed", put_ipus},
    {"vipu_largest_free_block_ipus", "gauge",
     "IPUs of the largest partition that fits into one IPU-Link domain of a cluster", put_largest},
    {"vipu_calls", "counter", "Calls answered, by method and gRPC status", put_calls},
    {"vipu_call_duration_seconds", "histogram", "From a whole request to its answer", put_durations},
    {"vipu_storage_commits", "counter", "Transactions written to the storage", put_commits},
    {"vipu_config_reloads", "counter", "Configurations read again on SIGHUP", put_reloads},
};

void metrics_put(const struct metrics *metrics, const struct controller *controller, struct str *out)
{
    const struct view view = {metrics, controller, out};

    for (size_t i = 0; i < COUNT_OF(families); i++) {
        const struct family *family = &families[i];

        str_addf(out, "# TYPE %s %s\n# HELP %s %s.\n", family->name, family->type, family->name,
                 family->help);
        family->put(&view, family->name);
    }
    str_adds(out, "# EOF\n");
}
