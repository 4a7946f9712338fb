#include "operator/api/queue/queue_limits.h"

#include "base/core/mem.h"
#include "lib/check.h"

static cJSON *parse(const char *spec)
{
    struct err err = {0};
    AUTO(mem) char *text = spec ? mem_printf("{\"spec\":%s}", spec) : NULL;
    cJSON *job = text ? json_parse(slice_of(text), &err) : NULL;

    CHECK(job || !spec);
    return job;
}

#define OF_NAMESPACE                                                                                         \
    "spec.jobInstances: Forbidden: at most 10 instances may wait for IPUs in namespace team-a, and 8 wait "  \
    "now; reduce spec.jobInstances by 1 or more, delete jobs that wait, or ask an admin to raise "           \
    "queue.maxWaitingInstancesPerNamespace in the chart's values"
#define OF_ALL                                                                                               \
    "spec.jobInstances: Forbidden: at most 20 instances may wait for IPUs in the cluster, and 19 wait now; " \
    "reduce spec.jobInstances by 2 or more, delete jobs that wait, or ask an admin to raise "                \
    "queue.maxWaitingInstances in the chart's values"

TEST(instances_that_are_added_count_as_waiting)
{
    static const struct queue_limits both = {.per_namespace = 10, .total = 20}, none = {0};
    static const struct {
        const char *what, *old, *job;
        const struct queue_limits *limits;
        struct queue_counts counts;
        const char *problems[2];
    } rows[] = {
        {"there is room", NULL, "{\"jobInstances\":2}", &both, {8, 8, 0}, {NULL}},
        {"one too many", NULL, "{\"jobInstances\":3}", &both, {8, 8, 0}, {OF_NAMESPACE}},
        {"of both", NULL, "{\"jobInstances\":3}", &both, {8, 19, 0}, {OF_NAMESPACE, OF_ALL}},
        {"no limit", NULL, "{\"jobInstances\":9999}", &none, {8, 8, 0}, {NULL}},
        {"scaled up", "{\"jobInstances\":4}", "{\"jobInstances\":7}", &both, {8, 8, 0}, {OF_NAMESPACE}},
        {"less", "{\"jobInstances\":4}", "{\"jobInstances\":3}", &both, {90, 90, 0}, {NULL}},
        {"as many", "{\"jobInstances\":4}", "{\"jobInstances\":4}", &both, {90, 90, 0}, {NULL}},
        {"suspended", NULL, "{\"jobInstances\":99,\"suspend\":true}", &both, {8, 8, 0}, {NULL}},
        {"resumed",
         "{\"jobInstances\":3,\"suspend\":true}",
         "{\"jobInstances\":3}",
         &both,
         {8, 8, 0},
         {OF_NAMESPACE}},
        {"another controller's",
         NULL,
         "{\"jobInstances\":99,\"managedBy\":\"example.com/other\"}",
         &both,
         {8, 8, 0},
         {NULL}},
        {"full already", NULL, "{\"jobInstances\":0}", &both, {10, 20, 0}, {NULL}},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *old = parse(row->old);
        AUTO(json) cJSON *job = parse(row->job);
        AUTO(strv) struct strv problems = {0};

        queue_limits_check(old, job, "team-a", row->limits, &row->counts, &problems);
        if (problems.count != (size_t)(row->problems[0] != NULL) + (row->problems[1] != NULL))
            CHECK_FAIL("%s: %zu problems", row->what, problems.count);
        for (size_t i = 0; i < problems.count; i++)
            CHECK_STR_EQ(problems.items[i], row->problems[i]);
    }
}
