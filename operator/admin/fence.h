/* Prevents every operator from starting anything: takes the leader election Lease from any holder, and
 * waits until the previous leader must have noticed. It never renews the lease, so that it expires if its
 * owner does not finish. Embedded: zeroed, then the fields before `state` set; stop it before it is freed. */
#pragma once

#include "base/io/loop.h"

struct kube;
struct kube_response;

enum fence_state { FENCE_DOWN, FENCE_RAISING, FENCE_UP, FENCE_SETTLED, FENCE_RENEWING, FENCE_RENEWED };

struct fence {
    struct kube *kube;
    const char *ns, *lease;
    /* The ConfigMap with which the lease is deleted; uid NULL: none. */
    const char *owner, *owner_uid;
    /* It is settled or renewed; or, with an answer, the API server has rejected. */
    void (*on_change)(void *ctx, const struct kube_response *rejected);
    void *ctx;

    enum fence_state state;
    struct loop_timer settle;
};

/* The next step: raised, when that is settled renewed once more. */
void fence_raise(struct fence *fence);
/* A leader is needed again: the lease expires by itself. */
void fence_give_up(struct fence *fence);
