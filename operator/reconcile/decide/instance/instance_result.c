#include "operator/reconcile/decide/instance/instance_result.h"

#include <stdarg.h>

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/api/reasons.h"

void instance_set_result(struct instance_result *ret, enum instance_phase phase, const char *reason,
                         const char *fmt, ...)
{
    va_list args;

    ret->phase = phase;
    ret->reason = reason;
    mem_free(ret->text);
    va_start(args, fmt);
    ret->text = mem_vprintf(fmt, args);
    va_end(args);
}

void instance_note_step(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                        struct instance_result *ret)
{
    int64_t soon_ms = inst->partition_since_ms + REPORT_AFTER_MS;
    int64_t until_ms = view->is_busy ? inst->partition_since_ms + REPORT_AFTER_BUSY_MS : soon_ms;

    if (view->now_ms >= until_ms)
        return;
    ret->is_step = true;
    plan_again_at(plan, view->now_ms < soon_ms ? soon_ms : view->now_ms + REPORT_AFTER_MS);
}

bool must_back_off(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    static const struct backoff pace = {.first_ms = 500, .max_ms = 60000};
    uint32_t before = inst->record->attempt + inst->record->run;

    return before > 1 &&
           !plan_is_due(plan, view->now_ms, inst->run_since_ms + backoff_delay_ms(&pace, before - 1, 0));
}

bool instance_was_rejected(const struct job_view *view)
{
    return view->create_rejected && reason_is_warning(view->create_reason);
}

void instance_set_rejected(const struct job_view *view, const struct instance_view *inst,
                           enum instance_phase phase, struct plan *plan, struct instance_result *ret)
{
    uint32_t pods = job_pods_per_instance(&view->job->spec);
    /* What is used of the quota was its own pods, which nobody sees any more. */
    AUTO(mem)
    char *needs = pods > 1 && str_eq(view->create_reason, "QuotaExceeded")
                      ? mem_printf("; an instance needs %u pods at the same time", pods)
                      : mem_strdup("");

    instance_set_result(ret, phase, view->create_reason,
                        "Instance %u could not start; IPUs released until the next try: %s%s", inst->index,
                        view->create_text, needs);
    ret->is_stuck = true;
    if (!plan_is_due(plan, view->now_ms, view->create_rejected_ms + REPORT_AFTER_MS))
        ret->is_unanswered = true;
}
