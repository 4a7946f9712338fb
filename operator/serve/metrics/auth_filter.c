#include "operator/serve/metrics/auth_filter.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/serve/metrics/authz.h"

#define REVIEW_TIMEOUT_MS 4000

struct auth_filter {
    struct kube *kube;
    struct auth_filter_handler handler;
    struct authz_cache cache;
    struct authz_places places;
    struct pending_request *pending;
};

/* A request that waits for its reviews. */
struct pending_request {
    struct auth_filter *auth_filter;
    struct pending_request *next, **link; /* in the list of all */
    struct http_server_request *request;
    char *place; /* of the filter's */
    struct authz_digest digest;
    const char *method; /* a constant of the server */
    char *path, *query;
    struct kube_call *call;
};

static void pending_request_free(struct pending_request *pending)
{
    *pending->link = pending->next;
    if (pending->next)
        pending->next->link = pending->link;
    *pending->place = '\0';
    kube_cancel(pending->call);
    mem_free(pending->path);
    mem_free(pending->query);
    mem_free(pending);
}

static struct pending_request *pending_request_new(struct auth_filter *filter,
                                                   struct http_server_request *request,
                                                   const struct http_server_request_info *view)
{
    struct pending_request *pending = NEW(struct pending_request);

    pending->auth_filter = filter;
    pending->request = request;
    pending->method = view->method;
    pending->path = mem_strdup(view->path);
    pending->query = mem_strdup(view->query);
    pending->next = filter->pending;
    pending->link = &filter->pending;
    if (pending->next)
        pending->next->link = &pending->next;
    filter->pending = pending;
    return pending;
}

static void reply(struct auth_filter *filter, struct http_server_request *request,
                  const struct http_server_request_info *view, enum authz_verdict verdict)
{
    switch (verdict) {
    case AUTHZ_ALLOWED:
        filter->handler.fn(filter->handler.ctx, request, view);
        break;
    case AUTHZ_FORBIDDEN:
        http_server_replyf(request, 403,
                           "forbidden: bind this account to the ClusterRole labeled component=%s-reader\n",
                           str_eq(view->path, "/metrics") ? "metrics" : "pages");
        break;
    case AUTHZ_UNAUTHENTICATED:
        http_server_replyf(request, 401,
                           "unauthorized: send a token of this cluster as Authorization: Bearer\n");
        break;
    case AUTHZ_UNKNOWN:
        http_server_replyf(request, 503, "cannot check the authorization with the API server; retry later\n");
        break;
    }
}

static void finish_request(struct pending_request *pending, enum authz_verdict verdict)
{
    struct auth_filter *filter = pending->auth_filter;
    struct http_server_request *request = pending->request;
    AUTO(mem) char *path = TAKE(pending->path);
    AUTO(mem) char *query = TAKE(pending->query);
    const struct http_server_request_info view = {
        .method = pending->method, .path = path, .query = query, .authorization = ""};

    if (verdict != AUTHZ_UNKNOWN)
        authz_cache_put(&filter->cache, &pending->digest, verdict, loop_clock_ms());
    pending_request_free(pending);
    reply(filter, request, &view, verdict);
}

/* True if there is no usable response; logs the cause for the admin. */
static bool log_if_no_response(const struct kube_response *res)
{
    if (res->err.kind == ERR_NONE && res->body)
        return false;
    log_warn("cannot check the authorization of a client", KV("cause", res->err.msg));
    return true;
}

static void send_review(struct pending_request *pending, const struct kube_resource *resource,
                        cJSON *body_take, kube_done_fn done)
{
    AUTO(json) cJSON *body = body_take;

    pending->call = kube_send(pending->auth_filter->kube,
                              &(struct kube_request){.method = "POST",
                                                     .resource = resource,
                                                     .body = body,
                                                     .timeout_ms = REVIEW_TIMEOUT_MS,
                                                     .retry_post = true},
                              done, pending);
}

static void on_subject_review(void *ctx, struct kube_response *res)
{
    struct pending_request *pending = ctx;

    pending->call = NULL;
    if (log_if_no_response(res))
        finish_request(pending, AUTHZ_UNKNOWN);
    else
        finish_request(pending, authz_is_allowed(res->body) ? AUTHZ_ALLOWED : AUTHZ_FORBIDDEN);
}

static void on_token_review(void *ctx, struct kube_response *res)
{
    struct pending_request *pending = ctx;
    const cJSON *user = authz_user(res->body);

    pending->call = NULL;
    if (log_if_no_response(res))
        finish_request(pending, AUTHZ_UNKNOWN);
    else if (!user)
        finish_request(pending, AUTHZ_UNAUTHENTICATED);
    else
        send_review(pending, &KUBE_SUBJECT_REVIEWS, authz_subject_review(user, pending->path),
                    on_subject_review);
}

void auth_filter_handle(void *ctx, struct http_server_request *request,
                        const struct http_server_request_info *view)
{
    struct auth_filter *filter = ctx;
    const char *token = authz_bearer_token(view->authorization);
    struct authz_digest digest = authz_digest(token ? token : "", view->path);
    enum authz_verdict known =
        token ? authz_cache_get(&filter->cache, &digest, loop_clock_ms()) : AUTHZ_UNAUTHENTICATED;
    struct pending_request *pending;

    if (known != AUTHZ_UNKNOWN) {
        reply(filter, request, view, known);
        return;
    }
    char *place = authz_take_place(&filter->places, view->peer);
    if (!place) {
        http_server_replyf(request, 429, "too many authorization requests in progress; retry later\n");
        return;
    }
    pending = pending_request_new(filter, request, view);
    pending->place = place;
    pending->digest = digest;
    send_review(pending, &KUBE_TOKEN_REVIEWS, authz_token_review(token), on_token_review);
}

void auth_filter_cancel(void *ctx, struct http_server_request *request)
{
    struct auth_filter *filter = ctx;
    struct pending_request *pending = filter->pending;

    while (pending && pending->request != request)
        pending = pending->next;
    if (pending)
        pending_request_free(pending);
    else
        filter->handler.cancel(filter->handler.ctx, request);
}

struct auth_filter *auth_filter_new(struct kube *kube, const struct auth_filter_handler *handler)
{
    struct auth_filter *filter = NEW(struct auth_filter);

    filter->kube = kube;
    filter->handler = *handler;
    return filter;
}

void auth_filter_free(struct auth_filter *filter)
{
    if (!filter)
        return;
    while (filter->pending)
        pending_request_free(filter->pending);
    mem_free(filter);
}
