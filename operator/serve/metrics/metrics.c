#include "operator/serve/metrics/metrics.h"

#include <stdarg.h>

#include "base/core/mem.h"
#include "base/doc/openmetrics.h"

/* A histogram with labels that are printed. */
__attribute__((format(printf, 4, 5))) static void put_labelled(const char *name,
                                                               const struct openmetrics_histogram *histogram,
                                                               struct str *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    AUTO(mem) char *labels = mem_vprintf(fmt, args);
    va_end(args);
    openmetrics_put_histogram(name, labels, histogram, out);
}

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

    for (size_t i = 0; v->snapshot && i < METRICS_JOB_STATES; i++)
        str_addf(out, "%s{state=\"%s\"} %u\n", name, job_state_name((enum job_state)i), v->snapshot->jobs[i]);
}

/* One of the plain numbers of struct metrics_snapshot, by its offset. */
static void put_number(const void *ctx, const char *name, size_t offset, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->snapshot)
        str_addf(out, "%s %u\n", name, *(const uint32_t *)((const char *)v->snapshot + offset));
}

static void put_vendors(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct metrics_snapshot, vendors), out);
}

static void put_waiting(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct metrics_snapshot, waiting), out);
}

static void put_age(const void *ctx, const char *name, size_t offset, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->snapshot)
        str_addf(out, "%s %lld\n", name,
                 (long long)*(const int64_t *)(const void *)((const char *)v->snapshot + offset));
}

static void put_waiting_age(const void *ctx, const char *name, struct str *out)
{
    put_age(ctx, name, offsetof(struct metrics_snapshot, waiting_s), out);
}

static void put_terminating_age(const void *ctx, const char *name, struct str *out)
{
    put_age(ctx, name, offsetof(struct metrics_snapshot, terminating_s), out);
}

static void put_pods(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct metrics_snapshot, pods), out);
}

static void put_records(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct metrics_snapshot, records), out);
}

static void put_depth(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct metrics_snapshot, due), out);
}

static void put_in_work(const void *ctx, const char *name, struct str *out)
{
    put_number(ctx, name, offsetof(struct metrics_snapshot, in_work), out);
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

static void put_reconcile_time(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->counters)
        openmetrics_put_histogram(name, "", &v->counters->durations, out);
}

static void put_phases(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->counters && i < PHASES; i++)
        put_labelled(name, &v->counters->phases[i], out, "phase=\"%s\"", phase_name((enum phase)i));
}

static void put_watch_trouble(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->snapshot && i < v->snapshot->watch_count; i++)
        str_addf(out, "%s{resource=\"%s\"} %lld\n", name, v->snapshot->watches[i].resource,
                 (long long)v->snapshot->watches[i].trouble_s);
}

/* ---- V-IPU controllers ---- */

static void put_controller(const struct metrics_view *v, const char *name,
                           void (*put)(const struct metrics_controller *c, const char *head, struct str *out),
                           struct str *out)
{
    for (size_t i = 0; v->snapshot && i < v->snapshot->controller_count; i++) {
        AUTO(str) struct str head = {0};

        str_addf(&head, "%s{controller=", name);
        openmetrics_quote(v->snapshot->controllers[i].name, &head);
        put(&v->snapshot->controllers[i], str_text(&head), out);
    }
}

static void print_up(const struct metrics_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s} %d\n", head, c->is_up);
}

static void put_up(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_up, out);
}

static void print_ipus(const struct metrics_controller *c, const char *head, struct str *out)
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

static void print_largest(const struct metrics_controller *c, const char *head, struct str *out)
{
    if (c->total)
        str_addf(out, "%s} %u\n", head, c->largest_free);
}

static void put_largest(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_largest, out);
}

static void print_fragmentation(const struct metrics_controller *c, const char *head, struct str *out)
{
    double whole = c->free ? (double)c->largest_free / (double)c->free : 1;

    if (c->total)
        str_addf(out, "%s} %.4f\n", head, whole < 1 ? 1 - whole : 0);
}

static void put_fragmentation(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_fragmentation, out);
}

static void print_foreign(const struct metrics_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s} %u\n", head, c->foreign_partitions);
}

static void put_foreign(const void *ctx, const char *name, struct str *out)
{
    put_controller(ctx, name, print_foreign, out);
}

static void print_call_times(const struct metrics_controller *c, const char *name, const char *labels,
                             struct str *out)
{
    for (size_t i = 0; i < POOL_CALLS; i++)
        put_labelled(name, &c->calls[i].durations, out, "%s,method=\"%s\"", labels,
                     pool_call_name((enum pool_call)i));
}

static void put_call_times(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->snapshot && i < v->snapshot->controller_count; i++) {
        AUTO(str) struct str labels = {0};

        str_adds(&labels, "controller=");
        openmetrics_quote(v->snapshot->controllers[i].name, &labels);
        print_call_times(&v->snapshot->controllers[i], name, str_text(&labels), out);
    }
}

static void print_unanswered(const struct metrics_controller *c, const char *head, struct str *out)
{
    for (size_t i = 0; i < POOL_CALLS; i++)
        str_addf(out, "%s,method=\"%s\"} %llu\n", head, pool_call_name((enum pool_call)i),
                 (unsigned long long)c->calls[i].unanswered);
}

static void put_call_failures(const void *ctx, const char *name, struct str *out)
{
    AUTO(mem) char *total = mem_printf("%s_total", name);

    put_controller(ctx, total, print_unanswered, out);
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

static void put_request_times(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; i < v->request_count; i++) {
        const struct kube_counter *c = &v->requests[i];

        if (!str_eq(c->method, "WATCH"))
            put_labelled(name, &c->durations, out, "method=\"%s\",resource=\"%s\"", c->method, c->resource);
    }
}

