/* base/io/http.h in the simulator: the only peer is the API server in memory. */
#include "base/io/http.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "loop.h"
#include "net.h"

#define BUSY_MS 1000
#define BEHIND_MS 20000

/* What of a watch is on its way. */
struct pipe {
    struct api_watch *watch; /* NULL: the server has ended it */
    struct str bytes;
    struct planned *flush;
    int64_t behind_until_ms;
    bool is_hushed, is_broken, is_ended;
    bool has_news; /* that no operator has made */
};

struct http_call {
    struct http *http;
    struct http_call *prev, *next;
    http_bytes_fn on_bytes;
    http_done_fn on_done;
    void *ctx;
    struct planned *timeout;
    struct letter *letter; /* its request or its answer, on the way */
    struct pipe *pipe;     /* of a watch */
};

struct http {
    struct loop *loop;
    struct http_call *first;
    unsigned in_flight;
};

/* A request and then its answer. It lives on when the call has ended: what was sent was sent. */
struct letter {
    struct letter *prev, *next;
    struct http_call *call; /* NULL: nobody waits for the answer */
    const struct host *host;
    struct api_request request;
    char *method, *url, *content_type, *body;
    struct fate fate;
    bool has_arrived;
    struct api_answer answer;
    unsigned planned;
};

struct http *http_new(struct loop *loop, const struct http_options *options, struct err *err)
{
    struct http *http = NEW(struct http);

    (void)options;
    (void)err;
    http->loop = loop;
    return http;
}

unsigned http_in_flight(const struct http *http)
{
    return http->in_flight;
}

/* ---- letters ---- */

static void letter_free(struct letter *letter)
{
    *(letter->prev ? &letter->prev->next : &net->letters) = letter->next;
    if (letter->next)
        letter->next->prev = letter->prev;
    if (letter->call)
        letter->call->letter = NULL;
    mem_free(letter->method);
    mem_free(letter->url);
    mem_free(letter->content_type);
    mem_free(letter->body);
    mem_free(letter->answer.body);
    mem_free(letter);
}

static void letter_plan(struct letter *letter, int64_t delay_ms, const struct host *host, clock_fn fn)
{
    letter->planned++;
    clock_plan(delay_ms, host, fn, letter);
}

static void letter_done(struct letter *letter)
{
    if (--letter->planned == 0)
        letter_free(letter);
}

void net_drop_letters(struct net *of)
{
    while (of->letters)
        letter_free(of->letters);
}

bool net_awaits_pod(const struct net *of, const char *text, const char *job_uid)
{
    for (const struct letter *letter = of->letters; letter; letter = letter->next) {
        if (!letter->has_arrived && letter->fate.arrives && str_eq(letter->method, "POST") &&
            strstr(letter->url, "/pods") && !strstr(letter->url, "dryRun") && strstr(letter->body, text) &&
            !(job_uid && strstr(letter->body, job_uid)))
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
    if (call->letter)
        call->letter->call = NULL;
    clock_cancel(call->timeout);
    pipe_free(call->pipe);
    mem_free(call);
}

void http_cancel(struct http_call *call)
{
    if (call)
        call_free(call);
}

void http_free(struct http *http)
{
    if (!http)
        return;
    while (http->first)
        call_free(http->first);
    mem_free(http);
}

/* What was sent was sent, and who has lost its lease is gone at once. */
void http_abort_connections(struct http *http)
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
    if (pipe->is_hushed || pipe->is_broken)
        return;
    if (!bytes)
        pipe->is_ended = true;
    else if (dice_permille(net->weather.hushed))
        pipe->is_hushed = true;
    else if (dice_permille(net->weather.gone))
        str_adds(&pipe->bytes, GONE_LINE);
    else
        str_add(&pipe->bytes, bytes, len);
    if (dice_permille(net->weather.broken))
        pipe->is_broken = true;
    if (!pipe->is_hushed)
        plan_flush(call, dice_permille(net->weather.late) ? dice_between(10, 20000) : dice_between(0, 3));
}

/* ---- answers ---- */

/* A reader of bytes gets those of a good answer in pieces, as they would arrive. */
static bool is_read(struct http_call *call, const struct letter *letter)
{
    size_t len = slice_of(letter->answer.body).len, cut = dice_below((uint32_t)len + 1);

    return push(call, letter->answer.body, cut) && push(call, letter->answer.body + cut, len - cut);
}

static void deliver(void *ctx)
{
    struct letter *letter = ctx;
    struct http_call *call = letter->call;
    bool takes_bytes = call && call->on_bytes && letter->answer.status < 300;
    const struct err fine = {0};
    struct http_response res = {.status = letter->answer.status,
                                .body = takes_bytes ? (struct slice){0} : slice_of(letter->answer.body),
                                .retry_after_ms = letter->answer.retry_after_ms,
                                .content_type = "application/json"};

    letter->call = NULL;
    net->news += takes_bytes || letter->answer.status >= 300;
    if (call) {
        call->letter = NULL;
        if (takes_bytes && !is_read(call, letter))
            end_badly(call, ERR_INVALID, "the reader has had enough");
        else
            end(call, &res, &fine);
    }
    letter_done(letter);
}

