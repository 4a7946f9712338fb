#include "operator/serve/metrics/metrics_server.h"

#include "base/core/mem.h"
#include "base/doc/openmetrics.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/http/http_server.h"
#include "operator/kube/client/client.h"
#include "operator/serve/certificates/certificate.h"
#include "operator/serve/metrics/auth_filter.h"
#include "operator/serve/pages/pages.h"

#define METRICS "/metrics"
#define FILE_MAX_BYTES ((size_t)256 * 1024)
#define RELOAD_MS 10000 /* kubelets need longer until a changed Secret shows in a pod */

struct metrics_server {
    struct loop *loop;
    struct metrics_server_options options;
    struct http_server_route routes[2 + PAGE_LISTS + 1]; /* the last one ends the list */
    struct http_server *http_server;
    struct auth_filter *auth_filter;
    struct certificate served;
    struct loop_timer timer;
    bool has_logged_problem; /* the current problem with the files is logged */
};

static int64_t now_s(void)
{
    return loop_unix_micros() / 1000000;
}

static void serve(void *ctx, struct http_server_request *request, const struct http_server_request_info *view)
{
    struct metrics_server *server = ctx;
    AUTO(str) struct str text = {0};

    if (!str_eq(view->path, METRICS)) {
        pages_serve(server->options.pages, request, view);
        return;
    }
    server->options.metrics(server->options.ctx, &text);
    http_server_reply(request, 200, OPENMETRICS_CONTENT_TYPE, str_slice(&text));
}

static void cancel(void *ctx, struct http_server_request *request)
{
    struct metrics_server *server = ctx;

    pages_cancel(server->options.pages, request);
}

/* ---- the certificate ---- */

static bool read_one(const struct metrics_server *server, const char *file, char **ret, struct err *err)
{
    AUTO(mem) char *path = mem_printf("%s/%s", server->options.certificate_in, file);
    AUTO(str) struct str text = {0};

    if (!file_read(path, FILE_MAX_BYTES, &text, err))
        return false;
    *ret = str_take(&text);
    return true;
}

/* The certificate to serve now; false with an error if there is none. */
static bool load_certificate(const struct metrics_server *server, struct certificate *ret, struct err *err)
{
    if (server->options.certificate_in)
        return read_one(server, "tls.crt", &ret->cert, err) && read_one(server, "tls.key", &ret->key, err);
    certificate_make(server->options.names, now_s(), NULL, ret);
    return true;
}

static bool is_due(const struct metrics_server *server)
{
    return server->options.certificate_in || now_s() >= certificate_renewal_time_s(&server->served);
}

static void swap_certificate(struct metrics_server *server, struct certificate *next)
{
    struct certificate old = server->served;

    server->served = *next;
    *next = old;
    server->has_logged_problem = false;
}

/* A partial update, or a mistake: keep the current certificate, and log the problem once. */
static void log_problem_once(struct metrics_server *server, const struct err *err)
{
    if (!server->has_logged_problem)
        log_error("cannot load the /metrics certificate, keeping the previous one",
                  KV("directory", server->options.certificate_in), KV("cause", err->msg));
    server->has_logged_problem = true;
}

static void renew(struct metrics_server *server)
{
    AUTO(certificate) struct certificate next = {0};
    struct err err = {0};

    if (!load_certificate(server, &next, &err)) {
        log_problem_once(server, &err);
        return;
    }
    if (str_eq(next.cert, server->served.cert) && str_eq(next.key, server->served.key))
        return;
    if (!http_server_set_tls(server->http_server, &(struct http_server_tls){next.cert, next.key}, &err)) {
        log_problem_once(server, &err);
        return;
    }
    swap_certificate(server, &next);
    log_info("/metrics certificate loaded");
}

static void on_timer(struct loop_timer *timer)
{
    struct metrics_server *server = CONTAINER_OF(timer, struct metrics_server, timer);

    if (is_due(server))
        renew(server);
    loop_timer_start(server->loop, &server->timer, RELOAD_MS, on_timer);
}

/* ---- life cycle ---- */

static bool open_server(struct metrics_server *server, struct err *err)
{
    if (!load_certificate(server, &server->served, err))
        return false;
    server->http_server =
        http_server_new(server->loop,
                        &(struct http_server_options){
                            .port = server->options.port,
                            .routes = server->routes,
                            .connections_per_peer = PAGES_CONNECTIONS_PER_PEER,
                            .tls = &(struct http_server_tls){server->served.cert, server->served.key}},
                        err);
    return server->http_server != NULL;
}

struct metrics_server *metrics_server_new(struct kube *kube, const struct metrics_server_options *options,
                                          struct err *err)
{
    struct metrics_server *server = NEW(struct metrics_server);

    server->loop = kube_loop(kube);
    server->options = *options;
    server->auth_filter = auth_filter_new(kube, &(struct auth_filter_handler){serve, cancel, server});
    for (size_t i = 0; i <= PAGE_LISTS; i++)
        server->routes[i] =
            (struct http_server_route){.path = i ? page_list_path((enum page_list)(i - 1)) : METRICS,
                                       .fn = auth_filter_handle,
                                       .gone = auth_filter_cancel,
                                       .ctx = server->auth_filter};
    server->routes[PAGE_LISTS + 1] = (struct http_server_route){.path = WHAT_IF_PATH,
                                                                .methods = "POST",
                                                                .max_body = WHAT_IF_BODY_MAX,
                                                                .fn = auth_filter_handle,
                                                                .gone = auth_filter_cancel,
                                                                .ctx = server->auth_filter};
    if (!open_server(server, err)) {
        err_wrap(err, "cannot serve /metrics");
        metrics_server_free(server);
        return NULL;
    }
    loop_timer_start(server->loop, &server->timer, RELOAD_MS, on_timer);
    return server;
}

void metrics_server_free(struct metrics_server *server)
{
    if (!server)
        return;
    loop_timer_stop(&server->timer);
    http_server_free(server->http_server); /* and with it every pending request */
    auth_filter_free(server->auth_filter);
    certificate_release(&server->served);
    mem_free(server);
}

uint16_t metrics_server_port(const struct metrics_server *server)
{
    return http_server_port(server->http_server);
}

int64_t metrics_server_certificate_expiry_s(const struct metrics_server *server)
{
    return certificate_end_s(&server->served);
}
