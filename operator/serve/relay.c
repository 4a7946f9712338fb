#include "operator/serve/relay.h"

#include "base/core/mem.h"
#include "base/io/http.h"

#define PATIENCE_MS 3000
#define ANSWER_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define MARK "from=standby"

struct relay {
    struct http *http;
    struct errand *errands;
    unsigned count;
};

/* A request that the leader is being asked. */
struct errand {
    struct relay *relay;
    struct errand *next, **link; /* in the list of all */
    struct serve_request *request;
    struct http_call *call;
};

static void errand_free(struct errand *errand)
{
    *errand->link = errand->next;
    if (errand->next)
        errand->next->link = errand->link;
    errand->relay->count--;
    mem_free(errand);
}

static struct errand *errand_new(struct relay *relay, struct serve_request *request)
{
    struct errand *errand = NEW(struct errand);

    errand->relay = relay;
    errand->request = request;
    errand->next = relay->errands;
    errand->link = &relay->errands;
    if (errand->next)
        errand->next->link = &errand->next;
    relay->errands = errand;
    relay->count++;
    return errand;
}

static void on_answer(void *ctx, const struct http_response *res, const struct err *err)
{
    struct errand *errand = ctx;
    struct serve_request *request = errand->request;

    errand_free(errand);
    if (err->kind != ERR_NONE)
        serve_replyf(request, 503, "this replica does not lead, and the one that does does not answer: %s\n",
                     err->msg);
    else
        serve_reply(request, res->status, res->content_type, res->body);
}

struct relay *relay_new(struct loop *loop, struct err *err)
{
    struct http *http = http_new(loop, &(struct http_options){.user_agent = "ipu-operator"}, err);
    struct relay *relay;

    if (!http)
        return NULL;
    relay = NEW(struct relay);
    relay->http = http;
    return relay;
}

void relay_free(struct relay *relay)
{
    if (!relay)
        return;
    http_free(relay->http);
    while (relay->errands)
        errand_free(relay->errands);
    mem_free(relay);
}

void relay_pass(struct relay *relay, struct serve_request *request, const struct serve_view *view,
                const char *leader)
{
    AUTO(mem) char *url = mem_printf("http://%s%s?" MARK, leader, view->path);
    struct errand *errand;

    if (relay->count >= RELAY_MAX) {
        serve_replyf(request, 429, "too many are asking; try again\n");
        return;
    }
    errand = errand_new(relay, request);
    errand->call = http_send(
        relay->http, &(struct http_request){.method = view->method,
                                            .url = url,
                                            .content_type = view->body.len ? "application/json" : NULL,
                                            .body = view->body,
                                            .timeout_ms = PATIENCE_MS,
                                            .max_body = ANSWER_MAX_BYTES,
                                            .on_done = on_answer,
                                            .ctx = errand});
}

void relay_forget(struct relay *relay, struct serve_request *request)
{
    struct errand *errand = relay->errands;

    while (errand && errand->request != request)
        errand = errand->next;
    if (!errand)
        return;
    http_cancel(errand->call);
    errand_free(errand);
}

bool relay_has_passed(const struct serve_view *view)
{
    return str_eq(view->query, MARK);
}
