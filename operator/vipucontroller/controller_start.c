#include "operator/vipucontroller/controller_start.h"

#include "operator/api/job/job.h"
#include "operator/reconcile/decide/lifetime.h"
#include "operator/reconcile/decide/model/job_forecast.h"
#include "operator/reconcile/report/plan_text.h"

/* From the forecast until a reader has created the job: a forecast is told for a minute. */
#define CREATED_WITHIN_S 120

void controller_start_read(uint32_t ipus, const struct forecast_verdict *verdict, int64_t now_s,
                           struct controller_start *ret)
{
    struct job_forecast times = {
        .earliest_s = FORECAST_UNKNOWN, .expected_s = FORECAST_UNKNOWN, .latest_s = FORECAST_UNKNOWN};

    if (verdict->cause != FORECAST_STARTS)
        job_forecast_round_times(verdict, now_s, &times);
    *ret = (struct controller_start){.ipus = ipus,
                                     .state = plan_start_name(verdict),
                                     .earliest_s = times.earliest_s,
                                     .expected_s = times.expected_s,
                                     .latest_s = times.latest_s};
}

size_t controller_start_bounds(const struct forecast_plan *plan, uint32_t controller, int64_t now_s,
                               int64_t ret[FORECAST_DEPTH_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < plan->reserved_count && count < FORECAST_DEPTH_MAX; i++) {
        const struct forecast_reservation *reserved = &plan->reserved[i];
        size_t at = count;

        if (reserved->controller != controller || reserved->start_s == FORECAST_UNKNOWN ||
            !controller_start_within(reserved->start_s - now_s))
            continue;
        for (; at > 0 && ret[at - 1] < reserved->start_s - now_s; at--)
            ret[at] = ret[at - 1];
        ret[at] = reserved->start_s - now_s;
        count++;
    }
    return count;
}

int64_t controller_start_within(int64_t bound_s)
{
    int64_t ending_s = lifetime_bound_s(1, POD_GRACE_S) - 1;
    int64_t within_s = bound_s - ending_s - CREATED_WITHIN_S;

    return within_s > 0 ? job_forecast_round_span(within_s) : 0;
}

cJSON *controller_start_print(const struct controller_start *start)
{
    cJSON *out = json_object();

    json_put_i64(out, "ipus", start->ipus);
    json_put_str(out, "state", start->state);
    json_put_time(out, "earliest", start->earliest_s);
    json_put_time(out, "expected", start->expected_s);
    json_put_time(out, "latest", start->latest_s);
    if (start->within_s)
        json_put_i64(out, "startsNowWithin", start->within_s);
    return out;
}
