#include "operator/serve/pages/pages.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/core/visible.h"
#include "base/doc/openmetrics.h"
#include "base/io/log.h"
#include "base/http/http_server.h"
#include "operator/api/names.h"
#include "operator/progress/report.h"
#include "operator/progress/token.h"
#include "operator/serve/pages/leader_proxy.h"

enum { PAGES = 9, QUERY_MAX = 1024, WORD_MAX = 16 };

struct pages {
    struct pages_options options;
    struct http_server_route routes[PAGE_LISTS + PAGES + 1]; /* the last one ends the list */
    struct http_server *http_server;
    struct leader_proxy *leader_proxy;
    struct what_if_page *what_if_page;
};

static void on_healthz(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    struct pages *pages = ctx;
    const char *trouble = pages->options.is_well(pages->options.ctx);

    (void)view;
    http_server_replyf(request, trouble ? 503 : 200, "%s\n", trouble ? trouble : "ok");
}

static void on_readyz(void *ctx, struct http_server_request *request,
                      const struct http_server_request_info *view)
{
    struct pages *pages = ctx;
    const char *trouble = pages->options.is_ready(pages->options.ctx);
    AUTO(mem) char *remark = pages->options.remark(pages->options.ctx);

    (void)view;
    http_server_replyf(request, trouble ? 503 : 200, "%s%s%s\n", trouble ? trouble : "ok", remark ? "; " : "",
                       remark ? remark : "");
}

/* Of the leader; the others know nothing. */
static void reply_json(struct pages *pages, struct http_server_request *request,
                       const struct http_server_request_info *view, cJSON *body_take)
{
    AUTO(json) cJSON *body = body_take;
    AUTO(mem) char *text = NULL;
    struct leader_endpoint leader;

    if (!body && !leader_proxy_is_forwarded(view) && pages->options.leader(pages->options.ctx, &leader)) {
        leader_proxy_forward(pages->leader_proxy, request, view, &leader);
        return;
    }
    if (!body) {
        http_server_replyf(request, 503, "no leader, or it is still reading the queue; retry later\n");
        return;
    }
    json_make_visible(body, VISIBLE_LINES);
    text = json_print(body);
    http_server_reply(request, 200, "application/json", slice_of(text));
}

static void serve_what_if(struct pages *pages, struct http_server_request *request,
                          const struct http_server_request_info *view)
{
    AUTO(what_if_request) struct what_if_request asked = {0};
    struct what_if *what_if;

    if (!what_if_page_read(pages->what_if_page, request, view, &asked))
        return;
    what_if = pages->options.what_if(pages->options.ctx, &asked);
    if (what_if)
        what_if_page_answer(pages->what_if_page, request, view->peer, what_if);
    else
        reply_json(pages, request, view, NULL);
}

static void serve_list(struct pages *pages, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    AUTO(page_request) struct page_request page = {0};
    struct err err;
    enum page_list list = 0;

    if (!page_request_read(view->query, &page, &err)) {
        http_server_replyf(request, 400, "%s\n", err.msg);
        return;
    }
    while (!str_eq(view->path, page_list_path(list)))
        list++;
    reply_json(pages, request, view, pages->options.list(pages->options.ctx, list, &page));
}

void pages_serve(struct pages *pages, struct http_server_request *request,
                 const struct http_server_request_info *view)
{
    if (str_eq(view->path, WHAT_IF_PATH))
        serve_what_if(pages, request, view);
    else
        serve_list(pages, request, view);
}

static bool has_leaders_key(const struct pages *pages, const struct http_server_request_info *view)
{
    struct leader_endpoint leader;
    bool is_other = pages->options.leader(pages->options.ctx, &leader);

    return leader_proxy_is_trusted(view, is_other ? leader.key : pages->options.key);
}

/* In the clear, no token is asked for that others could read. Who can reach the loopback address of a pod may
 * forward its ports or start programs in it, or is on its node. */
static void on_private(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    struct pages *pages = ctx;

    if (view->is_local || has_leaders_key(pages, view))
        pages_serve(pages, request, view);
    else
        http_server_replyf(request, 403,
                           "only local connections may read this page here; use kubectl port-forward, or the "
                           "metrics port with TLS and a token\n");
}

static void on_stats(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    struct pages *pages = ctx;

    reply_json(pages, request, view, pages->options.stats(pages->options.ctx));
}

/* {"size": N} */
static void on_query(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    struct pages *pages = ctx;
    struct err err = {0};
    AUTO(json) cJSON *body = json_parse(view->body, &err);
    int64_t size = json_i64(body, "size", 0);

    if (size < 1 || size > UINT32_MAX) {
        http_server_replyf(request, 400, "expected POST {\"size\": N} with N >= 1\n");
        return;
    }
    reply_json(pages, request, view, pages->options.query(pages->options.ctx, (uint32_t)size));
}

