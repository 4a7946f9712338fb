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

static void put_build(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    (void)ctx;
    str_addf(out, "%s_info{version=\"%s\"} 1\n", family->name, IPU_OPERATOR_VERSION);
}

static void put_leader(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    str_addf(out, "%s %d\n", family->name, v->is_leader);
}

/* ---- of the leader ---- */

static void put_jobs(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->snapshot && i < JOB_STATES; i++)
        str_addf(out, "%s{state=\"%s\"} %u\n", family->name, job_state_name((enum job_state)i),
                 v->snapshot->jobs[i]);
}

/* The number of struct metrics_snapshot at the family's offset. */
static void put_number(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->snapshot)
        str_addf(out, "%s %u\n", family->name,
                 *(const uint32_t *)((const char *)v->snapshot + family->offset));
}

static void put_age(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->snapshot)
        str_addf(out, "%s %lld\n", family->name,
                 (long long)*(const int64_t *)(const void *)((const char *)v->snapshot + family->offset));
}

static void put_reconciles(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;
    const struct reconciler_counters *c = v->counters;

    if (!c)
        return;
    str_addf(out, "%s_total{result=\"acted\"} %llu\n", family->name,
             (unsigned long long)(c->reconciles - c->empty));
    str_addf(out, "%s_total{result=\"settled\"} %llu\n", family->name, (unsigned long long)c->empty);
}

static void put_retries(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->counters)
        str_addf(out, "%s_total %llu\n", family->name, (unsigned long long)v->counters->failures);
}

static void put_reconcile_time(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->counters)
        openmetrics_put_histogram(family->name, "", &v->counters->durations, out);
}

static void put_phases(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->counters && i < PHASES; i++)
        put_labelled(family->name, &v->counters->phases[i], out, "phase=\"%s\"", phase_name((enum phase)i));
}

static void put_waits(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (uint32_t i = 0; v->counters && i < PHASES_SIZES; i++)
        put_labelled(family->name, &v->counters->waits[i], out, "ipus=\"%s%u\"",
                     i == PHASES_SIZES - 1 ? "above " : "", 1u << (i == PHASES_SIZES - 1 ? i - 1 : i));
}

static void put_promises(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->counters && i < PROMISES; i++)
        str_addf(out, "%s_total{result=\"%s\"} %llu\n", family->name, promise_name((enum promise)i),
                 (unsigned long long)v->counters->promises[i]);
}

static void put_losses(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->snapshot && i < PLAN_LOSSES; i++)
        str_addf(out, "%s{cause=\"%s\"} %llu\n", family->name, plan_loss_name((enum plan_loss)i),
                 (unsigned long long)v->snapshot->losses[i]);
}

static void put_watch_trouble(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->snapshot && i < v->snapshot->watch_count; i++)
        str_addf(out, "%s{resource=\"%s\"} %lld\n", family->name, v->snapshot->watches[i].resource,
                 (long long)v->snapshot->watches[i].trouble_s);
}

/* counts: as in struct accounting. */
static void put_reasons(const char *name, const char *labels, const uint64_t *counts, struct str *out)
{
    for (size_t i = 0; counts && i <= reason_count; i++) {
        if (counts[i])
            str_addf(out, "%s_total{%sreason=\"%s\"} %llu\n", name, labels,
                     i < reason_count ? reasons[i].name : "", (unsigned long long)counts[i]);
    }
}

static void put_finished(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;
    const struct accounting *a = v->counters ? &v->counters->accounting : NULL;

    if (!a)
        return;
    str_addf(out, "%s_total{result=\"completed\",reason=\"Completed\"} %llu\n", family->name,
             (unsigned long long)a->completed);
    put_reasons(family->name, "result=\"failed\",", a->failed, out);
}

static void put_restarts(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->counters)
        put_reasons(family->name, "", v->counters->accounting.restarts, out);
}

/* ---- forecasts ---- */

static void put_history(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->history)
        str_addf(out, "%s %u\n", family->name, history_run_count(v->history));
}

