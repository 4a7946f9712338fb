/* Do plans get on? The same view must give the same plan. And what each process has planned last about each
 * job is kept: as long as the process learns nothing that its plans have not brought about (net.h, news),
 * nothing of it may be planned once more, and there may be only so many plans in a row before the empty one.
 */
#pragma once

#include "base/core/map.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

struct world;

struct progress {
    struct map last; /* process and job -> struct last */
    uint64_t decisions;
};

void progress_release(struct progress *progress);
/* A process has decided; what is wrong with it breaks the world. */
void progress_decided(struct world *world, const struct job_view *view, const struct plan *plan);
void progress_decided_twice(struct world *world, const struct job_view *view, const struct plan *plan,
                            const struct plan *again); /* in the same view */
