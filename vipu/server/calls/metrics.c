#include "vipu/server/calls/metrics.h"

#include <assert.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"

struct view {
    const struct metrics *metrics;
    const struct controller *controller;
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

    m->calls[status >= 0 && status < (int)METRICS_STATUSES ? status : GRPC_UNKNOWN]++;
    openmetrics_observe(&m->durations, duration_us);
}

static void put_build(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    (void)ctx;
    str_addf(out, "%s_info{version=\"%s\"} 1\n", family->name, IPU_OPERATOR_VERSION);
}

static void put_partitions(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    static const enum vipu_ready_state states[] = {VIPU_READY_PENDING, VIPU_READY_ACTIVE, VIPU_READY_ERROR,
                                                   VIPU_READY_REMOVED};

    for (size_t s = 0; s < COUNT_OF(states); s++) {
        size_t count = 0;

        CONTROLLER_EACH (entry, v->controller)
            count += entry->partition.ready_state == states[s];
        str_addf(out, "%s{state=\"%s\"} %zu\n", family->name, vipu_ready_state_name(states[s]), count);
    }
}

static void put_ipus(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    for (size_t c = 0; c < v->controller->clusters->count; c++) {
        const struct vipu_cluster *cluster = &v->controller->clusters->items[c];
        struct vipu_usage usage =
            vipu_allocator_usage(&v->controller->allocator, cluster, &cluster->allocations[0]);

        str_addf(out, "%s{cluster=\"%s\",state=\"free\"} %u\n", family->name, cluster->id, usage.free);
        str_addf(out, "%s{cluster=\"%s\",state=\"partitioned\"} %u\n", family->name, cluster->id,
                 usage.taken);
        str_addf(out, "%s{cluster=\"%s\",state=\"failed\"} %u\n", family->name, cluster->id, usage.failed);
    }
}

static uint32_t largest_of(const struct view *v, const struct vipu_cluster *cluster)
{
    struct vipu_requirements r = {.cluster_id = cluster->id, .size = VIPU_ILD_IPUS, .num_ilds = 1};

    while (r.size > 0 && vipu_allocator_count(&v->controller->allocator, &r) == 0)
        r.size /= 2;
    return r.size;
}

static void put_largest(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    for (size_t c = 0; c < v->controller->clusters->count; c++) {
        const struct vipu_cluster *cluster = &v->controller->clusters->items[c];

        str_addf(out, "%s{cluster=\"%s\"} %u\n", family->name, cluster->id, largest_of(v, cluster));
    }
}

static void put_calls(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    for (size_t m = 0; m < v->metrics->method_count; m++) {
        const struct metrics_method *method = &v->metrics->methods[m];

        for (int s = 0; s < (int)METRICS_STATUSES; s++)
            if (method->calls[s] || s == GRPC_OK)
                str_addf(out, "%s_total{method=\"%s\",status=\"%s\"} %llu\n", family->name, method->name,
                         grpc_status_name(s), (unsigned long long)method->calls[s]);
    }
}

static void put_durations(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;

    for (size_t m = 0; m < v->metrics->method_count; m++) {
        AUTO(mem) char *labels = mem_printf("method=\"%s\"", v->metrics->methods[m].name);

        openmetrics_put_histogram(family->name, labels, &v->metrics->methods[m].durations, out);
    }
}

static void put_commits(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    str_addf(out, "%s_total %llu\n", family->name, (unsigned long long)v->metrics->storage_commits);
}

static void put_failures(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    str_addf(out, "%s_total %llu\n", family->name, (unsigned long long)v->metrics->storage_failures);
}

static void put_reloads(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;
    str_addf(out, "%s_total{result=\"taken\"} %llu\n", family->name, (unsigned long long)v->metrics->reloads);
    str_addf(out, "%s_total{result=\"rejected\"} %llu\n", family->name,
             (unsigned long long)v->metrics->rejected_reloads);
}

static void put_logins(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    static const char *const causes[LOGIN_FAILURES] = {
        [LOGIN_MISSING] = "missing", [LOGIN_WRONG] = "wrong", [LOGIN_PAUSED] = "paused"};
    const struct view *v = ctx;

    for (size_t i = 0; i < LOGIN_FAILURES; i++)
        str_addf(out, "%s_total{cause=\"%s\"} %llu\n", family->name, causes[i],
                 (unsigned long long)v->metrics->failed_logins[i]);
}

static void put_expiry(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct view *v = ctx;

    if (v->metrics->certificate_expiry_s)
        str_addf(out, "%s %lld\n", family->name, (long long)v->metrics->certificate_expiry_s);
}

static const struct openmetrics_family families[] = {
    OPENMETRICS_FAMILY("vipu_build", "info", "Version of vipu-server", put_build),
    OPENMETRICS_FAMILY("vipu_partitions", "gauge", "Partitions by ready state", put_partitions),
    OPENMETRICS_FAMILY("vipu_ipus", "gauge", "IPUs of a cluster by state", put_ipus),
    OPENMETRICS_FAMILY("vipu_largest_free_block_ipus", "gauge",
                       "Size of the largest partition that fits into one IPU-Link domain", put_largest),
    OPENMETRICS_FAMILY("vipu_calls", "counter", "Calls by method and gRPC status", put_calls),
    OPENMETRICS_FAMILY("vipu_call_duration_seconds", "histogram", "Duration of calls", put_durations),
    OPENMETRICS_FAMILY("vipu_storage_commits", "counter", "Transactions written to the storage", put_commits),
    OPENMETRICS_FAMILY("vipu_storage_failures", "counter",
                       "Transactions that could not be written to the storage", put_failures),
    OPENMETRICS_FAMILY("vipu_failed_logins", "counter", "Calls rejected in secure mode, by cause",
                       put_logins),
    OPENMETRICS_FAMILY("vipu_certificate_expiry_timestamp_seconds", "gauge",
                       "Time when the TLS certificate expires, in Unix seconds; absent without TLS",
                       put_expiry),
    OPENMETRICS_FAMILY("vipu_config_reloads", "counter", "Configuration reloads by result", put_reloads),
};

void metrics_put(const struct metrics *metrics, const struct controller *controller, struct str *out)
{
    const struct view view = {metrics, controller};

    openmetrics_put(families, COUNT_OF(families), &view, out);
}