static void put_review_times(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->webhooks && i < WEBHOOKS; i++)
        put_labelled(name, &v->webhooks->durations[i], out, "webhook=\"%s\"", webhook_name((enum webhook)i));
}

static void put_denied(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->webhooks)
        str_addf(out, "%s_total %llu\n", name, (unsigned long long)v->webhooks->denied);
}

static void put_certificate_end(const void *ctx, const char *name, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->webhooks_certificate_end_s)
        str_addf(out, "%s{use=\"webhooks\"} %lld\n", name, (long long)v->webhooks_certificate_end_s);
    if (v->metrics_certificate_end_s)
        str_addf(out, "%s{use=\"metrics\"} %lld\n", name, (long long)v->metrics_certificate_end_s);
}

/* ---- the process, by the names that every Prometheus client has for it ---- */

static void put_cpu(const void *ctx, const char *name, struct str *out)
{
    str_addf(out, "%s_total %.6f\n", name, ((const struct metrics_view *)ctx)->process.cpu_s);
}

static void put_start(const void *ctx, const char *name, struct str *out)
{
    str_addf(out, "%s %.3f\n", name, ((const struct metrics_view *)ctx)->start_s);
}

static void put_resident(const void *ctx, const char *name, struct str *out)
{
    str_addf(out, "%s %llu\n", name,
             (unsigned long long)((const struct metrics_view *)ctx)->process.resident_bytes);
}

static void put_fds(const void *ctx, const char *name, struct str *out)
{
    str_addf(out, "%s %u\n", name, ((const struct metrics_view *)ctx)->process.open_fds);
}

static const struct openmetrics_family families[] = {
    {"ipu_operator_build", "info", "Version of the operator", put_build},
    {"ipu_operator_leader", "gauge", "Whether this replica is the leader; only the leader reports jobs",
     put_leader},
    {"ipu_operator_jobs", "gauge", "IPUJobs by state", put_jobs},
    {"ipu_operator_unadopted_jobs", "gauge", "IPUJobs owned by the vendor's operator", put_vendors},
    {"ipu_operator_waiting_instances", "gauge", "Instances waiting for IPUs", put_waiting},
    {"ipu_operator_longest_wait_seconds", "gauge", "Longest current wait for IPUs; 0 if no instance waits",
     put_waiting_age},
    {"ipu_operator_longest_deletion_seconds", "gauge",
     "Age of the oldest pending job deletion; 0 if there is none", put_terminating_age},
    {"ipu_operator_phase_duration_seconds", "histogram", "Duration of completed job phases", put_phases},
    {"ipu_operator_pods", "gauge", "Pods of IPUJobs", put_pods},
    {"ipu_operator_partition_records", "gauge", "Partition records", put_records},
    {"ipu_operator_controller_up", "gauge", "Whether the V-IPU controller is reachable", put_up},
    {"ipu_operator_ipus", "gauge", "IPUs of a V-IPU controller: free, held by jobs, or in foreign partitions",
     put_ipus},
    {"ipu_operator_largest_free_block_ipus", "gauge", "Size of the largest partition that fits now",
     put_largest},
    {"ipu_operator_fragmentation_ratio", "gauge",
     "Fraction of the free IPUs of a V-IPU controller outside its largest free block", put_fragmentation},
    {"ipu_operator_foreign_partitions", "gauge",
     "Partitions of a V-IPU controller without a partition record", put_foreign},
    {"ipu_operator_vipu_request_duration_seconds", "histogram", "Latency of V-IPU requests", put_call_times},
    {"ipu_operator_vipu_request_failures", "counter", "Failed V-IPU requests: not sent or not answered",
     put_call_failures},
    {"ipu_operator_workqueue_depth", "gauge", "Jobs waiting in the work queue", put_depth},
    {"ipu_operator_active_reconciles", "gauge", "Jobs with requests in flight", put_in_work},
    {"ipu_operator_reconciles", "counter", "Reconciles by result", put_reconciles},
    {"ipu_operator_reconcile_retries", "counter", "Reconciles that failed and are retried", put_retries},
    {"ipu_operator_reconcile_duration_seconds", "histogram",
     "Duration of reconciles, including their requests", put_reconcile_time},
    {"ipu_operator_watch_stale_seconds", "gauge",
     "Time since the watch of a resource last worked; 0 while it works", put_watch_trouble},
    {"ipu_operator_api_requests", "counter", "Requests to the API server", put_requests},
    {"ipu_operator_api_request_failures", "counter", "Failed or rejected requests to the API server",
     put_failures},
    {"ipu_operator_api_request_duration_seconds", "histogram", "Latency of API server requests, per attempt",
     put_request_times},
    {"ipu_operator_admission_duration_seconds", "histogram", "Duration of admission reviews",
     put_review_times},
    {"ipu_operator_admission_denied", "counter", "Denied admission reviews", put_denied},
    {"ipu_operator_certificate_expiration_timestamp_seconds", "gauge",
     "Expiration time of the serving certificate, in Unix time", put_certificate_end},
    {"process_cpu_seconds", "counter", "Total user and system CPU time in seconds", put_cpu},
    {"process_start_time_seconds", "gauge", "Start time of the process, in Unix time", put_start},
    {"process_resident_memory_bytes", "gauge", "Resident memory size in bytes", put_resident},
    {"process_open_fds", "gauge", "Number of open file descriptors", put_fds},
};

void metrics_print(const struct metrics_view *view, struct str *out)
{
    openmetrics_put(families, COUNT_OF(families), view, out);
}
