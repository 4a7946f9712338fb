/* Rolling updates: which instances are replaced now because the template of a running job has changed, and
 * whether surge instances run meanwhile. As for Deployments: at most maxSurge instances above jobInstances,
 * at most maxUnavailable below it; an instance that does not run is replaced at once. Level-triggered: it
 * follows from the pods that exist, so that a rollout can be reverted or overtaken by the next one at any
 * time. Pure. */
#pragma once

#include "operator/api/job/indexset.h"
#include "operator/reconcile/decide/model/view.h"

struct rollout {
    uint32_t wanted;   /* instances that should run */
    uint32_t outdated; /* those with pods of an older template */
    uint32_t updated;  /* those whose pods are all there, of the current template */
    struct indexset replace;
    bool may_start; /* stopped instances may start again; Recreate waits until all have stopped */
    uint32_t surge; /* how many instances above jobInstances are wanted, from the first on */
};

/* Completed and failed instances stay as they are. */
void rollout_decide(const struct job_view *view, const struct indexset *done, const struct indexset *broken,
                    struct rollout *ret);
void rollout_release(struct rollout *rollout);

static inline void rollout_auto(struct rollout *rollout)
{
    rollout_release(rollout);
}
