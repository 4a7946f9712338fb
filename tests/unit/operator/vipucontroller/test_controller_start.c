#include "operator/vipucontroller/controller_start.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define NOW_S 1763897400         /* 2025-11-23T11:30:00Z */
#define ENDING_S (120 + 30 + 60) /* until a reader has created it, for pods to stop, and for the release */

TEST(what_is_told_of_a_size)
{
    static const struct {
        struct forecast_verdict verdict;
        int64_t within_s;
        const char *want;
    } rows[] = {
        {{.cause = FORECAST_STARTS, .p10_s = NOW_S, .p50_s = NOW_S, .p90_s = NOW_S},
         0,
         "{\"ipus\":8,\"state\":\"Now\"}"},
        {{.cause = FORECAST_NO_ROOM,
          .basis = FORECAST_BY_HISTORY,
          .p10_s = NOW_S + 89,
          .p50_s = NOW_S + 4000,
          .p90_s = NOW_S + 7150},
         0,
         "{\"ipus\":8,\"state\":\"Later\",\"earliest\":\"2025-11-23T11:31:00Z\","
         "\"expected\":\"2025-11-23T12:35:00Z\",\"latest\":\"2025-11-23T13:30:00Z\"}"},
        {{.cause = FORECAST_RESERVED,
          .basis = FORECAST_OPEN,
          .p10_s = FORECAST_UNKNOWN,
          .p50_s = FORECAST_UNKNOWN,
          .p90_s = FORECAST_UNKNOWN},
         2700,
         "{\"ipus\":8,\"state\":\"Open\",\"startsNowWithin\":2700}"},
        {{.cause = FORECAST_TOO_LARGE, .basis = FORECAST_OPEN}, 0, "{\"ipus\":8,\"state\":\"Never\"}"},
    };

    CHECK_ROWS (row, rows) {
        struct controller_start start;
        AUTO(json) cJSON *printed = NULL;
        AUTO(mem) char *text = NULL;

        controller_start_read(8, &row->verdict, NOW_S, &start);
        start.within_s = row->within_s;
        printed = controller_start_print(&start);
        text = json_print(printed);
        CHECK_STR_EQ(text, row->want);
    }
}

TEST(a_deadline_is_told_with_time_to_spare)
{
    static const struct {
        int64_t bound_s, within_s;
    } rows[] = {
        {0, 0},
        {ENDING_S, 0},
        {ENDING_S + 59, 0},
        {ENDING_S + 60, 60},
        {ENDING_S + 2759, 2700},
        {ENDING_S + 3899, 3600},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(controller_start_within(row->bound_s), row->within_s);
}

TEST(bounds_are_those_of_reservations_there_the_longest_first)
{
    const struct forecast_reservation reserved[] = {
        {.controller = 1, .start_s = NOW_S + 1000}, {.controller = 0, .start_s = NOW_S + 9000},
        {.controller = 1, .start_s = NOW_S + 5000}, {.controller = 1, .start_s = FORECAST_UNKNOWN},
        {.controller = 1, .start_s = NOW_S + 100},  {.controller = 1, .start_s = NOW_S + 3000},
    };
    const struct forecast_plan plan = {.reserved = reserved, .reserved_count = COUNT_OF(reserved)};
    int64_t bounds[FORECAST_DEPTH_MAX];

    CHECK_INT_EQ(controller_start_bounds(&plan, 1, NOW_S, bounds), 3);
    CHECK_INT_EQ(bounds[0], 5000);
    CHECK_INT_EQ(bounds[1], 3000);
    CHECK_INT_EQ(bounds[2], 1000);
    CHECK_INT_EQ(controller_start_bounds(&plan, 2, NOW_S, bounds), 0);
}
