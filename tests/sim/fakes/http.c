/* base/http/http_client.h in the simulator: the only peer is the API server in memory. */
#include "base/http/http_client.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "fakes/loop.h"
#include "fakes/net.h"

#define BUSY_MS 1000
#define BEHIND_MS 20000

/* What of a watch is on its way. */
struct pipe {
    struct api_watch *watch; /* NULL: the server has ended it */
    struct str bytes;
    struct planned *flush;
    int64_t behind_until_ms;
    bool is_stalled, is_broken, is_ended;
    bool has_news; /* that no operator has made */
};

struct http_call {
    struct http_client *http;
    struct http_call *prev, *next;
    http_bytes_fn on_bytes;
    http_done_fn on_done;
    void *ctx;
    struct planned *timeout;
    struct http_message *http_message; /* its request or its answer, on the way */
    struct pipe *pipe;                 /* of a watch */
};

struct http_client {
    struct loop *loop;
    struct http_call *first;
    unsigned in_flight;
};

/* A request and then its answer. It lives on when the call has ended: what was sent was sent. */
struct http_message {
    struct http_message *prev, *next;
    struct http_call *call; /* NULL: the call was cancelled */
    const struct host *host;
    struct api_request request;
    char *method, *url, *content_type, *body;
    struct delivery delivery;
    bool has_arrived;
    struct api_answer answer;
    unsigned planned;
};

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

/* ---- http_messages ---- */

static void http_message_free(struct http_message *message)
{
    *(message->prev ? &message->prev->next : &net->http_messages) = message->next;
    if (message->next)
        message->next->prev = message->prev;
    if (message->call)
        message->call->http_message = NULL;
    mem_free(message->method);
    mem_free(message->url);
    mem_free(message->content_type);
    mem_free(message->body);
    mem_free(message->answer.body);
    mem_free(message);
}

static void http_message_plan(struct http_message *message, int64_t delay_ms, const struct host *host,
                              clock_fn fn)
{
    message->planned++;
    clock_plan(delay_ms, host, fn, message);
}

static void http_message_done(struct http_message *message)
{
    if (--message->planned == 0)
        http_message_free(message);
}

void net_drop_messages(struct net *of)
{
    while (of->http_messages)
        http_message_free(of->http_messages);
}

bool net_awaits_pod(const struct net *of, const char *text, const char *job_uid)
{
    for (const struct http_message *message = of->http_messages; message; message = message->next) {
        if (!message->has_arrived && message->delivery.arrives && str_eq(message->method, "POST") &&
            strstr(message->url, "/pods") && !strstr(message->url, "dryRun") && strstr(message->body, text) &&
            !(job_uid && strstr(message->body, job_uid)))
            return true;
    }
    return false;
}

/* ---- the end of a call ---- */

static void pipe_free(struct pipe *pipe)
{
    if (!pipe)
        return;
    if (pipe->watch)
        api_watch_close(pipe->watch);
    clock_cancel(pipe->flush);
    str_release(&pipe->bytes);
    mem_free(pipe);
}

static void call_free(struct http_call *call)
{
    *(call->prev ? &call->prev->next : &call->http->first) = call->next;
    if (call->next)
        call->next->prev = call->prev;
    call->http->in_flight--;
    if (call->http_message)
        call->http_message->call = NULL;
    clock_cancel(call->timeout);
    pipe_free(call->pipe);
    mem_free(call);
}

