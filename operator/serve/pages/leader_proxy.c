#include "operator/serve/pages/leader_proxy.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/http/http_client.h"

#define TIMEOUT_MS 3000
#define ANSWER_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define MARK "from=standby"
#define BEARER "Bearer "

struct leader_proxy {
    struct http_client *http;
    struct proxied_request *requests;
    unsigned count;
};

/* A request that the leader is being asked. */
struct proxied_request {
    struct leader_proxy *leader_proxy;
    struct proxied_request *next, **link; /* in the list of all */
    struct http_server_request *request;
    struct http_call *call;
};

static void proxied_request_free(struct proxied_request *proxied_request)
{
    *proxied_request->link = proxied_request->next;
    if (proxied_request->next)
        proxied_request->next->link = proxied_request->link;
    proxied_request->leader_proxy->count--;
    mem_free(proxied_request);
}

static struct proxied_request *proxied_request_new(struct leader_proxy *proxy,
                                                   struct http_server_request *request)
{
    struct proxied_request *proxied_request = NEW(struct proxied_request);

    proxied_request->leader_proxy = proxy;
    proxied_request->request = request;
    proxied_request->next = proxy->requests;
    proxied_request->link = &proxy->requests;
    if (proxied_request->next)
        proxied_request->next->link = &proxied_request->next;
    proxy->requests = proxied_request;
    proxy->count++;
    return proxied_request;
}

static void on_answer(void *ctx, const struct http_response *res, const struct err *err)
{
    struct proxied_request *proxied_request = ctx;
    struct http_server_request *request = proxied_request->request;

    proxied_request_free(proxied_request);
    if (err->kind != ERR_NONE)
        http_server_replyf(request, 503, "not the leader, and the leader does not respond: %s\n", err->msg);
    else
        http_server_reply(request, res->status, res->content_type, res->body);
}

struct leader_proxy *leader_proxy_new(struct loop *loop, struct err *err)
{
    struct http_client *http =
        http_client_new(loop, &(struct http_client_options){.user_agent = "ipu-operator"}, err);
    struct leader_proxy *proxy;

    if (!http)
        return NULL;
    proxy = NEW(struct leader_proxy);
    proxy->http = http;
    return proxy;
}

void leader_proxy_free(struct leader_proxy *proxy)
{
    if (!proxy)
        return;
    http_client_free(proxy->http);
    while (proxy->requests)
        proxied_request_free(proxy->requests);
    mem_free(proxy);
}

/* The server has decoded it. */
static void add_query(const char *query, struct str *url)
{
    AUTO(strv) struct strv words = {0};

    strv_split(query, '&', &words);
    for (size_t i = 0; i < words.count; i++) {
        char *value = strchr(words.items[i], '=');

        if (value)
            *value++ = '\0';
        (void)str_addc(url, '&');
        http_add_escaped(url, words.items[i]);
        (void)str_adds(url, value ? "=" : "");
        http_add_escaped(url, value ? value : "");
    }
}

void leader_proxy_forward(struct leader_proxy *proxy, struct http_server_request *request,
                          const struct http_server_request_info *view, const struct leader_endpoint *leader)
{
    AUTO(str) struct str url = {0};
    struct proxied_request *proxied_request;

    if (proxy->count >= LEADER_PROXY_REQUESTS_MAX) {
        http_server_replyf(request, 429, "too many requests; retry later\n");
        return;
    }
    (void)str_addf(&url, "http://%s%s?" MARK, leader->address, view->path);
    add_query(view->query, &url);
    proxied_request = proxied_request_new(proxy, request);
    proxied_request->call = http_send(
        proxy->http, &(struct http_request){.method = view->method,
                                            .url = str_text(&url),
                                            .bearer_token = leader->key,
                                            .content_type = view->body.len ? "application/json" : NULL,
                                            .body = view->body,
                                            .timeout_ms = TIMEOUT_MS,
                                            .max_body = ANSWER_MAX_BYTES,
                                            .on_done = on_answer,
                                            .ctx = proxied_request});
}

void leader_proxy_cancel(struct leader_proxy *proxy, struct http_server_request *request)
{
    struct proxied_request *proxied_request = proxy->requests;

    while (proxied_request && proxied_request->request != request)
        proxied_request = proxied_request->next;
    if (!proxied_request)
        return;
    http_cancel(proxied_request->call);
    proxied_request_free(proxied_request);
}

bool leader_proxy_is_forwarded(const struct http_server_request_info *view)
{
    return str_has_prefix(view->query, MARK);
}

/* Every byte is compared, so that the time does not tell how many are right. */
bool leader_proxy_is_trusted(const struct http_server_request_info *view, const char *key)
{
    const char *given = view->authorization;
    size_t len = key ? strlen(key) : 0;
    unsigned differs = 0;

    if (!len || !str_has_prefix(given, BEARER) || strlen(given) != strlen(BEARER) + len)
        return false;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)given[strlen(BEARER) + i] ^ (unsigned char)key[i];
    return differs == 0;
}
