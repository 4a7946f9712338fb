#include "operator/serve/progress/progress_server.h"

#include "base/core/mem.h"
#include "base/http/http_client.h"
#include "base/http/http_server.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/api/names.h"
#include "operator/kube/client/client.h"
#include "operator/progress/report.h"
#include "operator/progress/token.h"
#include "operator/serve/metrics/authz.h"
#include "operator/serve/progress/progress_certificate.h"

#define KEYS_PATH "/openid/v1/jwks"
enum {
    CONNECTIONS_PER_PEER = 64, /* in the network of its node, all pods of a node are one peer */
    KEYS_EVERY_MS = 10 * 1000, /* at most, however many tokens name an unknown key */
    FORWARDS_MAX = 32,         /* to the leader, at a time; further reports are dropped */
    FORWARD_TIMEOUT_MS = 3000
};

struct progress_server {
    struct loop *loop;
    struct kube *kube;
    struct progress_server_options options;
    struct http_server_route routes[2]; /* the last one ends the list */
    struct http_server *http_server;    /* NULL until the certificate is known */
    struct http_client *to_leader;
    unsigned forwards;
    struct progress_certificate *certificate;
    struct pod_progress access;
    struct token_keys *keys; /* NULL: not read yet */
    struct kube_call *keys_call;
    struct loop_timer keys_timer; /* while it runs, the keys are not read again */
};

/* ---- the API server's keys ---- */

static void on_keys_pause_over(struct loop_timer *timer)
{
    (void)timer;
}

static void on_keys(void *ctx, struct kube_response *res)
{
    struct progress_server *server = ctx;
    struct err err = res->err;
    struct token_keys *keys = err.kind == ERR_NONE ? token_keys_new(res->body, &err) : NULL;

    server->keys_call = NULL;
    if (!keys) {
        log_warn("cannot read the keys that service account tokens are signed with", KV("path", KEYS_PATH),
                 KV("cause", err.msg));
        return;
    }
    token_keys_free(server->keys);
    server->keys = keys;
}

static void read_keys(struct progress_server *server)
{
    if (server->keys_call || loop_timer_is_running(&server->keys_timer))
        return;
    loop_timer_start(server->loop, &server->keys_timer, KEYS_EVERY_MS, on_keys_pause_over);
    server->keys_call = kube_send(
        server->kube,
        &(struct kube_request){.method = "GET", .path = KEYS_PATH, .accept = "application/jwk-set+json"},
        on_keys, server);
}

/* ---- reports ---- */

static void on_forwarded(void *ctx, const struct http_response *res, const struct err *err)
{
    struct progress_server *server = ctx;

    server->forwards--;
    if (err->kind != ERR_NONE || res->status != 200)
        log_debug("cannot send a report of progress on to the leader", KV("cause", err->msg));
}

/* The program does not wait for it: it may stand still until it is answered. */
static void forward(struct progress_server *server, const struct token_pod *pod, struct slice body)
{
    AUTO(str) struct str url = {0};
    struct leader_endpoint leader;

    if (server->forwards >= FORWARDS_MAX || !server->options.leader(server->options.ctx, &leader))
        return;
    str_addf(&url, "http://%s" PROGRESS_FORWARD_PATH "?", leader.address);
    http_add_escaped(&url, pod->ns);
    str_addc(&url, '&');
    http_add_escaped(&url, pod->name);
    str_addc(&url, '&');
    http_add_escaped(&url, pod->uid);
    server->forwards++;
    (void)http_send(server->to_leader, &(struct http_request){.method = "POST",
                                                              .url = str_text(&url),
                                                              .bearer_token = leader.key,
                                                              .content_type = "application/json",
                                                              .body = body,
                                                              .timeout_ms = FORWARD_TIMEOUT_MS,
                                                              .on_done = on_forwarded,
                                                              .ctx = server});
}

static void take(struct progress_server *server, struct http_server_request *request,
                 const struct token_pod *pod, struct slice body)
{
    bool is_known = true;

    if (!server->options.report(server->options.ctx, pod, body, &is_known))
        forward(server, pod, body);
    if (is_known)
        http_server_reply(request, 200, "application/json", slice_of("{}"));
    else
        http_server_replyf(request, 403, "pod %s/%s is no running pod of an IPUJob\n", pod->ns, pod->name);
}

static void on_request(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    struct progress_server *server = ctx;
    const char *token = authz_bearer_token(view->authorization);
    AUTO(token_pod) struct token_pod pod = {0};
    struct err err = {0};

    if (!token) {
        http_server_replyf(request, 401, "a token of the pod is required\n");
    } else if (!server->keys) {
        read_keys(server);
        http_server_replyf(request, 503, "the keys of the API server are not known yet; retry later\n");
    } else if (token_verify(server->keys, token, PROGRESS_AUDIENCE, loop_unix_micros() / 1000000, &pod,
                            &err)) {
        take(server, request, &pod, view->body);
    } else {
        if (err.kind == ERR_NOT_FOUND)
            read_keys(server);
        http_server_replyf(request, 401, "%s\n", err.msg);
    }
}

/* ---- start ---- */

static void on_certificate(void *ctx, const struct certificate *certificate)
{
    struct progress_server *server = ctx;
    struct err err = {0};

    server->http_server = http_server_new(
        server->loop,
        &(struct http_server_options){
            .port = server->options.port,
            .routes = server->routes,
            .tls = &(struct http_server_tls){.certificates = certificate->cert, .key = certificate->key},
            .connections_per_peer = CONNECTIONS_PER_PEER},
        &err);
    if (!server->http_server) {
        log_error("cannot serve reports of progress", KV("cause", err.msg));
        return;
    }
    server->access.ca = mem_strdup(certificate->ca);
    server->access.url = mem_printf("https://%s:%u" PROGRESS_PATH, server->options.names->items[0],
                                    (unsigned)http_server_port(server->http_server));
    log_info("serving reports of progress",
             KVF("progress_port", "%u", (unsigned)http_server_port(server->http_server)));
}

struct progress_server *progress_server_new(struct kube *kube, const struct progress_server_options *options,
                                            struct err *err)
{
    struct http_client *to_leader =
        http_client_new(kube_loop(kube), &(struct http_client_options){.user_agent = "ipu-operator"}, err);
    struct progress_server *server;

    if (!to_leader)
        return NULL;
    server = NEW(struct progress_server);
    server->loop = kube_loop(kube);
    server->kube = kube;
    server->options = *options;
    server->to_leader = to_leader;
    server->routes[0] = (struct http_server_route){.path = PROGRESS_PATH,
                                                   .methods = "POST",
                                                   .fn = on_request,
                                                   .ctx = server,
                                                   .max_body = PROGRESS_BODY_MAX};
    server->certificate = progress_certificate_new(
        kube, &(struct progress_certificate_options){.ns = options->ns,
                                                     .secret = options->secret,
                                                     .names = options->names,
                                                     .on_certificate = on_certificate,
                                                     .ctx = server});
    read_keys(server);
    return server;
}

const struct pod_progress *progress_server_access(const struct progress_server *server)
{
    return server ? &server->access : NULL;
}

void progress_server_free(struct progress_server *server)
{
    if (!server)
        return;
    progress_certificate_free(server->certificate);
    if (server->http_server)
        http_server_free(server->http_server);
    http_client_free(server->to_leader);
    kube_cancel(server->keys_call);
    loop_timer_stop(&server->keys_timer);
    token_keys_free(server->keys);
    mem_free(server->access.url);
    mem_free(server->access.ca);
    mem_free(server);
}
