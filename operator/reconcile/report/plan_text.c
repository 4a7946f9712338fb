#include "operator/reconcile/report/plan_text.h"

#include <inttypes.h>

#include "operator/reconcile/decide/model/job_forecast.h"

const char *plan_cause_name(enum forecast_cause cause)
{
    static const char *const names[] = {[FORECAST_STARTS] = "Starts",
                                        [FORECAST_NOT_READY] = "ValidatingTemplate",
                                        [FORECAST_NO_ROOM] = "NoRoom",
                                        [FORECAST_FRAGMENTED] = "Fragmented",
                                        [FORECAST_RESERVED] = "Reserved",
                                        [FORECAST_ORDER] = "Order",
                                        [FORECAST_IPU_QUOTA] = "IpuQuota",
                                        [FORECAST_QUEUE_QUOTA] = "QueueQuota",
                                        [FORECAST_TOO_LARGE] = "TooLarge",
                                        [FORECAST_UNAVAILABLE] = "Unavailable",
                                        [FORECAST_NO_CONTROLLER] = "NoController"};

    return names[cause];
}

const char *plan_basis_name(enum forecast_basis basis)
{
    static const char *const names[] = {[FORECAST_BY_NOW] = "Now",
                                        [FORECAST_BY_BOUNDS] = "Bounds",
                                        [FORECAST_BY_HISTORY] = "History",
                                        [FORECAST_BY_ORDER] = "Order",
                                        [FORECAST_OPEN] = "Open"};

    return names[basis];
}

const char *plan_start_name(const struct forecast_verdict *verdict)
{
    if (verdict->cause == FORECAST_TOO_LARGE || verdict->cause == FORECAST_NO_CONTROLLER)
        return "Never";
    if (verdict->cause == FORECAST_STARTS)
        return "Now";
    return verdict->p50_s == FORECAST_UNKNOWN ? "Open" : "Later";
}

void plan_push_block(cJSON *blocks, const struct forecast_block *block)
{
    cJSON *item = json_push_take(blocks, json_object());

    json_put_i64(item, "domain", block->domain);
    json_put_i64(item, "domains", block->domain_count);
    json_put_strf(item, "ipus", "%" PRIx64, block->ipus);
}

void plan_put_verdict(cJSON *out, const struct forecast_verdict *verdict, bool is_counted)
{
    bool is_guess = is_counted && verdict->basis != FORECAST_OPEN && verdict->basis != FORECAST_BY_NOW;

    json_put_str(out, "cause", plan_cause_name(verdict->cause));
    json_put_str(out, "basis", is_guess ? JOB_FORECAST_COUNTED : plan_basis_name(verdict->basis));
    json_put_time(out, "earliest", verdict->p10_s);
    json_put_time(out, "expected", verdict->p50_s);
    json_put_time(out, "latest", verdict->p90_s);
}
