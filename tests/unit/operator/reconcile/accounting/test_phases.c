/* How long the phases of a job take, from the times that its objects show. */
#include "operator/reconcile/accounting/phases.h"

#include "lib/check.h"

#define NOON 1767268800

static void check_only(const struct phase_ends *ends, enum phase phase, int64_t seconds)
{
    for (size_t i = 0; i < PHASES; i++)
        CHECK_INT_EQ(ends->seconds[i], i == phase ? seconds : PHASE_NOT_ENDED);
}

TEST(partitions_have_a_size_for_each_power_of_two)
{
    static const struct {
        uint32_t ipus, size;
    } rows[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {64, 6}, {65, 7}, {128, 7}, {UINT32_MAX, 7}};

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(phases_size(row->ipus), row->size);
}

TEST(each_phase_is_reported_once_when_it_ends)
{
    const struct record record = {.created_s = NOON};
    const struct pod made = {.created_s = NOON + 3};
    struct pod placed = made, begun, ready, ended;
    struct phase_ends ends;

    placed.scheduled_s = NOON + 5;
    begun = placed;
    begun.begun_s = NOON + 65;
    begun.phase = POD_RUNNING;
    ready = begun;
    ready.ready_s = NOON + 70;
    ended = begun; /* what has ended is not ready */
    ended.phase = POD_SUCCEEDED;
    ended.finished_s = NOON + 3670;

    phases_of_record(&record, NOON - 600, &ends);
    check_only(&ends, PHASE_QUEUED, 600);
    phases_of_pod(NULL, &made, &record, &ends);
    check_only(&ends, PHASE_ALLOCATING, 3);
    phases_of_pod(&made, &placed, &record, &ends);
    check_only(&ends, PHASE_SCHEDULING, 2);
    phases_of_pod(&placed, &begun, &record, &ends);
    check_only(&ends, PHASE_PULLING, 60);
    phases_of_pod(&begun, &ready, &record, &ends);
    check_only(&ends, PHASE_STARTING, 5);
    phases_of_pod(&ready, &ready, &record, &ends);
    check_only(&ends, PHASES, 0);
    phases_of_pod(&ready, &ended, &record, &ends);
    check_only(&ends, PHASE_RUNNING, 3600);
    phases_of_pod(&ended, &ended, &record, &ends);
    check_only(&ends, PHASES, 0);
}

TEST(a_late_observation_reports_several)
{
    const struct record record = {.created_s = NOON};
    const struct pod pod = {.created_s = NOON + 1,
                            .scheduled_s = NOON + 2,
                            .begun_s = NOON + 4,
                            .finished_s = NOON + 9,
                            .phase = POD_FAILED};
    struct phase_ends ends;

    phases_of_pod(NULL, &pod, &record, &ends);
    CHECK_INT_EQ(ends.seconds[PHASE_QUEUED], PHASE_NOT_ENDED);
    CHECK_INT_EQ(ends.seconds[PHASE_ALLOCATING], 1);
    CHECK_INT_EQ(ends.seconds[PHASE_SCHEDULING], 1);
    CHECK_INT_EQ(ends.seconds[PHASE_PULLING], 2);
    CHECK_INT_EQ(ends.seconds[PHASE_STARTING], PHASE_NOT_ENDED); /* nobody saw it ready */
    CHECK_INT_EQ(ends.seconds[PHASE_RUNNING], 5);
}

TEST(clocks_that_disagree_make_no_negative_time)
{
    const struct record record = {.created_s = NOON};
    const struct pod pod = {.created_s = NOON + 1, .scheduled_s = NOON - 7};
    struct phase_ends ends;

    phases_of_pod(&(struct pod){.created_s = NOON + 1}, &pod, &record, &ends);
    check_only(&ends, PHASE_SCHEDULING, 0);
    phases_of_record(&record, NOON + 1, &ends);
    check_only(&ends, PHASE_QUEUED, 0);
}

TEST(only_the_first_worker_of_a_fresh_partition_ends_its_allocation)
{
    const struct record record = {.created_s = NOON};
    const struct pod second = {.created_s = NOON + 1, .worker = 1};
    const struct pod again = {.created_s = NOON + 900, .run = 1};
    const struct pod first = {.created_s = NOON + 1};
    struct phase_ends ends;

    phases_of_pod(NULL, &second, &record, &ends);
    check_only(&ends, PHASES, 0);
    phases_of_pod(NULL, &again, &record, &ends);
    check_only(&ends, PHASES, 0);
    phases_of_pod(NULL, &first, NULL, &ends);
    check_only(&ends, PHASES, 0);
}

TEST(what_is_unknown_is_not_counted)
{
    const struct record record = {.created_s = NOON};
    const struct pod gone_before_its_start = {.created_s = NOON, .phase = POD_FAILED};
    struct phase_ends ends;

    phases_of_record(&record, 0, &ends);
    check_only(&ends, PHASES, 0);
    phases_of_record(&(struct record){0}, NOON, &ends);
    check_only(&ends, PHASES, 0);
    phases_of_pod(&(struct pod){.created_s = NOON}, &gone_before_its_start, NULL, &ends);
    check_only(&ends, PHASES, 0);
}
