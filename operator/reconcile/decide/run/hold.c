#include "operator/reconcile/decide/run/hold.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "operator/api/names.h"

/* An event has room for so much (EVENT_NOTE_MAX_BYTES), and a command that is cut releases another partition.
 */
#define TEXT_MAX_BYTES ((size_t)1024)
#define WORDS_BYTES ((size_t)80) /* those of hold_describe, with two numbers */

struct hold hold_of_worker(const struct record *record, const struct worker_view *worker)
{
    return (struct hold){
        .partition = record->name,
        .pod = worker->pod_name,
        .node = worker->node,
        .since_ms = worker->since_ms,
        .silent = worker->pod && worker->pod->node_not_ready ? worker->pod : NULL,
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
    AUTO(mem) char *node = hold->silent ? pod_describe_silent_node(hold->silent) : NULL;
    char until[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339((until_ms + view->unix_offset_ms + 500) / 1000, until);
    return mem_printf(
        "holding partition %s until %s: processes of %s%s on node %s%s%s%s may still be running",
        hold->partition, until, hold->pod ? "pod " : "", hold->pod ? hold->pod : "an unknown pod",
        hold->node ? hold->node : "unknown", node ? ", which " : "", node ? node : "", node ? "," : "");
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

/* The first partitions that are held, as many as the command has room for. Returns how many. */
static size_t choose_first(const struct plan *plan, size_t room, struct str *ret)
{
    size_t count = 0;

    for (; count < plan->held.count; count++) {
        const char *id = plan->held.items[count];

        if (count && ret->len + strlen(",") + strlen(id) > room)
            break;
        str_addf(ret, "%s%s", count ? "," : "", id);
    }
    return count;
}

char *hold_describe(const struct job_view *view, const struct plan *plan)
{
    AUTO(str) struct str ids = {0}, what = {0};
    AUTO(mem) char *none = NULL, *command = NULL;
    size_t used, count;

    if (!plan->hold)
        return NULL;
    none = hold_release_command(view, "");
    used = strlen(plan->hold) + strlen(none) + WORDS_BYTES;
    count = choose_first(plan, used < TEXT_MAX_BYTES ? TEXT_MAX_BYTES - used : 0, &ids);
    command = hold_release_command(view, str_text(&ids));
    if (count < plan->held.count)
        str_addf(&what, "the first %zu of %zu", count, plan->held.count);
    else
        str_adds(&what, "it");
    return mem_printf("%s. If none is running, release %s now: %s", plan->hold, str_text(&what), command);
}
