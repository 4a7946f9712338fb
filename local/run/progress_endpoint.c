#include "local/run/progress_endpoint.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/http/http_server.h"
#include "base/io/loop.h"
#include "operator/api/names.h"
#include "operator/progress/report.h"
#include "operator/serve/certificates/certificate.h"
#include "operator/serve/metrics/authz.h"

#define HOST "localhost" /* which proxies usually leave alone */
#define ADDRESS "127.0.0.1"

struct progress_endpoint {
    struct progress_endpoint_options options;
    struct http_server_route routes[2]; /* the last one ends the list */
    struct http_server *server;
    struct pod_progress access;
    struct map pods; /* token -> struct token_pod */
};

static void on_request(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    struct progress_endpoint *endpoint = ctx;
    const char *token = authz_bearer_token(view->authorization);
    const struct token_pod *pod = token ? map_get(&endpoint->pods, token) : NULL;

    if (!pod)
        http_server_replyf(request, 401, "a token of the pod is required\n");
    else if (endpoint->options.report(endpoint->options.ctx, pod, view->body))
        http_server_reply(request, 200, "application/json", slice_of("{}"));
    else
        http_server_replyf(request, 403, "pod %s/%s is no running pod of an IPUJob\n", pod->ns, pod->name);
}

struct progress_endpoint *
progress_endpoint_new(struct loop *loop, const struct progress_endpoint_options *options, struct err *err)
{
    struct progress_endpoint *endpoint = NEW(struct progress_endpoint);
    AUTO(certificate) struct certificate made = {0};
    AUTO(strv) struct strv names = {0};

    strv_push(&names, HOST);
    certificate_make_lasting(&names, loop_unix_micros() / 1000000, &made);
    endpoint->options = *options;
    endpoint->routes[0] = (struct http_server_route){.path = PROGRESS_PATH,
                                                     .methods = "POST",
                                                     .fn = on_request,
                                                     .ctx = endpoint,
                                                     .max_body = PROGRESS_BODY_MAX};
    endpoint->server =
        http_server_new(loop,
                        &(struct http_server_options){.address = ADDRESS,
                                                      .routes = endpoint->routes,
                                                      .tls = &(struct http_server_tls){made.cert, made.key}},
                        err);
    if (!endpoint->server) {
        mem_free(endpoint);
        return NULL;
    }
    endpoint->access = (struct pod_progress){
        .url = mem_printf("https://" HOST ":%u" PROGRESS_PATH, (unsigned)http_server_port(endpoint->server)),
        .ca = mem_strdup(made.ca)};
    return endpoint;
}

void progress_endpoint_free(struct progress_endpoint *endpoint)
{
    void *value;

    if (!endpoint)
        return;
    http_server_free(endpoint->server);
    for (size_t i = 0; map_next(&endpoint->pods, &i, NULL, &value);) {
        token_pod_release(value);
        mem_free(value);
    }
    map_release(&endpoint->pods);
    mem_free(endpoint->access.url);
    mem_free(endpoint->access.ca);
    mem_free(endpoint);
}

const struct pod_progress *progress_endpoint_access(const struct progress_endpoint *endpoint)
{
    return &endpoint->access;
}

char *progress_endpoint_token(struct progress_endpoint *endpoint, const cJSON *pod)
{
    struct token_pod *known = NEW(struct token_pod);
    uint64_t random[2];
    char *token;

    loop_random(random, sizeof(random));
    token = mem_printf("%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
    *known = (struct token_pod){mem_strdup(json_str(pod, "metadata/namespace", "")),
                                mem_strdup(json_str(pod, "metadata/name", "")),
                                mem_strdup(json_str(pod, "metadata/uid", ""))};
    map_set(&endpoint->pods, token, known);
    return token;
}
