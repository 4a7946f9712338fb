#include "operator/serve/metrics/auth_filter.h"

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/serve/metrics/authz.h"
#include "operator/serve/metrics/review_queue.h"

#define REVIEW_TIMEOUT_MS 4000

struct auth_filter {
    struct kube *kube;
    struct auth_filter_handler handler;
    struct authz_cache cache;
    struct review_queue reviews;
    struct loop_timer start;
};

/* A request that waits for its reviews. */
struct pending_request {
    struct auth_filter *auth_filter;
    struct review review;
    struct http_server_request *request;
    struct authz_digest digest;
    char *token;        /* NULL once it has been sent */
    const char *method; /* a constant of the server */
    char *path, *query, *peer;
    struct str body;
    struct kube_call *call;
};

static struct pending_request *pending_of(struct review *review)
{
    return CONTAINER_OF(review, struct pending_request, review);
}

static void start_reviews(struct loop_timer *timer);

static void start_reviews_soon(struct auth_filter *filter)
{
    loop_timer_start(kube_loop(filter->kube), &filter->start, 0, start_reviews);
}

/* Not in the queue any more. */
static void pending_request_free(struct pending_request *pending)
{
    kube_cancel(pending->call);
    mem_free_secret(pending->token);
    mem_free(pending->path);
    mem_free(pending->query);
    mem_free(pending->peer);
    str_release(&pending->body);
    mem_free(pending);
}

static void pending_request_remove(struct pending_request *pending)
{
    review_queue_remove(&pending->auth_filter->reviews, &pending->review);
    start_reviews_soon(pending->auth_filter);
    pending_request_free(pending);
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
    pending->peer = mem_strdup(view->peer);
    (void)str_add(&pending->body, view->body.ptr, view->body.len);
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
    AUTO(mem) char *peer = TAKE(pending->peer);
    AUTO(str) struct str body = pending->body;
    const struct http_server_request_info view = {.method = pending->method,
                                                  .path = path,
                                                  .query = query,
                                                  .authorization = "",
                                                  .peer = peer,
                                                  .body = str_slice(&body)};

    pending->body = (struct str){0};

    if (verdict != AUTHZ_UNKNOWN)
        authz_cache_put(&filter->cache, &pending->digest, verdict, loop_clock_ms());
    pending_request_remove(pending);
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

/* In a turn of its own: a reply may come from inside a handler. */
static void start_reviews(struct loop_timer *timer)
{
    struct auth_filter *filter = CONTAINER_OF(timer, struct auth_filter, start);
    struct review *review;

    while ((review = review_queue_next(&filter->reviews))) {
        struct pending_request *pending = pending_of(review);

        send_review(pending, &KUBE_TOKEN_REVIEWS, authz_token_review(pending->token), on_token_review);
        mem_free_secret(TAKE(pending->token));
    }
}

static void enqueue(struct pending_request *pending, const char *peer)
{
    struct review *superfluous = review_queue_add(&pending->auth_filter->reviews, &pending->review, peer);

    start_reviews_soon(pending->auth_filter);
    if (!superfluous)
        return;
    http_server_replyf(pending_of(superfluous)->request, 429,
                       "too many requests wait for their authorization; retry later\n");
    pending_request_free(pending_of(superfluous));
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
    pending = pending_request_new(filter, request, view);
    pending->digest = digest;
    pending->token = mem_strdup(token);
    enqueue(pending, view->peer);
}

void auth_filter_cancel(void *ctx, struct http_server_request *request)
{
    struct auth_filter *filter = ctx;
    struct review *review;

    TAILQ_FOREACH(review, &filter->reviews, entry)
    {
        if (pending_of(review)->request == request) {
            pending_request_remove(pending_of(review));
            return;
        }
    }
    filter->handler.cancel(filter->handler.ctx, request);
}

struct auth_filter *auth_filter_new(struct kube *kube, const struct auth_filter_handler *handler)
{
    struct auth_filter *filter = NEW(struct auth_filter);

    filter->kube = kube;
    filter->handler = *handler;
    TAILQ_INIT(&filter->reviews);
    return filter;
}

void auth_filter_free(struct auth_filter *filter)
{
    struct review *review;

    if (!filter)
        return;
    while ((review = TAILQ_FIRST(&filter->reviews)))
        pending_request_remove(pending_of(review));
    loop_timer_stop(&filter->start);
    mem_free(filter);
}
