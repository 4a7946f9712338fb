#include "operator/api/queue/queue_priority.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define PREEMPTS(class_name, value, policy)                                                                  \
    "{\"spec\":{\"priorityClassName\":\"" class_name "\",\"priority\":" value                                \
    ",\"preemptionPolicy\":\"" policy "\"}}"
#define POD(class_name, value) "{\"spec\":{\"priorityClassName\":\"" class_name "\",\"priority\":" value "}}"

/* The names and values of the system are those of kubernetes/kubernetes, pkg/apis/scheduling/types.go. */
TEST(classes_of_the_system_never_order_the_queue)
{
    static const struct {
        const char *pod;
        int64_t all, listed, none; /* with every class, with "research", and with no class in the list */
    } rows[] = {
        {"{}", 0, 0, 0},
        {"{\"spec\":{\"priority\":0}}", 0, 0, 0},
        {POD("research", "10"), 10, 10, 0},
        {POD("research", "-10"), -10, -10, 0},
        {POD("other", "1000"), 1000, 0, 0},
        {POD("other", "999999999"), 999999999, 0, 0},
        {POD("research", "1000000000"), 0, 0, 0},
        {POD("research", "2000001000"), 0, 0, 0},
        {POD("research", "4000000000"), 0, 0, 0},
        {POD("system-node-critical", "2000001000"), 0, 0, 0},
        {POD("system-cluster-critical", "2000000000"), 0, 0, 0},
        {POD("system-of-ours", "5"), 0, 0, 0},
    };
    AUTO(strv) struct strv all = {0}, listed = {0}, none = {0};

    strv_push(&all, QUEUE_PRIORITY_ALL);
    strv_push(&listed, "research");
    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *pod = json_parse(slice_of(row->pod), &err);

        CHECK_INT_EQ(queue_priority_of_pod(NULL, pod), row->all);
        CHECK_INT_EQ(queue_priority_of_pod(&all, pod), row->all);
        CHECK_INT_EQ(queue_priority_of_pod(&listed, pod), row->listed);
        CHECK_INT_EQ(queue_priority_of_pod(&none, pod), row->none);
    }
}

TEST(a_class_that_counts_preempts_unless_it_says_never)
{
    static const struct {
        const char *pod;
        bool all, listed;
    } rows[] = {
        {"{}", false, false},
        {"{\"spec\":{\"priority\":0,\"preemptionPolicy\":\"PreemptLowerPriority\"}}", false, false},
        {PREEMPTS("research", "10", "PreemptLowerPriority"), true, true},
        {PREEMPTS("research", "10", "Never"), false, false},
        {POD("research", "10"), true, true},
        {PREEMPTS("other", "10", "PreemptLowerPriority"), true, false},
        {PREEMPTS("research", "1000000000", "PreemptLowerPriority"), false, false},
        {PREEMPTS("system-node-critical", "2000001000", "PreemptLowerPriority"), false, false},
    };
    AUTO(strv) struct strv listed = {0};

    strv_push(&listed, "research");
    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *pod = json_parse(slice_of(row->pod), &err);

        CHECK(queue_priority_preempts(NULL, pod) == row->all);
        CHECK(queue_priority_preempts(&listed, pod) == row->listed);
    }
}