static void put_starts(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    static const char *const NAMES[HISTORY_STARTS] = {
        [HISTORY_BEFORE_BAND] = "before", [HISTORY_INSIDE_BAND] = "inside", [HISTORY_AFTER_BAND] = "after"};
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->history && i < HISTORY_STARTS; i++)
        str_addf(out, "%s_total{band=\"%s\"} %llu\n", family->name, NAMES[i],
                 (unsigned long long)v->history->starts[i]);
}

static void put_band_widths(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->history)
        openmetrics_put_histogram(family->name, "", &v->history->band_widths, out);
}

/* ---- namespaces ---- */

static void put_namespace_ipus(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_snapshot *s = ((const struct metrics_view *)ctx)->snapshot;

    for (size_t i = 0; s && i < s->namespace_count; i++) {
        const struct metrics_namespace *ns = &s->namespaces[i];

        str_addf(out, "%s{job_namespace=\"%s\",state=\"held\"} %u\n", family->name, ns->name, ns->held);
        str_addf(out, "%s{job_namespace=\"%s\",state=\"waiting\"} %llu\n", family->name, ns->name,
                 (unsigned long long)ns->waiting);
    }
}

static void put_share_usage(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_snapshot *s = ((const struct metrics_view *)ctx)->snapshot;

    for (size_t i = 0; s && s->share_half_life_s && i < s->namespace_count; i++)
        str_addf(out, "%s{job_namespace=\"%s\"} %llu\n", family->name, s->namespaces[i].name,
                 (unsigned long long)s->namespaces[i].used_ipu_s);
}

static void put_share_weights(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_snapshot *s = ((const struct metrics_view *)ctx)->snapshot;

    for (size_t i = 0; s && i < s->namespace_count; i++)
        if (s->namespaces[i].weight)
            str_addf(out, "%s{job_namespace=\"%s\"} %u\n", family->name, s->namespaces[i].name,
                     s->namespaces[i].weight);
}

static void put_share_half_life(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_snapshot *s = ((const struct metrics_view *)ctx)->snapshot;

    if (s && s->share_half_life_s)
        str_addf(out, "%s %lld\n", family->name, (long long)s->share_half_life_s);
}

static void put_namespace_ipu_seconds(const void *ctx, const struct openmetrics_family *family,
                                      struct str *out)
{
    const struct metrics_snapshot *s = ((const struct metrics_view *)ctx)->snapshot;

    for (size_t i = 0; s && i < s->namespace_count; i++)
        str_addf(out, "%s_total{job_namespace=\"%s\"} %.3f\n", family->name, s->namespaces[i].name,
                 s->namespaces[i].ipu_seconds);
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

static void put_up(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    put_controller(ctx, family->name, print_up, out);
}

static void print_ipus(const struct metrics_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s,state=\"held\"} %u\n", head, c->held);
    str_addf(out, "%s,state=\"foreign\"} %u\n", head, c->foreign);
    if (c->total)
        str_addf(out, "%s,state=\"free\"} %u\n", head, c->free);
}

static void put_ipus(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    put_controller(ctx, family->name, print_ipus, out);
}

static void print_utilisation(const struct metrics_controller *c, const char *head, struct str *out)
{
    if (c->total)
        str_addf(out, "%s} %.4f\n", head, ((double)c->held + (double)c->foreign) / (double)c->total);
}

static void put_utilisation(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    put_controller(ctx, family->name, print_utilisation, out);
}

static void print_largest(const struct metrics_controller *c, const char *head, struct str *out)
{
    if (c->total)
        str_addf(out, "%s} %u\n", head, c->largest_free);
}

static void put_largest(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    put_controller(ctx, family->name, print_largest, out);
}

static void print_fragmentation(const struct metrics_controller *c, const char *head, struct str *out)
{
    double whole = c->free ? (double)c->largest_free / (double)c->free : 1;

    if (c->total)
        str_addf(out, "%s} %.4f\n", head, whole < 1 ? 1 - whole : 0);
}

static void put_fragmentation(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    put_controller(ctx, family->name, print_fragmentation, out);
}

static void print_foreign(const struct metrics_controller *c, const char *head, struct str *out)
{
    str_addf(out, "%s} %u\n", head, c->foreign_partitions);
}

static void put_foreign(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    put_controller(ctx, family->name, print_foreign, out);
}

