#include "operator/reconcile/decide/run/hold.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/timefmt.h"
#include "operator/api/names.h"

struct hold hold_of_worker(const struct record *record, const struct worker_view *worker)
{
    return (struct hold){
        .partition = record->name,
        .pod = worker->pod_name,
        .node = worker->node,
        .since_ms = worker->since_ms,
        .grace_ends_s = worker->pod && worker->pod->deleting ? worker->pod->termination_deadline_s : 0,
    };
}

/* A request without an answer may still create it. */
static bool is_gone(const struct partition_view *partition)
{
    return partition->state == PARTITION_ABSENT && !partition->busy && !partition->outcome_unknown;
}

static int64_t grace_ends_ms(const struct job_view *view, const struct hold *hold)
{
    int64_t left_s = hold->grace_ends_s ? hold->grace_ends_s + GRACE_PASSED_S - view->now_unix_s : 0;

    return left_s > 0 ? view->now_ms + left_s * 1000 : hold->since_ms;
}

int64_t hold_until_ms(const struct job_view *view, const struct partition_view *partition,
                      const struct hold *hold)
{
    int64_t until_ms = hold->since_ms + view->hold_ms, grace_ms = grace_ends_ms(view, hold);

    return is_gone(partition) && grace_ms < until_ms ? grace_ms : until_ms;
}

static char *describe(const struct job_view *view, const struct hold *hold, int64_t until_ms)
{
    char until[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339((until_ms + view->unix_offset_ms + 500) / 1000, until);
    return mem_printf("holding partition %s until %s: processes of %s%s on node %s may still be running",
                      hold->partition, until, hold->pod ? "pod " : "",
                      hold->pod ? hold->pod : "an unknown pod", hold->node ? hold->node : "unknown");
}

bool hold_is_over(const struct job_view *view, const struct partition_view *partition,
                  const struct hold *hold, struct plan *plan)
{
    int64_t until_ms = hold_until_ms(view, partition, hold);

    if (plan_is_due(plan, view->now_ms, until_ms))
        return true;
    if (view->job && plan_is_due(plan, view->now_ms, grace_ends_ms(view, hold)))
        plan_hold(plan, hold->partition, describe(view, hold, until_ms));
    return false;
}

/* Others read the command and run it: nothing is copied from the annotation but ids. */
char *hold_release_command(const struct job_view *view, const char *partitions)
{
    const char *set = view->job->release ? view->job->release : "";
    bool keeps = *set && set[strspn(set, NAME_LETTERS ".,")] == '\0';

    return mem_printf("kubectl annotate -n %s ipujob %s " ANNOTATION_RELEASE "=%s%s%s%s", view->ns,
                      view->name, keeps ? set : "", keeps ? "," : "", partitions, *set ? " --overwrite" : "");
}

char *hold_describe(const struct job_view *view, const struct plan *plan)
{
    AUTO(str) struct str ids = {0};
    AUTO(mem) char *command = NULL;

    if (!plan->hold)
        return NULL;
    for (size_t i = 0; i < plan->held.count; i++)
        str_addf(&ids, "%s%s", i ? "," : "", plan->held.items[i]);
    command = hold_release_command(view, str_text(&ids));
    return mem_printf("%s. If none is running, release it now: %s", plan->hold, command);
}