void http_cancel(struct http_call *call)
{
    if (call)
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

/* What was sent was sent, and who has lost its lease is gone at once. */
void http_abort_connections(struct http_client *http)
{
    (void)http;
}

static void end(struct http_call *call, const struct http_response *res, const struct err *err)
{
    http_done_fn done = call->on_done;
    void *ctx = call->ctx;

    call_free(call);
    done(ctx, res, err);
}

static void end_badly(struct http_call *call, enum err_kind kind, const char *why)
{
    const struct http_response none = {.content_type = "", .retry_after_ms = -1};
    struct err err = {0};

    net->news++;
    err_set(&err, kind, "%s", why);
    end(call, &none, &err);
}

static void on_timeout(void *ctx)
{
    struct http_call *call = ctx;

    call->timeout = NULL;
    end_badly(call, ERR_TIMEOUT, "no answer in time");
}

/* ---- a watch's bytes ---- */

static void flush(void *ctx);

static void plan_flush(struct http_call *call, int64_t delay_ms)
{
    struct pipe *pipe = call->pipe;
    int64_t behind_ms = pipe->behind_until_ms - clock_now_ms();

    if (!pipe->flush)
        pipe->flush =
            clock_plan(delay_ms > behind_ms ? delay_ms : behind_ms, loop_host(call->http->loop), flush, call);
}

/* False: the reader has had enough. */
static bool push(struct http_call *call, const char *bytes, size_t len)
{
    return len == 0 || call->on_bytes(call->ctx, 200, bytes, len);
}

static void end_well(struct http_call *call)
{
    const struct http_response res = {
        .status = 200, .content_type = "application/json", .retry_after_ms = -1};
    const struct err fine = {0};

    net->news++;
    end(call, &res, &fine);
}

static void flush(void *ctx)
{
    struct http_call *call = ctx;
    struct pipe *pipe = call->pipe;
    AUTO(str) struct str bytes = pipe->bytes;
    size_t cut = dice_below((uint32_t)bytes.len + 1);

    pipe->flush = NULL;
    pipe->bytes = (struct str){.max = pipe->bytes.max};
    net->news += pipe->has_news;
    pipe->has_news = false;
    if (!push(call, str_text(&bytes), cut))
        end_badly(call, ERR_INVALID, "the reader has had enough");
    else if (pipe->is_broken)
        end_badly(call, ERR_IO, "the connection broke");
    else if (!push(call, str_text(&bytes) + cut, bytes.len - cut))
        end_badly(call, ERR_INVALID, "the reader has had enough");
    else if (pipe->is_ended)
        end_well(call);
}

static const char GONE_LINE[] =
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
    "\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}}\n";

static void on_line(void *ctx, const char *bytes, size_t len)
{
    struct http_call *call = ctx;
    struct pipe *pipe = call->pipe;

    if (!bytes)
        pipe->watch = NULL;
    pipe->has_news = pipe->has_news || !net->is_answering;
    if (pipe->is_stalled || pipe->is_broken)
        return;
    if (!bytes)
        pipe->is_ended = true;
    else if (dice_permille(net->fault_rates.stalled))
        pipe->is_stalled = true;
    else if (dice_permille(net->fault_rates.gone))
        str_adds(&pipe->bytes, GONE_LINE);
    else
        str_add(&pipe->bytes, bytes, len);
    if (dice_permille(net->fault_rates.broken))
        pipe->is_broken = true;
    if (!pipe->is_stalled)
        plan_flush(call, dice_permille(net->fault_rates.late) ? dice_between(10, 20000) : dice_between(0, 3));
}

/* ---- answers ---- */

/* A reader of bytes gets those of a good answer in pieces, as they would arrive. */
static bool is_read(struct http_call *call, const struct http_message *message)
{
    size_t len = slice_of(message->answer.body).len, cut = dice_below((uint32_t)len + 1);

    return push(call, message->answer.body, cut) && push(call, message->answer.body + cut, len - cut);
}

static void deliver(void *ctx)
{
    struct http_message *message = ctx;
    struct http_call *call = message->call;
    bool takes_bytes = call && call->on_bytes && message->answer.status < 300;
    const struct err fine = {0};
    struct http_response res = {.status = message->answer.status,
                                .body = takes_bytes ? (struct slice){0} : slice_of(message->answer.body),
                                .retry_after_ms = message->answer.retry_after_ms,
                                .content_type = "application/json"};

    message->call = NULL;
    net->news += takes_bytes || message->answer.status >= 300;
    if (call) {
        call->http_message = NULL;
        if (takes_bytes && !is_read(call, message))
            end_badly(call, ERR_INVALID, "the reader has had enough");
        else
            end(call, &res, &fine);
    }
    http_message_done(message);
}

static void lose(void *ctx)
{
    struct http_message *message = ctx;
    struct http_call *call = message->call;

    message->call = NULL;
    if (call) {
        call->http_message = NULL;
        end_badly(call, ERR_IO, "the connection broke");
    }
    http_message_done(message);
}

static void plan_answer(struct http_message *message)
{
    const struct host *host = message->call ? loop_host(message->call->http->loop) : NULL;

    if (net->trial_ms && strstr(message->url, "dryRun"))
        message->delivery.back_ms += dice_between(0, net->trial_ms);
    if (message->delivery.answers)
        http_message_plan(message, message->delivery.back_ms, host, deliver);
    else if (message->delivery.breaks_ms >= 0)
        http_message_plan(message, message->delivery.breaks_ms, host, lose);
}

static void open_watch(struct http_message *message)
{
    struct http_call *call = message->call;
    struct pipe *pipe = NEW(struct pipe);

    pipe->bytes.max = (size_t)256 * 1024 * 1024;
    if (dice_permille(net->fault_rates.behind))
        pipe->behind_until_ms = clock_now_ms() + dice_between(10, BEHIND_MS);
    call->pipe = pipe;
    message->call = NULL;
    call->http_message = NULL;
    if (api_watch_open(net->api, &message->request, on_line, call, &pipe->watch, &message->answer)) {
        pipe->is_stalled = pipe->is_stalled || !message->delivery.answers;
        return;
    }
    call->pipe = NULL;
    pipe_free(pipe);
    message->call = call;
    call->http_message = message;
    plan_answer(message);
}

/* ---- requests ---- */

static bool is_watch(const struct http_message *message)
{
    return strstr(message->url, "watch=true") != NULL;
}

static void answer(struct http_message *message)
{
    mem_free(message->answer.body);
    if (dice_permille(net->fault_rates.busy)) {
        message->answer = (struct api_answer){0};
        api_reject(&message->answer, dice_permille(700) ? 429 : 500, "TooManyRequests", "the server is busy");
        message->answer.retry_after_ms = BUSY_MS;
        return;
    }
    net->on_request(net->ctx, &message->request);
    net->is_answering = message->call != NULL; /* else it comes too late, or once more */
    api_answer(net->api, &message->request, &message->answer);
    net->is_answering = false;
}

static void arrive_again(void *ctx)
{
    struct http_message *message = ctx;
    struct api_answer first = message->answer;

    message->answer = (struct api_answer){0};
    net->news++;
    answer(message);
    mem_free(message->answer.body);
    message->answer = first;
    http_message_done(message);
}

static void arrive(void *ctx)
{
    struct http_message *message = ctx;

    message->has_arrived = true;
    if (clock_now_ms() < net->api_down_until_ms) {
        lose(message);
        return;
    }
    if (!is_watch(message)) {
        answer(message);
        if (message->delivery.twice)
            http_message_plan(message, message->delivery.twice_ms, NULL, arrive_again);
        if (message->call)
            plan_answer(message);
    } else if (message->call) {
        open_watch(message);
    }
    http_message_done(message);
}

static struct http_message *http_message_new(struct http_call *call, const struct http_request *request)
{
    struct http_message *message = NEW(struct http_message);

    message->call = call;
    message->host = loop_host(call->http->loop);
    message->method = mem_strdup(request->method);
    message->url = mem_strdup(request->url);
    message->content_type = mem_strdup(request->content_type);
    message->body = mem_strndup(request->body.ptr ? request->body.ptr : "", request->body.len);
    message->request = (struct api_request){.method = message->method,
                                            .url = message->url,
                                            .content_type = message->content_type,
                                            .body = {message->body, request->body.len}};
    message->next = net->http_messages;
    if (message->next)
        message->next->prev = message;
    net->http_messages = message;
    return message;
}

/* Renewing the lease is no write of the operator's work, and is not counted as one. */
static bool is_write(const struct http_request *request)
{
    return !str_eq(request->method, "GET") && !strstr(request->url, "/leases");
}

static void post(struct http_call *call, const struct http_request *request)
{
    struct http_message *message = http_message_new(call, request);

    call->http_message = message;
    message->delivery = net_delivery(false);
    if (message->delivery.arrives)
        http_message_plan(message, message->delivery.out_ms, NULL, arrive);
    else if (message->delivery.breaks_ms >= 0)
        http_message_plan(message, message->delivery.breaks_ms, message->host, lose);
    else
        http_message_free(message);
}

struct http_call *http_send(struct http_client *http, const struct http_request *request)
{
    struct http_call *call = NEW(struct http_call);
    struct host *host = loop_host(http->loop);

    *call = (struct http_call){.http = http,
                               .next = http->first,
                               .on_bytes = request->on_bytes,
                               .on_done = request->on_done,
                               .ctx = request->ctx};
    assert(request->idle_timeout_ms == 0); /* nobody above us uses it */
    if (call->next)
        call->next->prev = call;
    http->first = call;
    http->in_flight++;
    if (host->is_dead || !net->leaves(net->ctx, host, request->method, is_write(request)))
        return call;
    if (request->timeout_ms)
        call->timeout = clock_plan_timer(request->timeout_ms, host, on_timeout, call);
    post(call, request);
    return call;
}
