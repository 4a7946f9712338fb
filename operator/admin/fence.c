#include "operator/admin/fence.h"

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "operator/kube/client/client.h"

/* An operator whose lease another has taken writes for 10 s at most. */
enum { SETTLE_MS = 11000, LASTS_S = 15 };

/* The lease is needed until no operator is left. So it is not deleted here, but by the garbage collector,
 * when Helm has deleted the owner. */
static void put_owner(const struct fence *fence, cJSON *metadata)
{
    cJSON *owner;

    if (!fence->owner_uid)
        return;
    owner = json_push_take(json_put_array(metadata, "ownerReferences"), json_object());
    json_put_str(owner, "apiVersion", "v1");
    json_put_str(owner, "kind", "ConfigMap");
    json_put_str(owner, "name", fence->owner);
    json_put_str(owner, "uid", fence->owner_uid);
}

static cJSON *body_of(const struct fence *fence)
{
    char now[TIMEFMT_RFC3339_SIZE];
    cJSON *body = json_object(), *metadata, *spec;

    timefmt_rfc3339_micro(loop_unix_micros(), now);
    json_put_str(body, "apiVersion", "coordination.k8s.io/v1");
    json_put_str(body, "kind", "Lease");
    metadata = json_put_object(body, "metadata");
    json_put_str(metadata, "name", fence->lease);
    put_owner(fence, metadata);
    spec = json_put_object(body, "spec");
    json_put_str(spec, "holderIdentity", "before-uninstall");
    json_put_i64(spec, "leaseDurationSeconds", LASTS_S);
    json_put_str(spec, "renewTime", now);
    return body;
}

static void on_settled(struct loop_timer *timer)
{
    struct fence *fence = CONTAINER_OF(timer, struct fence, settle);

    fence->state = FENCE_SETTLED;
    fence->on_change(fence->ctx, NULL);
}

static void on_acquired(void *ctx, struct kube_response *res)
{
    struct fence *fence = ctx;

    if (res->err.kind != ERR_NONE) {
        fence->on_change(fence->ctx, res);
    } else if (fence->state == FENCE_RAISING) {
        fence->state = FENCE_UP;
        loop_timer_start(kube_loop(fence->kube), &fence->settle, SETTLE_MS, on_settled);
    } else if (fence->state == FENCE_RENEWING) {
        fence->state = FENCE_RENEWED;
        fence->on_change(fence->ctx, NULL);
    }
}

static void acquire_lease(struct fence *fence)
{
    AUTO(json) cJSON *body = body_of(fence);

    kube_send(fence->kube,
              &(struct kube_request){
                  .method = "PATCH",
                  .resource = &KUBE_LEASES,
                  .ns = fence->ns,
                  .name = fence->lease,
                  .query = (const char *[]){"fieldManager", "before-uninstall", "force", "true", NULL},
                  .body = body,
                  .content_type = KUBE_APPLY_PATCH},
              on_acquired, fence);
}

void fence_raise(struct fence *fence)
{
    if (fence->state != FENCE_DOWN && fence->state != FENCE_SETTLED)
        return;
    fence->state = fence->state == FENCE_DOWN ? FENCE_RAISING : FENCE_RENEWING;
    acquire_lease(fence);
}

void fence_give_up(struct fence *fence)
{
    loop_timer_stop(&fence->settle);
    fence->state = FENCE_DOWN;
}
