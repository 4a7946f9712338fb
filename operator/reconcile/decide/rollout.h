/* Which instances are to be replaced now because the template of a running job has changed, and whether
 * others run beside them meanwhile. As with Deployments: at most maxSurge instances above jobInstances, at
 * most maxUnavailable below it; what does not run anyway is replaced at once. Level-triggered: what is
 * missing follows from the pods that are there, so that a rollout can be turned back or overtaken by the next
 * at any time. Pure. */
#pragma once

#include "operator/api/job/indexset.h"
#include "operator/reconcile/decide/model/view.h"

struct rollout {
    uint32_t outdated; /* instances with pods of an older template */
    uint32_t updated;  /* the others that have pods */
    struct indexset replace;
    bool may_start; /* those that have stopped may start again; Recreate waits for all of them */
    uint32_t surge; /* of the instances above jobInstances, so many from the first are wanted */
};

/* done and broken instances are over, and stay as they are. */
void rollout_decide(const struct job_view *view, const struct indexset *done, const struct indexset *broken,
                    struct rollout *ret);
void rollout_release(struct rollout *rollout);

static inline void rollout_auto(struct rollout *rollout)
{
    rollout_release(rollout);
}
