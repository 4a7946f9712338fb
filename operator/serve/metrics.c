#include "operator/serve/metrics.h"

#include "base/core/mem.h"
#include "base/doc/openmetrics.h"

static void put_build(const void *ctx, const char *name, struct str *out)
{
    (void)ctx;
    str_addf(out, "%s_info{version=\"%s\"} 1\n", name, IPU_OPERATOR_VERSION);
}

static void put_leader(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    str_addf(out, "%s %d\n", name, v->is_leader);
}

/* ---- of the leader ---- */

static void put_jobs(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->survey && i < SURVEY_STATES; i++)
        str_addf(out, "%s{state=\"%s\"} %u\n", name, job_state_name((enum job_state)i), v->survey->jobs[i]);
}

/* One of the survey's plain numbers, by its place in struct survey. */
static void put_number(const void *ctx, const char *name, size_t offset, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->survey)
        str_addf(out, "%s %u\n", name, *(const uint32_t *)((const char *)v->survey + offset));
}

static void put_vendors(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct survey, vendors), out);
}

static void put_waiting(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct survey, waiting), out);
}

static void put_pods(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct survey, pods), out);
}

static void put_records(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct survey, records), out);
}

static void put_depth(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct survey, due), out);
}

static void put_in_work(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct survey, in_work), out);
}

static void put_reconciles(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;
    const struct reconciler_counters *c = v->counters;

    if (!c)
        return;
    str_addf(out, "%s_total{result=\"acted\"} %llu\n", name, (unsigned long long)(c->reconciles - c->empty));
    str_addf(out, "%s_total{result=\"settled\"} %llu\n", name, (unsigned long long)c->empty);
}

static void put_retries(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->counters)
        str_addf(out, "%s_total %llu\n", name, (unsigned long long)v->counters->failures);
}

/* ---- V-IPU controllers ---- */

static void put_controller(const struct metrics_view *v, const char *name,
                           void (*put)(const struct survey_controller *c, const char *head, struct str *out),
                           struct str *out)
{
    for (size_t i = 0; v->survey && i < v->survey->controller_count; i++) {
        AUTO(str) struct str head = {0};

        str_addf(&head, "%s{controller=", name);
        openmetrics_quote(v->survey->controllers[i].name, &head);
        put(&v->survey->controllers[i], str_text(&head), out);
    }
}

static void print_up(const struct survey_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s} %d\n", head, c->is_up);
}

static void put_up(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_up, out);
}

static void print_ipus(const struct survey_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s,state=\"held\"} %u\n", head, c->held);
    str_addf(out, "%s,state=\"foreign\"} %u\n", head, c->foreign);
    if (c->total)
        str_addf(out, "%s,state=\"free\"} %u\n", head, c->free);
}

static void put_ipus(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_ipus, out);
}

static void print_largest(const struct survey_controller *c, const char *head, struct str *out)
{
    if (c->total)
        str_addf(out, "%s} %u\n", head, c->largest_free);
}

static void put_largest(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_largest, out);
}

static void print_fragmentation(const struct survey_controller *c, const char *head, struct str *out)
{
    double whole = c->free ? (double)c->largest_free / (double)c->free : 1;

    if (c->total)
        str_addf(out, "%s} %.4f\n", head, whole < 1 ? 1 - whole : 0);
}

static void put_fragmentation(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_fragmentation, out);
}

static void print_foreign(const struct survey_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s} %u\n", head, c->foreign_partitions);
}

static void put_foreign(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_foreign, out);
}

/* ---- the API server ---- */

static void put_requests(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; i < v->request_count; i++) {
        const struct kube_counter *c = &v->requests[i];

        str_addf(out, "%s_total{method=\"%s\",resource=\"%s\"} %llu\n", name, c->method, c->resource,
                 (unsigned long long)c->sent);
    }
}

static void put_failures(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; i < v->request_count; i++) {
        const struct kube_counter *c = &v->requests[i];

        str_addf(out, "%s_total{method=\"%s\",resource=\"%s\"} %llu\n", name, c->method, c->resource,
                 (unsigned long long)c->failed);
    }
}

static const struct openmetrics_family families[] = {
    {"ipu_operator_build", "info", "The version of the operator", put_build},
    {"ipu_operator_leader", "gauge", "1 if this process leads; the others tell of no jobs", put_leader},
    {"ipu_operator_jobs", "gauge", "IPUJobs by STATUS", put_jobs},
    {"ipu_operator_unadopted_jobs", "gauge", "IPUJobs of the vendor's operator, which are left alone",
     put_vendors},
    {"ipu_operator_waiting_instances", "gauge", "Instances in line for IPUs", put_waiting},
    {"ipu_operator_pods", "gauge", "Pods of IPUJobs", put_pods},
    {"ipu_operator_partition_records", "gauge", "Partitions that the operator made, or is giving back",
     put_records},
    {"ipu_operator_controller_up", "gauge", "1 if the V-IPU controller answers", put_up},
    {"ipu_operator_ipus", "gauge", "IPUs of a V-IPU controller: free, held by jobs, or in foreign partitions",
     put_ipus},
    {"ipu_operator_largest_free_block_ipus", "gauge", "IPUs of the largest partition that fits now",
     put_largest},
    {"ipu_operator_fragmentation_ratio", "gauge",
     "The part of the free IPUs of a V-IPU controller that is not in its largest free block",
     put_fragmentation},
    {"ipu_operator_foreign_partitions", "gauge",
     "Partitions of a V-IPU controller that are not the operator's", put_foreign},
    {"ipu_operator_workqueue_depth", "gauge", "Jobs that are due to be looked at", put_depth},
    {"ipu_operator_active_reconciles", "gauge", "Jobs with requests in flight", put_in_work},
    {"ipu_operator_reconciles", "counter", "Decisions, by whether there was something to do", put_reconciles},
    {"ipu_operator_reconcile_retries", "counter", "Decisions whose requests failed and are repeated",
     put_retries},
    {"ipu_operator_api_requests", "counter", "Requests to the API server", put_requests},
    {"ipu_operator_api_request_failures", "counter", "Requests to the API server that failed or were refused",
     put_failures},
};

void metrics_print(const struct metrics_view *view, struct str *out)
{
    openmetrics_put(families, COUNT_OF(families), view, out);
}
