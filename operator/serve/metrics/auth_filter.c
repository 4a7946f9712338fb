#include "operator/serve/metrics/auth_filter.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/serve/metrics/authz.h"

#define ASK_MS 4000

struct auth_filter {
    struct kube *kube;
    void (*let)(void *ctx, struct http_server_request *request);
    void *ctx;
    struct authz_cache memory;
    struct visit *visits;
    unsigned visit_count;
};

/* A request whose bearer is being asked about. */
struct visit {
    struct auth_filter *auth_filter;
    struct visit *next, **link; /* in the list of all */
    struct http_server_request *request;
    struct authz_digest digest;
    char *path;
    struct kube_call *call;
};

static void visit_free(struct visit *visit)
{
    *visit->link = visit->next;
    if (visit->next)
        visit->next->link = visit->link;
    visit->auth_filter->visit_count--;
    kube_cancel(visit->call);
    mem_free(visit->path);
    mem_free(visit);
}

static struct visit *visit_new(struct auth_filter *auth_filter, struct http_server_request *request,
                               const char *path)
{
    struct visit *visit = NEW(struct visit);

    visit->auth_filter = auth_filter;
    visit->request = request;
    visit->path = mem_strdup(path);
    visit->next = auth_filter->visits;
    visit->link = &auth_filter->visits;
    if (visit->next)
        visit->next->link = &visit->next;
    auth_filter->visits = visit;
    auth_filter->visit_count++;
    return visit;
}

static void answer(struct auth_filter *auth_filter, struct http_server_request *request,
                   enum authz_verdict verdict)
{
    switch (verdict) {
    case ACCESS_ALLOWED:
        auth_filter->let(auth_filter->ctx, request);
        break;
    case ACCESS_FORBIDDEN:
        http_server_replyf(
            request, 403,
            "forbidden: bind this account to the ClusterRole labeled component=metrics-reader\n");
        break;
    case ACCESS_NOBODY:
        http_server_replyf(request, 401,
                           "unauthorized: send a token of this cluster as Authorization: Bearer\n");
        break;
    case ACCESS_UNKNOWN:
        http_server_replyf(request, 503, "cannot check the authorization with the API server; retry later\n");
        break;
    }
}

static void decide(struct visit *visit, enum authz_verdict verdict)
{
    struct auth_filter *auth_filter = visit->auth_filter;
    struct http_server_request *request = visit->request;

    if (verdict != ACCESS_UNKNOWN)
        authz_cache_put(&auth_filter->memory, &visit->digest, verdict, loop_clock_ms());
    visit_free(visit);
    answer(auth_filter, request, verdict);
}

/* No answer that could be read: why, for the admin. */
static bool is_silent(const struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && res->body)
        return false;
    log_warn("cannot check the authorization for /metrics", KV("cause", res->err.msg));
    return true;
}

static void ask(struct visit *visit, const struct kube_resource *resource, cJSON *body_take,
                kube_done_fn done)
{
    AUTO(json) cJSON *body = body_take;

    visit->call = kube_send(
        visit->auth_filter->kube,
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
        decide(visit, authz_is_allowed(res->body) ? ACCESS_ALLOWED : ACCESS_FORBIDDEN);
}

static void on_token_review(void *ctx, struct kube_response *res)
{
    struct visit *visit = ctx;
    const cJSON *user = authz_user(res->body);

    visit->call = NULL;
    if (is_silent(res))
        decide(visit, ACCESS_UNKNOWN);
    else if (!user)
        decide(visit, ACCESS_NOBODY);
    else
        ask(visit, &KUBE_SUBJECT_REVIEWS, authz_subject_review(user, visit->path), on_subject_review);
}

void auth_filter_handle(void *ctx, struct http_server_request *request,
                        const struct http_server_request_info *view)
{
    struct auth_filter *auth_filter = ctx;
    const char *token = authz_bearer_token(view->authorization);
    struct authz_digest digest = authz_digest(token ? token : "", view->path);
    enum authz_verdict known =
        token ? authz_cache_get(&auth_filter->memory, &digest, loop_clock_ms()) : ACCESS_NOBODY;
    struct visit *visit;

    if (known != ACCESS_UNKNOWN) {
        answer(auth_filter, request, known);
        return;
    }
    if (auth_filter->visit_count >= GUARD_REVIEWS_MAX) {
        http_server_replyf(request, 429, "too many authorization requests in progress; retry later\n");
        return;
    }
    visit = visit_new(auth_filter, request, view->path);
    visit->digest = digest;
    ask(visit, &KUBE_TOKEN_REVIEWS, authz_token_review(token), on_token_review);
}

void auth_filter_cancel(void *ctx, struct http_server_request *request)
{
    struct auth_filter *auth_filter = ctx;
    struct visit *visit = auth_filter->visits;

    while (visit && visit->request != request)
        visit = visit->next;
    if (visit)
        visit_free(visit);
}

struct auth_filter *auth_filter_new(struct kube *kube,
                                    void (*let)(void *ctx, struct http_server_request *request), void *ctx)
{
    struct auth_filter *auth_filter = NEW(struct auth_filter);

    auth_filter->kube = kube;
    auth_filter->let = let;
    auth_filter->ctx = ctx;
    return auth_filter;
}

void auth_filter_free(struct auth_filter *auth_filter)
{
    if (!auth_filter)
        return;
    while (auth_filter->visits)
        visit_free(auth_filter->visits);
    mem_free(auth_filter);
}
