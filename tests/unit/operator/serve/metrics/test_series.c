/* The series of /metrics: what they are called, and that their number does not follow that of jobs. */
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/job/job.h"
#include "operator/serve/metrics/metrics.h"

#define NOW_S 1790000000
#define MANY 5000u

/* The nth job: each has a name, labels and a size of its own, a hundred share a namespace; every tenth is
 * being deleted, and every seventh is of the vendor's operator. */
static struct job *make_job(unsigned n)
{
    AUTO(json) cJSON *object = json_object();
    cJSON *metadata = json_put_object(object, "metadata"), *spec = json_put_object(object, "spec");
    cJSON *status = json_put_object(object, "status");
    struct job *job;

    json_put_strf(metadata, "name", "job-%u", n);
    json_put_strf(metadata, "namespace", "team-%u", n / 100);
    json_put_strf(metadata, "uid", "uid-%u", n);
    json_put_strf(json_put_object(metadata, "labels"), "experiment", "number-%u", n);
    if (n % 10 == 9)
        json_put_str(metadata, "deletionTimestamp", "2026-09-21T14:12:50Z");
    if (n % 11 == 10) {
        json_push_str(json_put_array(metadata, "finalizers"), "graphcore.ai/ipu-partitions");
        json_put_str(json_put_object(metadata, "annotations"), "graphcore.ai/operator", "other-system");
    }
    json_put_i64(spec, "jobInstances", 1 + n % 4);
    json_put_i64(spec, "ipusPerJobInstance", 1 << n % 7);
    json_put_str(status, "launcherStatus", job_state_name((enum job_state)(n % JOB_STATES)));
    if (n % 7 != 6)
        json_put_i64(status, "observedGeneration", 1);
    job = job_parse(object);
    CHECK(job != NULL);
    return job;
}

/* The page with that many jobs. A V-IPU controller, webhooks and a request of each kind are there in any
 * case. */
static char *page_with(unsigned jobs, struct metrics_snapshot *snapshot)
{
    static const struct pool_counter calls[POOL_CALLS];
    static const struct reconciler_counters counters;
    static const struct webhooks_counters webhooks;
    static const struct what_if_counts what_ifs;
    struct kube_counter requests[] = {{.method = "POST", .resource = "pods", .sent = jobs},
                                      {.method = "WATCH", .resource = "ipujobs", .sent = 1}};
    struct metrics_controller controller = {.name = "vipu:8090",
                                            .is_up = true,
                                            .total = 64,
                                            .free = 8,
                                            .largest_free = 8,
                                            .foreign_partitions = jobs,
                                            .calls = calls};
    struct metrics_namespace ns = {.name = "team", .held = jobs, .waiting = jobs, .ipu_seconds = jobs};
    struct metrics_view view = {.is_leader = true,
                                .snapshot = snapshot,
                                .counters = &counters,
                                .requests = requests,
                                .request_count = COUNT_OF(requests),
                                .what_ifs = &what_ifs,
                                .webhooks = &webhooks,
                                .webhooks_certificate_end_s = NOW_S,
                                .metrics_certificate_end_s = NOW_S};
    struct job_counts counts = {0};
    AUTO(str) struct str out = {0};

    *snapshot = (struct metrics_snapshot){.waiting = jobs,
                                          .controllers = &controller,
                                          .controller_count = 1,
                                          .namespaces = &ns,
                                          .namespace_count = 1};
    for (unsigned n = 0; n < jobs; n++) {
        AUTO(job) struct job *job = make_job(n);

        job_counts_note(&counts, "ipu-system", NULL, job);
    }
    metrics_snapshot_set_jobs(&counts, NOW_S, snapshot);
    job_counts_release(&counts);
    metrics_print(&view, &out);
    snapshot->controllers = NULL;
    return str_take(&out);
}

/* What stands before the values, a line each. */
static size_t take_series(const char *page, struct str *out)
{
    size_t count = 0;

    for (const char *line = page; *line; line += strcspn(line, "\n") + 1) {
        if (*line == '#')
            continue;
        str_addf(out, "%.*s\n", (int)strcspn(line, " "), line);
        count++;
    }
    return count;
}

TEST(series_do_not_grow_with_jobs)
{
    struct metrics_snapshot one, many;
    AUTO(mem) char *page_of_one = page_with(1, &one);
    AUTO(mem) char *page_of_many = page_with(MANY, &many);
    AUTO(str) struct str few = {0}, more = {0};
    uint32_t counted = many.vendors + many.others;

    CHECK(take_series(page_of_one, &few) > 100);
    (void)take_series(page_of_many, &more);
    CHECK_STR_EQ(str_text(&more), str_text(&few));
    for (size_t i = 0; i < JOB_STATES; i++)
        counted += many.jobs[i];
    CHECK_INT_EQ(counted, MANY);
    CHECK(many.vendors > 0 && many.others > 0 && many.terminating_s == 30);
}