/* From a standby, which has verified the pod: its namespace, name and uid are the query. */
static void on_progress(void *ctx, struct http_server_request *request,
                        const struct http_server_request_info *view)
{
    struct pages *pages = ctx;
    AUTO(strv) struct strv words = {0};
    bool is_known = true;

    strv_split(view->query, '&', &words);
    if (!has_leaders_key(pages, view) || words.count != 3) {
        http_server_replyf(request, 403, "only standbys may send reports of progress here\n");
        return;
    }
    (void)pages->options.progress(pages->options.ctx,
                                  &(struct token_pod){words.items[0], words.items[1], words.items[2]},
                                  view->body, &is_known);
    http_server_replyf(request, 200, "ok\n");
}

static void on_metrics(void *ctx, struct http_server_request *request,
                       const struct http_server_request_info *view)
{
    struct pages *pages = ctx;
    AUTO(str) struct str text = {0};

    (void)view;
    pages->options.metrics(pages->options.ctx, &text);
    http_server_reply(request, 200, OPENMETRICS_CONTENT_TYPE, str_slice(&text));
}

/* The body is a level. Who can reach the loopback address of a pod may forward its ports, or is on its node.
 */
static void set_log_level(struct http_server_request *request, const struct http_server_request_info *view)
{
    struct slice body = view->body;
    enum log_level level;

    while (body.len && (body.ptr[body.len - 1] == '\n' || body.ptr[body.len - 1] == ' '))
        body.len--;
    AUTO(mem) char *word = mem_strndup(body.ptr, body.len);

    if (!view->is_local) {
        http_server_replyf(request, 403,
                           "only local connections may change the log level; use kubectl port-forward\n");
    } else if (!log_parse_level(word, &level)) {
        http_server_replyf(request, 400, "expected PUT with debug, info, warn or error\n");
    } else {
        log_set_level(level);
        log_warn("log level changed", KV("least", word));
        http_server_replyf(request, 200, "%s\n", word);
    }
}

static void on_log_level(void *ctx, struct http_server_request *request,
                         const struct http_server_request_info *view)
{
    (void)ctx;
    if (str_eq(view->method, "PUT"))
        set_log_level(request, view);
    else
        http_server_replyf(request, 200, "%s\n", log_level_name(log_level()));
}

static void on_gone(void *ctx, struct http_server_request *request)
{
    pages_cancel(ctx, request);
}

void pages_cancel(struct pages *pages, struct http_server_request *request)
{
    leader_proxy_cancel(pages->leader_proxy, request);
    what_if_page_cancel(pages->what_if_page, request);
}

struct pages *pages_new(struct loop *loop, const struct pages_options *options, struct err *err)
{
    static const struct {
        const char *path;
        http_server_handler_fn fn;
        const char *methods;
        size_t max_body;
    } rows[PAGES] = {
        {"/healthz", on_healthz, NULL, 0},
        {"/readyz", on_readyz, NULL, 0},
        {"/health", on_healthz, NULL, 0},
        {"/stats", on_stats, NULL, 0},
        {"/query", on_query, "POST", QUERY_MAX},
        {WHAT_IF_PATH, on_private, "POST", WHAT_IF_BODY_MAX},
        {"/loglevel", on_log_level, "GET, HEAD, PUT", WORD_MAX},
        {PROGRESS_FORWARD_PATH, on_progress, "POST", PROGRESS_BODY_MAX},
        {"/metrics", on_metrics, NULL, 0},
    };
    struct pages *pages = NEW(struct pages);
    size_t count = options->metrics ? PAGES : PAGES - 1; /* the last one is theirs */

    pages->options = *options;
    for (enum page_list list = 0; list < PAGE_LISTS; list++)
        pages->routes[list] = (struct http_server_route){
            .path = page_list_path(list), .fn = on_private, .gone = on_gone, .ctx = pages};
    for (size_t i = 0; i < count; i++)
        pages->routes[PAGE_LISTS + i] = (struct http_server_route){.path = rows[i].path,
                                                                   .fn = rows[i].fn,
                                                                   .gone = on_gone,
                                                                   .ctx = pages,
                                                                   .methods = rows[i].methods,
                                                                   .max_body = rows[i].max_body};
    pages->what_if_page = what_if_page_new(loop);
    pages->leader_proxy = leader_proxy_new(loop, err);
    if (pages->leader_proxy)
        pages->http_server =
            http_server_new(loop,
                            &(struct http_server_options){.port = options->port,
                                                          .routes = pages->routes,
                                                          .connections_per_peer = PAGES_CONNECTIONS_PER_PEER},
                            err);
    if (!pages->http_server) {
        pages_free(pages);
        return NULL;
    }
    return pages;
}

const struct what_if_counts *pages_what_ifs(const struct pages *pages)
{
    return what_if_page_counts(pages->what_if_page);
}

uint16_t pages_port(const struct pages *pages)
{
    return http_server_port(pages->http_server);
}

void pages_free(struct pages *pages)
{
    if (!pages)
        return;
    http_server_free(pages->http_server);
    leader_proxy_free(pages->leader_proxy);
    what_if_page_free(pages->what_if_page);
    mem_free(pages);
}
