#include "operator/serve/metrics/metrics_server.h"

#include "base/core/mem.h"
#include "base/doc/openmetrics.h"
#include "base/http/http_server.h"
#include "operator/kube/client/client.h"
#include "operator/serve/certificates/server_certificate.h"
#include "operator/serve/metrics/auth_filter.h"
#include "operator/serve/pages/pages.h"

#define METRICS "/metrics"

struct metrics_server {
    struct loop *loop;
    struct metrics_server_options options;
    struct http_server_route routes[2 + PAGE_LISTS + 1]; /* the last one ends the list */
    struct http_server *http_server;
    struct auth_filter *auth_filter;
    struct server_certificate *certificate;
};

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

static bool use_certificate(void *ctx, const struct http_server_tls *tls, struct err *err)
{
    struct metrics_server *server = ctx;

    return http_server_set_tls(server->http_server, tls, err);
}

static bool open_server(struct metrics_server *server, struct err *err)
{
    struct http_server_tls tls;

    server->certificate = server_certificate_new(
        server->loop,
        &(struct server_certificate_options){.server = METRICS,
                                             .directory = server->options.certificate_in,
                                             .names = server->options.names,
                                             .use = use_certificate,
                                             .ctx = server},
        err);
    if (!server->certificate)
        return false;
    tls = server_certificate_tls(server->certificate);
    server->http_server =
        http_server_new(server->loop,
                        &(struct http_server_options){.port = server->options.port,
                                                      .routes = server->routes,
                                                      .connections_per_peer = PAGES_CONNECTIONS_PER_PEER,
                                                      .tls = &tls},
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
    return server;
}

void metrics_server_free(struct metrics_server *server)
{
    if (!server)
        return;
    server_certificate_free(server->certificate);
    http_server_free(server->http_server); /* and with it every pending request */
    auth_filter_free(server->auth_filter);
    mem_free(server);
}

uint16_t metrics_server_port(const struct metrics_server *server)
{
    return http_server_port(server->http_server);
}

int64_t metrics_server_certificate_expiry_s(const struct metrics_server *server)
{
    return server_certificate_end_s(server->certificate);
}
