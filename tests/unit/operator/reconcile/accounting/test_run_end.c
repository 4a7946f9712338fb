#include "operator/reconcile/accounting/run_end.h"

#include "lib/check.h"

static char job[] = "job", first[] = "first", second[] = "second", nobody[] = RECORD_NO_JOB_UID,
            urgent[] = "ns/urgent";

#define NEVER (-1)

TEST(a_run_takes_as_long_as_its_record_exists)
{
    static const struct {
        int64_t created_s, created_ms;
        struct run_time now;
        int64_t want_s;
    } rows[] = {
        {1000, NEVER, {0, 1600}, 600},  {1000, NEVER, {0, 1000}, 0},
        {1000, NEVER, {0, 999}, -1},    /* clocks disagree */
        {0, NEVER, {0, 999}, -1},       /* unknown */
        {1000, 5000, {65999, 999}, 60}, /* this process knows better */
        {0, 0, {1000, INT64_MAX}, 1},   {1, NEVER, {0, INT64_MAX}, INT64_MAX - 1},
    };

    CHECK_ROWS (row, rows) {
        struct record record = {.created_s = row->created_s};

        CHECK_INT_EQ(run_elapsed_s(&record, row->created_ms, row->now), row->want_s);
    }
}

TEST(a_run_ends_when_its_ipus_are_free)
{
    static const struct record ran = {.job_uid = job, .uid = first, .started = true},
                               releasing = {.job_uid = job, .uid = first, .started = true, .releasing = true},
                               restarting = {.job_uid = job, .uid = first, .run = 1},
                               never_ran = {.job_uid = job, .uid = first},
                               orphan = {.job_uid = nobody, .uid = first, .started = true},
                               spent = {.job_uid = job, .uid = first, .started = true, .spent_s = 7},
                               preempted = {.job_uid = job,
                                            .uid = first,
                                            .started = true,
                                            .preemptor = urgent},
                               other = {.job_uid = job, .uid = second, .started = true};
    static const struct {
        const struct record *old, *new;
        bool has_ended;
    } rows[] = {
        {NULL, &ran, false},         {&never_ran, &ran, false},
        {&ran, &releasing, true},    {&releasing, NULL, false},
        {&ran, NULL, true},          {&restarting, NULL, true},
        {&ran, &spent, true},        {&spent, NULL, false},
        {NULL, &spent, false},       {&never_ran, NULL, false},
        {&orphan, NULL, false},      {&ran, &other, true},
        {&ran, &restarting, false},  {&ran, &preempted, false},
        {&preempted, NULL, true},    {&preempted, &releasing, true},
        {&releasing, &spent, false},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(run_has_ended(row->old, row->new), row->has_ended);
}