static void put_call_times(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->snapshot && i < v->snapshot->controller_count; i++) {
        AUTO(str) struct str labels = {0};

        str_adds(&labels, "controller=");
        openmetrics_quote(v->snapshot->controllers[i].name, &labels);
        for (size_t k = 0; k < POOL_CALLS; k++)
            put_labelled(family->name, &v->snapshot->controllers[i].calls[k].durations, out,
                         "%s,method=\"%s\"", str_text(&labels), pool_call_name((enum pool_call)k));
    }
}

static void print_unanswered(const struct metrics_controller *c, const char *head, struct str *out)
{
    for (size_t i = 0; i < POOL_CALLS; i++)
        str_addf(out, "%s,method=\"%s\"} %llu\n", head, pool_call_name((enum pool_call)i),
                 (unsigned long long)c->calls[i].unanswered);
}

static void put_call_failures(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    AUTO(mem) char *total = mem_printf("%s_total", family->name);

    put_controller(ctx, total, print_unanswered, out);
}

/* ---- the API server ---- */

/* The count of struct kube_counter at the family's offset. */
static void put_requests(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; i < v->request_count; i++) {
        const struct kube_counter *c = &v->requests[i];

        str_addf(out, "%s_total{method=\"%s\",resource=\"%s\"} %llu\n", family->name, c->method, c->resource,
                 (unsigned long long)*(const uint64_t *)(const void *)((const char *)c + family->offset));
    }
}

static void put_dropped_events(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    str_addf(out, "%s_total %llu\n", family->name, (unsigned long long)v->events_dropped);
}

static void put_request_times(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; i < v->request_count; i++) {
        const struct kube_counter *c = &v->requests[i];

        if (!str_eq(c->method, "WATCH"))
            put_labelled(family->name, &c->durations, out, "method=\"%s\",resource=\"%s\"", c->method,
                         c->resource);
    }
}

static void put_what_ifs(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct what_if_counts *c = ((const struct metrics_view *)ctx)->what_ifs;

    str_addf(out, "%s_total{result=\"answered\"} %llu\n", family->name, (unsigned long long)c->answered);
    str_addf(out, "%s_total{result=\"invalid\"} %llu\n", family->name, (unsigned long long)c->invalid);
    str_addf(out, "%s_total{result=\"rejected\"} %llu\n", family->name, (unsigned long long)c->rejected);
}

static void put_review_times(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    for (size_t i = 0; v->webhooks && i < WEBHOOKS; i++)
        put_labelled(family->name, &v->webhooks->durations[i], out, "webhook=\"%s\"",
                     webhook_name((enum webhook)i));
}

static void put_denied(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->webhooks)
        str_addf(out, "%s_total %llu\n", family->name, (unsigned long long)v->webhooks->denied);
}

static void put_certificate_end(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    const struct metrics_view *v = ctx;

    if (v->webhooks_certificate_end_s)
        str_addf(out, "%s{use=\"webhooks\"} %lld\n", family->name, (long long)v->webhooks_certificate_end_s);
    if (v->metrics_certificate_end_s)
        str_addf(out, "%s{use=\"metrics\"} %lld\n", family->name, (long long)v->metrics_certificate_end_s);
    if (v->live_page_certificate_end_s)
        str_addf(out, "%s{use=\"live page\"} %lld\n", family->name,
                 (long long)v->live_page_certificate_end_s);
}

/* ---- the process, by the names that every Prometheus client has for it ---- */

static void put_cpu(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    str_addf(out, "%s_total %.6f\n", family->name, ((const struct metrics_view *)ctx)->process.cpu_s);
}

static void put_start(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    str_addf(out, "%s %.3f\n", family->name, ((const struct metrics_view *)ctx)->start_s);
}

static void put_resident(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    str_addf(out, "%s %llu\n", family->name,
             (unsigned long long)((const struct metrics_view *)ctx)->process.resident_bytes);
}

static void put_fds(const void *ctx, const struct openmetrics_family *family, struct str *out)
{
    str_addf(out, "%s %u\n", family->name, ((const struct metrics_view *)ctx)->process.open_fds);
}

#define SNAPSHOT(field) offsetof(struct metrics_snapshot, field)

