/* Holding a partition while processes may still use it: until when, and how to end it earlier. Pure. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

/* A kubelet that responds has reported by then that the grace period has passed. */
#define GRACE_PASSED_S 5

/* A pod whose processes may still be running. Borrowed. */
struct hold {
    const char *partition;
    const char *pod, *node;   /* NULL: unknown */
    const struct pod *silent; /* the pod, if its node is not ready; else NULL */
    int64_t since_ms;         /* it is gone, or being deleted */
    int64_t grace_ends_s;     /* being deleted: the end of its grace period; 0: it is gone */
};

struct hold hold_of_worker(const struct record *record, const struct worker_view *worker);
/* When it is over. A partition that the V-IPU controller lists as gone is not held: its removal is the fence.
 */
int64_t hold_until_ms(const struct job_view *view, const struct partition_view *partition,
                      const struct hold *hold);
/* Is it over? Otherwise the job is reconciled again in time, and says what is held once more than the grace
 * period of a pod has passed. */
bool hold_is_over(const struct job_view *view, const struct partition_view *partition,
                  const struct hold *hold, struct plan *plan);
/* The command by which an admin releases these partitions at once, divided by commas. Caller frees. */
char *hold_release_command(const struct job_view *view, const char *partitions);
/* What the plan holds, until when, and the command, for as many partitions as an event has room for; NULL:
 * nothing. Caller frees. */
char *hold_describe(const struct job_view *view, const struct plan *plan);