static void lose(void *ctx)
{
    struct letter *letter = ctx;
    struct http_call *call = letter->call;

    letter->call = NULL;
    if (call) {
        call->letter = NULL;
        end_badly(call, ERR_IO, "the connection broke");
    }
    letter_done(letter);
}

static void plan_answer(struct letter *letter)
{
    const struct host *host = letter->call ? loop_host(letter->call->http->loop) : NULL;

    if (net->trial_ms && strstr(letter->url, "dryRun"))
        letter->fate.back_ms += dice_between(0, net->trial_ms);
    if (letter->fate.answers)
        letter_plan(letter, letter->fate.back_ms, host, deliver);
    else if (letter->fate.breaks_ms >= 0)
        letter_plan(letter, letter->fate.breaks_ms, host, lose);
}

static void open_watch(struct letter *letter)
{
    struct http_call *call = letter->call;
    struct pipe *pipe = NEW(struct pipe);

    pipe->bytes.max = (size_t)256 * 1024 * 1024;
    if (dice_permille(net->weather.behind))
        pipe->behind_until_ms = clock_now_ms() + dice_between(10, BEHIND_MS);
    call->pipe = pipe;
    letter->call = NULL;
    call->letter = NULL;
    if (api_watch_open(net->api, &letter->request, on_line, call, &pipe->watch, &letter->answer)) {
        pipe->is_hushed = pipe->is_hushed || !letter->fate.answers;
        return;
    }
    call->pipe = NULL;
    pipe_free(pipe);
    letter->call = call;
    call->letter = letter;
    plan_answer(letter);
}

/* ---- requests ---- */

static bool is_watch(const struct letter *letter)
{
    return strstr(letter->url, "watch=true") != NULL;
}

static void answer(struct letter *letter)
{
    mem_free(letter->answer.body);
    if (dice_permille(net->weather.busy)) {
        letter->answer = (struct api_answer){0};
        api_refuse(&letter->answer, dice_permille(700) ? 429 : 500, "TooManyRequests", "the server is busy");
        letter->answer.retry_after_ms = BUSY_MS;
        return;
    }
    net->on_request(net->ctx, &letter->request);
    net->is_answering = letter->call != NULL; /* else it comes too late, or once more */
    api_answer(net->api, &letter->request, &letter->answer);
    net->is_answering = false;
}

static void arrive_again(void *ctx)
{
    struct letter *letter = ctx;
    struct api_answer first = letter->answer;

    letter->answer = (struct api_answer){0};
    net->news++;
    answer(letter);
    mem_free(letter->answer.body);
    letter->answer = first;
    letter_done(letter);
}

static void arrive(void *ctx)
{
    struct letter *letter = ctx;

    letter->has_arrived = true;
    if (clock_now_ms() < net->api_down_until_ms) {
        lose(letter);
        return;
    }
    if (!is_watch(letter)) {
        answer(letter);
        if (letter->fate.twice)
            letter_plan(letter, letter->fate.twice_ms, NULL, arrive_again);
        if (letter->call)
            plan_answer(letter);
    } else if (letter->call) {
        open_watch(letter);
    }
    letter_done(letter);
}

static struct letter *letter_new(struct http_call *call, const struct http_request *request)
{
    struct letter *letter = NEW(struct letter);

    letter->call = call;
    letter->host = loop_host(call->http->loop);
    letter->method = mem_strdup(request->method);
    letter->url = mem_strdup(request->url);
    letter->content_type = mem_strdup(request->content_type);
    letter->body = mem_strndup(request->body.ptr ? request->body.ptr : "", request->body.len);
    letter->request = (struct api_request){.method = letter->method,
                                           .url = letter->url,
                                           .content_type = letter->content_type,
                                           .body = {letter->body, request->body.len}};
    letter->next = net->letters;
    if (letter->next)
        letter->next->prev = letter;
    net->letters = letter;
    return letter;
}

/* Renewing the lease is no write of the operator's work, and is not counted as one. */
static bool is_write(const struct http_request *request)
{
    return !str_eq(request->method, "GET") && !strstr(request->url, "/leases");
}

static void post(struct http_call *call, const struct http_request *request)
{
    struct letter *letter = letter_new(call, request);

    call->letter = letter;
    letter->fate = net_fate(false);
    if (letter->fate.arrives)
        letter_plan(letter, letter->fate.out_ms, NULL, arrive);
    else if (letter->fate.breaks_ms >= 0)
        letter_plan(letter, letter->fate.breaks_ms, letter->host, lose);
    else
        letter_free(letter);
}

struct http_call *http_send(struct http *http, const struct http_request *request)
{
    struct http_call *call = NEW(struct http_call);
    struct host *host = loop_host(http->loop);

    *call = (struct http_call){.http = http,
                               .next = http->first,
                               .on_bytes = request->on_bytes,
                               .on_done = request->on_done,
                               .ctx = request->ctx};
    assert(request->silence_ms == 0); /* nobody above us uses it */
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
