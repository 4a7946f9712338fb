#include "operator/serve/guard.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client.h"
#include "operator/serve/access.h"

#define ASK_MS 4000

struct guard {
    struct kube *kube;
    void (*let)(void *ctx, struct serve_request *request);
    void *ctx;
    struct access_memory memory;
    struct visit *visits;
    unsigned visit_count;
};

/* A request whose bearer is being asked about. */
struct visit {
    struct guard *guard;
    struct visit *next, **link; /* in the list of all */
    struct serve_request *request;
    struct access_digest digest;
    char *path;
    struct kube_call *call;
};

static void visit_free(struct visit *visit)
{
    *visit->link = visit->next;
    if (visit->next)
        visit->next->link = visit->link;
    visit->guard->visit_count--;
    kube_cancel(visit->call);
    mem_free(visit->path);
    mem_free(visit);
}

static struct visit *visit_new(struct guard *guard, struct serve_request *request, const char *path)
{
    struct visit *visit = NEW(struct visit);

    visit->guard = guard;
    visit->request = request;
    visit->path = mem_strdup(path);
    visit->next = guard->visits;
    visit->link = &guard->visits;
    if (visit->next)
        visit->next->link = &visit->next;
    guard->visits = visit;
    guard->visit_count++;
    return visit;
}

static void answer(struct guard *guard, struct serve_request *request, enum access_verdict verdict)
{
    switch (verdict) {
    case ACCESS_ALLOWED:
        guard->let(guard->ctx, request);
        break;
    case ACCESS_FORBIDDEN:
        serve_replyf(request, 403,
                     "the bearer of this token may not read this page: bind it to the ClusterRole with the "
                     "label component=metrics-reader\n");
        break;
    case ACCESS_NOBODY:
        serve_replyf(request, 401, "send a token that this cluster knows, as Authorization: Bearer\n");
        break;
    case ACCESS_UNKNOWN:
        serve_replyf(request, 503, "the API server does not say who may read this page; try again\n");
        break;
    }
}

static void decide(struct visit *visit, enum access_verdict verdict)
{
    struct guard *guard = visit->guard;
    struct serve_request *request = visit->request;

    if (verdict != ACCESS_UNKNOWN)
        access_remember(&guard->memory, &visit->digest, verdict, loop_clock_ms());
    visit_free(visit);
    answer(guard, request, verdict);
}

/* No answer that could be read: why, for the admin. */
static bool is_silent(const struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && res->body)
        return false;
    log_warn("the API server does not say who may read /metrics", KV("cause", res->err.msg));
    return true;
}

static void ask(struct visit *visit, const struct kube_resource *resource, cJSON *body_take,
                kube_done_fn done)
{
    AUTO(json) cJSON *body = body_take;

    visit->call = kube_send(
        visit->guard->kube,
        &(struct kube_request){
            .method = "POST", .resource = resource, .body = body, .timeout_ms = ASK_MS, .retry_post = true},
        done, visit);
}

static void on_subject_review(void *ctx, struct kube_response *res)
{
    struct visit *visit = ctx;

    visit->call = NULL;
    if (is_silent(res))
        decide(visit, ACCESS_UNKNOWN);
    else
        decide(visit, access_is_allowed(res->body) ? ACCESS_ALLOWED : ACCESS_FORBIDDEN);
}

static void on_token_review(void *ctx, struct kube_response *res)
{
    struct visit *visit = ctx;
    const cJSON *user = access_user(res->body);

    visit->call = NULL;
    if (is_silent(res))
        decide(visit, ACCESS_UNKNOWN);
    else if (!user)
        decide(visit, ACCESS_NOBODY);
    else
        ask(visit, &KUBE_SUBJECT_REVIEWS, access_subject_review(user, visit->path), on_subject_review);
}

void guard_ask(void *ctx, struct serve_request *request, const struct serve_view *view)
{
    struct guard *guard = ctx;
    const char *token = access_token(view->authorization);
    struct access_digest digest = access_digest(token ? token : "", view->path);
    enum access_verdict known =
        token ? access_recall(&guard->memory, &digest, loop_clock_ms()) : ACCESS_NOBODY;
    struct visit *visit;

    if (known != ACCESS_UNKNOWN) {
        answer(guard, request, known);
        return;
    }
    if (guard->visit_count >= GUARD_REVIEWS_MAX) {
        serve_replyf(request, 429, "too many readers are being asked about; try again\n");
        return;
    }
    visit = visit_new(guard, request, view->path);
    visit->digest = digest;
    ask(visit, &KUBE_TOKEN_REVIEWS, access_token_review(token), on_token_review);
}

void guard_forget(void *ctx, struct serve_request *request)
{
    struct guard *guard = ctx;
    struct visit *visit = guard->visits;

    while (visit && visit->request != request)
        visit = visit->next;
    if (visit)
        visit_free(visit);
}

struct guard *guard_new(struct kube *kube, void (*let)(void *ctx, struct serve_request *request), void *ctx)
{
    struct guard *guard = NEW(struct guard);

    guard->kube = kube;
    guard->let = let;
    guard->ctx = ctx;
    return guard;
}

void guard_free(struct guard *guard)
{
    if (!guard)
        return;
    while (guard->visits)
        visit_free(guard->visits);
    mem_free(guard);
}
