#include "local/api/in_process.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/http/http_client.h"
#include "base/io/loop.h"

struct http_call {
    struct http_client *http;
    struct http_call *prev, *next;
    char *method, *url, *content_type, *body;
    struct api_request request;
    struct loop_timer soon; /* callbacks never run from inside http_send */
    struct api_watch *watch;
    struct str lines; /* of the watch, not delivered yet */
    bool has_ended;   /* likewise: its end */
    bool is_delivering, is_cancelled;
    void (*on_head)(void *ctx);
    http_bytes_fn on_bytes;
    http_done_fn on_done;
    void *ctx;
};

struct http_client {
    struct loop *loop;
    struct http_call *first;
    unsigned in_flight;
};

static struct api *server;

void in_process_serve(struct api *api)
{
    server = api;
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options,
                                    struct err *err)
{
    struct http_client *http = NEW(struct http_client);

    (void)options;
    (void)err;
    http->loop = loop;
    return http;
}

unsigned http_in_flight(const struct http_client *http)
{
    return http->in_flight;
}

static void call_free(struct http_call *call)
{
    *(call->prev ? &call->prev->next : &call->http->first) = call->next;
    if (call->next)
        call->next->prev = call->prev;
    call->http->in_flight--;
    loop_timer_stop(&call->soon);
    if (call->watch)
        api_watch_close(call->watch);
    str_release(&call->lines);
    mem_free(call->method);
    mem_free(call->url);
    mem_free(call->content_type);
    mem_free(call->body);
    mem_free(call);
}

/* A reader may end its watch from inside its callback. */
void http_cancel(struct http_call *call)
{
    if (call && call->is_delivering)
        call->is_cancelled = true;
    else if (call)
        call_free(call);
}

void http_client_free(struct http_client *http)
{
    if (!http)
        return;
    while (http->first)
        call_free(http->first);
    mem_free(http);
}

/* There are none. */
void http_abort_connections(struct http_client *http)
{
    (void)http;
}

static void finish(struct http_call *call, const struct http_response *res, const struct err *err)
{
    http_done_fn done = call->on_done;
    void *ctx = call->ctx;

    call_free(call);
    done(ctx, res, err);
}

static void finish_empty(struct http_call *call, enum err_kind kind)
{
    struct err err = {0};

    if (kind != ERR_NONE)
        err_set(&err, kind, "the reader has ended the response");
    finish(call,
           &(struct http_response){.status = 200, .content_type = "application/json", .retry_after_ms = -1},
           &err);
}

/* False: the call is gone. */
static bool deliver(struct http_call *call, struct slice bytes)
{
    bool is_wanted;

    call->is_delivering = true;
    is_wanted = call->on_bytes(call->ctx, 200, bytes.ptr, bytes.len);
    call->is_delivering = false;
    if (is_wanted && !call->is_cancelled)
        return true;
    if (call->is_cancelled)
        call_free(call);
    else
        finish_empty(call, ERR_INVALID);
    return false;
}

/* ---- watches ---- */

static void on_lines(struct loop_timer *timer)
{
    struct http_call *call = CONTAINER_OF(timer, struct http_call, soon);
    AUTO(str) struct str lines = call->lines;

    call->lines = (struct str){.max = lines.max};
    if (lines.len && !deliver(call, str_slice(&lines)))
        return;
    if (call->has_ended)
        finish_empty(call, ERR_NONE);
}

static void on_line(void *ctx, const char *bytes, size_t len)
{
    struct http_call *call = ctx;

    if (bytes)
        str_add(&call->lines, bytes, len);
    else
        call->watch = NULL;
    call->has_ended = call->has_ended || !bytes;
    if (!loop_timer_is_running(&call->soon))
        loop_timer_start(call->http->loop, &call->soon, 0, on_lines);
}

/* ---- requests ---- */

static void answer(struct http_call *call, struct api_answer *answer)
{
    AUTO(mem) char *body = answer->body;
    struct http_response res = {.status = answer->status,
                                .body = slice_of(body),
                                .retry_after_ms = answer->retry_after_ms,
                                .content_type = "application/json"};

    if (call->on_bytes && answer->status < 300) {
        if (!deliver(call, res.body))
            return;
        res.body = (struct slice){0};
    }
    finish(call, &res, &(struct err){0});
}

static void on_request(struct loop_timer *timer)
{
    struct http_call *call = CONTAINER_OF(timer, struct http_call, soon);
    struct api_answer ret = {0};

    if (!strstr(call->url, "watch=true"))
        api_answer(server, &call->request, &ret);
    else if (api_watch_open(server, &call->request, on_line, call, &call->watch, &ret)) {
        if (call->on_head)
            call->on_head(call->ctx);
        return;
    }
    answer(call, &ret);
}

struct http_call *http_send(struct http_client *http, const struct http_request *request)
{
    struct http_call *call = NEW(struct http_call);

    *call =
        (struct http_call){.http = http,
                           .next = http->first,
                           .method = mem_strdup(request->method),
                           .url = mem_strdup(request->url),
                           .content_type = mem_strdup(request->content_type),
                           .body = mem_strndup(request->body.ptr ? request->body.ptr : "", request->body.len),
                           .lines = {.max = (size_t)256 * 1024 * 1024},
                           .on_head = request->on_head,
                           .on_bytes = request->on_bytes,
                           .on_done = request->on_done,
                           .ctx = request->ctx};
    call->request = (struct api_request){.method = call->method,
                                         .url = call->url,
                                         .content_type = call->content_type,
                                         .body = {call->body, request->body.len}};
    if (call->next)
        call->next->prev = call;
    http->first = call;
    http->in_flight++;
    loop_timer_start(http->loop, &call->soon, 0, on_request);
    return call;
}
