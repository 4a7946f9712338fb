#include "operator/api/observed/pod_reasons.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/reasons.h"

static const char *disruption(const char *text, int64_t *ret_since_s)
{
    struct err err = {0};
    AUTO(json) cJSON *status = json_parse(slice_of(text), &err);

    CHECK_OK(status, err);
    return pod_reason_of_disruption(status, ret_since_s);
}

TEST(every_way_to_wait_for_ever_has_a_reason)
{
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"ErrImagePull", "ImagePullFailed"},
        {"ImagePullBackOff", "ImagePullFailed"},
        {"InvalidImageName", "ImagePullFailed"},
        {"ErrImageNeverPull", "ImagePullFailed"},
        {"ImageInspectError", "ImagePullFailed"},
        {"RegistryUnavailable", "ImagePullFailed"},
        {"CreateContainerConfigError", "ContainerCannotStart"},
        {"CreateContainerError", "ContainerCannotStart"},
        {"RunContainerError", "ContainerCannotStart"},
        {"CrashLoopBackOff", "ContainerCannotStart"},
        {"ContainerCreating", NULL},
        {"PodInitializing", NULL},
        {"", NULL},
    };

    CHECK_ROWS (row, rows)
        CHECK_STR_EQ(pod_reason_of_waiting(row->theirs), row->ours);
}

TEST(what_keeps_a_pod_from_every_node_has_a_reason)
{
    static const struct {
        const char *theirs, *message, *ours;
    } rows[] = {
        {"Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.", "Unschedulable"},
        {"Unschedulable",
         "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have free ports for the requested "
         "pod "
         "ports.",
         "HostPortConflict"},
        {"SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated"},
        {"SchedulerError", "try again", NULL},
        {"", "", NULL},
    };

    CHECK_ROWS (row, rows) {
        const char *ours = pod_reason_of_scheduling(row->theirs, row->message);

        CHECK_STR_EQ(ours, row->ours);
        CHECK(!ours || reason_find(ours));
    }
}

TEST(who_takes_a_pod_away_is_known_by_its_condition)
{
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"PreemptionByScheduler", "Preempted"}, {"EvictionByEvictionAPI", "Evicted"},
        {"DeletionByTaintManager", "NodeLost"}, {"DeletionByPodGC", "NodeLost"},
        {"TerminationByKubelet", "Evicted"},    {"SomethingOfTomorrow", "Evicted"},
    };
    int64_t since = 0;

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("{\"conditions\":[{\"type\":\"Ready\"},{\"type\":\"DisruptionTarget\","
                                "\"status\":\"True\",\"reason\":\"%s\",\"lastTransitionTime\":"
                                "\"2026-01-01T10:00:00Z\"}]}",
                                row->theirs);

        CHECK_STR_EQ(disruption(text, &since), row->ours);
        CHECK_INT_EQ(since, 1767261600);
        CHECK(reason_find(row->ours));
    }
    CHECK(!disruption("{}", &since));
    CHECK_INT_EQ(since, 0);
    CHECK(!disruption("{\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"False\"}]}", &since));
}

TEST(every_way_to_fail_has_a_reason)
{
    static const struct {
        const char *own, *container;
        bool has_statuses;
        const char *disruption, *ours;
    } rows[] = {
        {NULL, "Error", true, NULL, "ContainerFailed"},
        {NULL, "OOMKilled", true, NULL, "OOMKilled"},
        {NULL, "StartError", true, NULL, "ContainerCannotStart"},
        {NULL, "ContainerCannotRun", true, NULL, "ContainerCannotStart"},
        {NULL, NULL, true, NULL, "PodFailed"},
        {NULL, NULL, false, NULL, "PodFailed"},
        {"Evicted", "Error", true, "Evicted", "Evicted"},
        {"Evicted", NULL, false, NULL, "Evicted"},
        {"Preempting", NULL, true, NULL, "Preempted"},
        {"Terminated", "Error", true, "Evicted", "NodeShutdown"},
        {"DeadlineExceeded", "Error", true, NULL, "PodDeadlineExceeded"},
        {"NodeLost", NULL, true, NULL, "NodeLost"},
        {"OutOfcpu", NULL, false, NULL, "RejectedByNode"},
        {"UnexpectedAdmissionError", NULL, false, NULL, "RejectedByNode"},
        {NULL, "Error", true, "Preempted", "Preempted"},
        {"SomethingOfTomorrow", "Error", true, NULL, "ContainerFailed"},
    };

    CHECK_ROWS (row, rows) {
        const char *reason =
            pod_reason_of_failure(row->own, row->container, row->has_statuses, row->disruption);

        CHECK_STR_EQ(reason, row->ours);
        CHECK(reason_find(reason));
    }
}