static const struct openmetrics_family families[] = {
    OPENMETRICS_FAMILY("ipu_operator_build", "info", "Version of the operator", put_build),
    OPENMETRICS_FAMILY("ipu_operator_leader", "gauge",
                       "Whether this replica is the leader; only the leader reports jobs", put_leader),
    OPENMETRICS_FAMILY("ipu_operator_jobs", "gauge", "IPUJobs by state", put_jobs),
    OPENMETRICS_FAMILY("ipu_operator_unadopted_jobs", "gauge", "IPUJobs owned by the vendor's operator",
                       put_number, .offset = SNAPSHOT(vendors)),
    OPENMETRICS_FAMILY("ipu_operator_other_operator_jobs", "gauge",
                       "IPUJobs in watched namespaces that another operator runs", put_number,
                       .offset = SNAPSHOT(others)),
    OPENMETRICS_FAMILY("ipu_operator_finished_jobs", "counter", "Jobs that completed or failed, by reason",
                       put_finished),
    OPENMETRICS_FAMILY("ipu_operator_restarts", "counter", "Restarts of instances, by the reason of each",
                       put_restarts),
    OPENMETRICS_FAMILY("ipu_operator_namespace_ipus", "gauge",
                       "IPUs that jobs of a namespace hold, and that their waiting instances request",
                       put_namespace_ipus),
    OPENMETRICS_FAMILY("ipu_operator_namespace_ipu_seconds", "counter",
                       "IPU-seconds that jobs of a namespace have held", put_namespace_ipu_seconds),
    OPENMETRICS_FAMILY("ipu_operator_share_used_ipu_seconds", "gauge",
                       "IPU-seconds that count against the share of a namespace", put_share_usage),
    OPENMETRICS_FAMILY("ipu_operator_share_weight", "gauge", "Weight of the share of a namespace",
                       put_share_weights),
    OPENMETRICS_FAMILY("ipu_operator_share_half_life_seconds", "gauge",
                       "Time after which half of what a namespace has used still counts",
                       put_share_half_life),
    OPENMETRICS_FAMILY("ipu_operator_waiting_instances", "gauge", "Instances waiting for IPUs", put_number,
                       .offset = SNAPSHOT(waiting)),
    OPENMETRICS_FAMILY("ipu_operator_longest_wait_seconds", "gauge",
                       "Longest current wait for IPUs; 0 if no instance waits", put_age,
                       .offset = SNAPSHOT(waiting_s)),
    OPENMETRICS_FAMILY("ipu_operator_longest_deletion_seconds", "gauge",
                       "Age of the oldest pending job deletion; 0 if there is none", put_age,
                       .offset = SNAPSHOT(terminating_s)),
    OPENMETRICS_FAMILY("ipu_operator_phase_duration_seconds", "histogram", "Duration of completed job phases",
                       put_phases),
    OPENMETRICS_FAMILY("ipu_operator_wait_seconds", "histogram",
                       "Waits of instances for IPUs, by their number of IPUs", put_waits),
    OPENMETRICS_FAMILY("ipu_operator_promises", "counter",
                       "Promised starts: kept, or broken by what held the IPUs then", put_promises),
    OPENMETRICS_FAMILY("ipu_operator_idle_ipus", "gauge",
                       "Free IPUs, by why waiting instances do not use them", put_losses),
    OPENMETRICS_FAMILY("ipu_operator_history_runs", "gauge", "Past runs from which run times are estimated",
                       put_history),
    OPENMETRICS_FAMILY("ipu_operator_forecast_starts", "counter",
                       "Starts of instances before, inside or after their expected band", put_starts),
    OPENMETRICS_FAMILY("ipu_operator_forecast_band_seconds", "histogram",
                       "Width of the expected bands of these starts", put_band_widths),
    OPENMETRICS_FAMILY("ipu_operator_pods", "gauge", "Pods of IPUJobs", put_number, .offset = SNAPSHOT(pods)),
    OPENMETRICS_FAMILY("ipu_operator_partition_records", "gauge", "Partition records", put_number,
                       .offset = SNAPSHOT(records)),
    OPENMETRICS_FAMILY("ipu_operator_controller_up", "gauge", "Whether the V-IPU controller is reachable",
                       put_up),
    OPENMETRICS_FAMILY("ipu_operator_ipus", "gauge",
                       "IPUs of a V-IPU controller: free, held by jobs, or in foreign partitions", put_ipus),
    OPENMETRICS_FAMILY("ipu_operator_utilisation_ratio", "gauge",
                       "Fraction of the IPUs of a V-IPU controller that partitions hold", put_utilisation),
    OPENMETRICS_FAMILY("ipu_operator_largest_free_block_ipus", "gauge",
                       "Size of the largest partition that fits now", put_largest),
    OPENMETRICS_FAMILY("ipu_operator_fragmentation_ratio", "gauge",
                       "Fraction of the free IPUs of a V-IPU controller outside its largest free block",
                       put_fragmentation),
    OPENMETRICS_FAMILY("ipu_operator_foreign_partitions", "gauge",
                       "Partitions of a V-IPU controller without a partition record", put_foreign),
    OPENMETRICS_FAMILY("ipu_operator_vipu_request_duration_seconds", "histogram", "Latency of V-IPU requests",
                       put_call_times),
    OPENMETRICS_FAMILY("ipu_operator_vipu_request_failures", "counter",
                       "Failed V-IPU requests: not sent or not answered", put_call_failures),
    OPENMETRICS_FAMILY("ipu_operator_workqueue_depth", "gauge", "Jobs waiting in the work queue", put_number,
                       .offset = SNAPSHOT(due)),
    OPENMETRICS_FAMILY("ipu_operator_active_reconciles", "gauge", "Jobs with requests in flight", put_number,
                       .offset = SNAPSHOT(in_work)),
    OPENMETRICS_FAMILY("ipu_operator_reconciles", "counter", "Reconciles by result", put_reconciles),
    OPENMETRICS_FAMILY("ipu_operator_reconcile_retries", "counter", "Reconciles that failed and are retried",
                       put_retries),
    OPENMETRICS_FAMILY("ipu_operator_reconcile_duration_seconds", "histogram",
                       "Duration of reconciles, including their requests", put_reconcile_time),
    OPENMETRICS_FAMILY("ipu_operator_watch_stale_seconds", "gauge",
                       "Time since the watch of a resource last worked; 0 while it works", put_watch_trouble),
    OPENMETRICS_FAMILY("ipu_operator_api_requests", "counter", "Requests to the API server", put_requests,
                       .offset = offsetof(struct kube_counter, sent)),
    OPENMETRICS_FAMILY("ipu_operator_api_request_failures", "counter",
                       "Failed or rejected requests to the API server", put_requests,
                       .offset = offsetof(struct kube_counter, failed)),
    OPENMETRICS_FAMILY("ipu_operator_api_request_duration_seconds", "histogram",
                       "Latency of API server requests, per attempt", put_request_times),
    OPENMETRICS_FAMILY("ipu_operator_events_dropped", "counter",
                       "Events that were not written: too many, or rejected by the API server",
                       put_dropped_events),
    OPENMETRICS_FAMILY("ipu_operator_what_if_requests", "counter", "Requests to /whatif by result",
                       put_what_ifs),
    OPENMETRICS_FAMILY("ipu_operator_admission_duration_seconds", "histogram",
                       "Duration of admission reviews", put_review_times),
    OPENMETRICS_FAMILY("ipu_operator_admission_denied", "counter", "Denied admission reviews", put_denied),
    OPENMETRICS_FAMILY("ipu_operator_certificate_expiration_timestamp_seconds", "gauge",
                       "Expiration time of the serving certificate, in Unix time", put_certificate_end),
    OPENMETRICS_FAMILY("process_cpu_seconds", "counter", "Total user and system CPU time in seconds",
                       put_cpu),
    OPENMETRICS_FAMILY("process_start_time_seconds", "gauge", "Start time of the process, in Unix time",
                       put_start),
    OPENMETRICS_FAMILY("process_resident_memory_bytes", "gauge", "Resident memory size in bytes",
                       put_resident),
    OPENMETRICS_FAMILY("process_open_fds", "gauge", "Number of open file descriptors", put_fds),
};

void metrics_print(const struct metrics_view *view, struct str *out)
{
    openmetrics_put(families, COUNT_OF(families), view, out);
}
