#include "base/http/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "unit/base/http/exchange.h"
#include "unit/base/http/peer.h"

enum { REQUEST_MAX = 1 << 16 };

/* Where the bytes of a response go instead of the exchange. */
struct taker {
    struct str bytes;
    int status;
    int heads;
    bool reject;
    bool cancels; /* its own call, from inside the callback */
    struct turns *turns;
};

/* What most tests need: a peer with a script, a loop, a client, and one request. The exchange comes first, so
 * that a callback's ctx is both. */
struct bench {
    struct exchange x;
    struct taker taker;
    struct peer peer;
    struct loop *loop;
    struct http_client *http;
    char url[100];
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){0};
}

static void bench_open_with(struct bench *b, void (*script)(int listener), struct http_client_options options)
{
    struct err err;

    peer_start(&b->peer, script);
    b->loop = loop_new();
    if (!options.user_agent)
        options.user_agent = "test/1";
    b->http = http_client_new(b->loop, &options, &err);
    CHECK_OK(b->http != NULL, err);
    (void)snprintf(b->url, sizeof b->url, "http://127.0.0.1:%u/path?q=1", b->peer.port);
}

static void bench_open(struct bench *b, void (*script)(int listener))
{
    bench_open_with(b, script, (struct http_client_options){0});
}

static void bench_release(struct bench *b)
{
    exchange_release(&b->x);
    str_release(&b->taker.bytes);
    http_client_free(b->http);
    loop_free(b->loop);
    peer_stop(&b->peer);
}

DEFINE_AUTO(bench);

static void bench_send(struct bench *b, struct http_request request)
{
    if (!request.method)
        request.method = "GET";
    if (!request.url)
        request.url = b->url;
    b->x.done = 0;
    exchange_send(&b->x, b->loop, b->http, request);
    CHECK_INT_EQ(b->x.done, 0); /* never from inside http_send */
}

/* One request, answered or not. */
static void bench_ask(struct bench *b, struct http_request request)
{
    bench_send(b, request);
    exchange_wait(&b->x);
    CHECK_INT_EQ(http_in_flight(b->http), 0);
}

/* --- answers --- */

static void echo(int listener)
{
    char request[REQUEST_MAX];
    AUTO(mem) char *answer = NULL;
    int fd = peer_accept(listener);

    for (;;) {
        size_t len = peer_read_request(fd, request, sizeof request);
        answer = mem_printf("HTTP/1.1 200 OK\r\nContent-Type: text/echo\r\nContent-Length: %zu\r\n\r\n%s",
                            len, request);
        peer_send(fd, answer);
        mem_free(TAKE(answer));
    }
}

TEST_F(bench, b, what_is_sent)
{
    static const char *const extra[] = {"X-One: 1", "X-Two: 2", NULL};
    AUTO(mem) char *want = NULL;

    bench_open(b, echo);
    bench_ask(b, (struct http_request){.method = "PATCH",
                                       .content_type = "application/merge-patch+json",
                                       .accept = "application/json;as=Table",
                                       .bearer_token = "s3cret",
                                       .headers = extra,
                                       .body = SLICE_LIT("{\"a\":1}")});
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
    CHECK_INT_EQ(b->x.res.status, 200);
    CHECK_STR_EQ(b->x.content_type, "text/echo");
    want = mem_printf(
        "PATCH /path?q=1 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: test/1\r\n"
        "Accept: application/json;as=Table\r\nContent-Type: application/merge-patch+json\r\n"
        "Authorization: Bearer s3cret\r\nX-One: 1\r\nX-Two: 2\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
        b->peer.port);
    CHECK_STR_EQ(str_text(&b->x.body), want);
}

TEST_F(bench, b, methods_and_bodies_go_together)
{
    static const struct {
        const char *method, *body;
        const char *has, *has_not;
    } rows[] = {
        {"GET", NULL, "GET /path", "Content-"},
        {"DELETE", NULL, "DELETE /path", "Content-"},
        {"DELETE", "{}", "Content-Length: 2", "Content-Type"},
        {"POST", NULL, "Content-Length: 0", "Content-Type"},
        {"PUT", "x", "PUT /path", "Expect"},
    };

    bench_open(b, echo);
    CHECK_ROWS (row, rows) {
        bench_ask(b, (struct http_request){.method = row->method, .body = slice_of(row->body)});
        CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
        CHECK_HAS(str_text(&b->x.body), row->has);
        CHECK_HAS(str_text(&b->x.body), "Accept: application/json\r\n");
        CHECK(strstr(str_text(&b->x.body), row->has_not) == NULL);
    }
}

static void head_only(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    (void)peer_read_request(fd, request, sizeof request); /* the connection stays in use */
    peer_send(fd, "HTTP/1.1 204 No Content\r\n\r\n");
    (void)peer_read_all(fd, request, sizeof request);
}

TEST_F(bench, b, a_head_request_waits_for_no_body)
{
    bench_open(b, head_only);
    bench_ask(b, (struct http_request){.method = "HEAD"});
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
    CHECK_INT_EQ(b->x.body.len, 0);
    bench_ask(b, (struct http_request){0});
    CHECK_INT_EQ(b->x.res.status, 204);
}

static void patience(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"
                  "Warning: 299 - \"unknown field \\\"spec.x\\\"\"\r\nWarning: 299 - \"second\"\r\n"
                  "Content-Length: 4\r\n\r\nbusy");
    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd,
              "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
              "Content-Length: 0\r\n\r\n");
    (void)peer_read_all(fd, request, sizeof request);
}

TEST_F(bench, b, headers_that_matter)
{
    bench_open(b, patience);
    bench_ask(b, (struct http_request){0});
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
    CHECK_INT_EQ(b->x.res.status, 429);
    CHECK_INT_EQ(b->x.res.retry_after_ms, 7000);
    CHECK_STR_EQ(b->x.warning, "unknown field \\\"spec.x\\\"");
    CHECK_STR_EQ(str_text(&b->x.body), "busy");
    CHECK_STR_EQ(b->x.content_type, "");
    bench_ask(b, (struct http_request){0}); /* a redirect is an answer, not an errand */
    CHECK_INT_EQ(b->x.res.status, 302);
    CHECK_INT_EQ(b->x.res.retry_after_ms, -1);
    CHECK_STR_EQ(b->x.warning, "");
}

static void much_patience(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 503 Busy\r\nRetry-After: 864000\r\nDate: Thu, 26 Nov 2026 17:20:43 GMT\r\n"
                  "Content-Length: 0\r\n\r\n");
    (void)peer_read_all(fd, request, sizeof request);
}

TEST_F(bench, b, a_retry_after_of_days_is_one_of_minutes)
{
    bench_open(b, much_patience);
    bench_ask(b, (struct http_request){0});
    CHECK_INT_EQ(b->x.res.retry_after_ms, 300 * 1000);
    CHECK_INT_EQ(b->x.res.date_s, 1795713643);
}

/* --- streams --- */

static void two_pieces(int listener)
{
    char request[REQUEST_MAX];

    for (;;) {
        int fd = peer_accept(listener);
        (void)peer_read_request(fd, request, sizeof request);
        peer_send(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
        peer_send(fd, "3\r\ntwo\r\n0\r\n\r\n");
        (void)peer_read_request(fd, request, sizeof request);
        peer_send(fd, "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nbad");
        (void)close(fd);
    }
}

static bool take(void *ctx, int status, const char *bytes, size_t len)
{
    struct bench *b = ctx;

    b->taker.status = status;
    (void)str_add(&b->taker.bytes, bytes, len);
    if (b->taker.cancels)
        http_cancel(TAKE(b->x.call));
    return !b->taker.reject;
}

TEST_F(bench, b, bytes_go_to_the_taker_as_they_arrive_but_errors_are_collected)
{
    bench_open(b, two_pieces);
    bench_ask(b, (struct http_request){.on_bytes = take});
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
    CHECK_STR_EQ(str_text(&b->taker.bytes), "onetwo");
    CHECK_INT_EQ(b->taker.status, 200);
    CHECK_INT_EQ(b->x.body.len, 0);
    bench_ask(b, (struct http_request){.on_bytes = take});
    CHECK_INT_EQ(b->x.res.status, 500);
    CHECK_STR_EQ(str_text(&b->x.body), "bad");
    CHECK_STR_EQ(str_text(&b->taker.bytes), "onetwo");
}

TEST_F(bench, b, a_taker_can_end_its_call)
{
    b->taker.reject = true;
    bench_open(b, two_pieces);
    bench_ask(b, (struct http_request){.on_bytes = take});
    CHECK_INT_EQ(b->x.err.kind, ERR_INVALID);
    CHECK_STR_EQ(b->x.err.msg, "the response is not as expected, and was not read to its end");
    CHECK_INT_EQ(b->x.res.status, 200);
}

static void head_without_body(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    (void)peer_read_all(fd, request, sizeof request);
}

/* Ends the call, so that what follows it is not waited for. */
static void note_head(void *ctx)
{
    struct bench *b = ctx;

    b->taker.heads++;
    http_cancel(b->x.call);
}

static bool is_idle(void *ctx)
{
    return http_in_flight(ctx) == 0;
}

TEST_F(bench, b, headers_of_a_2xx_response_are_reported_before_the_body)
{
    bench_open(b, head_without_body);
    bench_ask(b, (struct http_request){.on_head = note_head, .on_bytes = take});
    CHECK_INT_EQ(b->x.res.status, 404);
    CHECK_INT_EQ(b->taker.heads, 0);
    bench_send(b, (struct http_request){.on_head = note_head, .on_bytes = take});
    exchange_run_until(b->loop, is_idle, b->http);
    CHECK_INT_EQ(b->taker.heads, 1);
    CHECK_STR_EQ(str_text(&b->taker.bytes), "");
}

TEST_F(bench, b, a_taker_can_cancel_its_own_call)
{
    bench_open(b, two_pieces);
    b->taker.cancels = true;
    bench_send(b, (struct http_request){.on_bytes = take});
    exchange_run_until(b->loop, is_idle, b->http);
    CHECK_INT_EQ(b->x.done, 0);
    CHECK_STR_EQ(str_text(&b->taker.bytes), "one");
}

enum { TURN_BYTES = 4096, WHOLE_BYTES = 1 << 20, READ_MAX = 16 * 1024 }; /* the last one: of libcurl */

/* Bytes whose order can be checked. */
static void flood(int listener)
{
    AUTO(str) struct str text = {0};

    str_adds(&text, "HTTP/1.1 200 OK\r\n\r\n");
    for (unsigned i = 0; text.len < WHOLE_BYTES; i++)
        str_addf(&text, "%u ", i);
    for (;;) {
        char request[REQUEST_MAX];
        int fd = peer_accept(listener);

        (void)peer_read_request(fd, request, sizeof request);
        for (size_t at = 0; at < text.len;) { /* the client may have gone away */
            ssize_t sent = send(fd, text.ptr + at, text.len - at, MSG_NOSIGNAL);

            if (sent < 0)
                break;
            at += (size_t)sent;
        }
        (void)close(fd);
    }
}

/* What one turn of the loop gets. */
struct turns {
    struct bench *b;
    uint64_t now_ms;
    size_t bytes, most, enough;
    bool cancels;
};

static bool take_in_turns(void *ctx, int status, const char *bytes, size_t len)
{
    struct turns *turns = ((struct bench *)ctx)->taker.turns;
    uint64_t now_ms = uv_now(loop_uv(turns->b->loop));

    turns->bytes = now_ms == turns->now_ms ? turns->bytes + len : len;
    turns->now_ms = now_ms;
    turns->most = turns->bytes > turns->most ? turns->bytes : turns->most;
    (void)take(ctx, status, bytes, len);
    if (turns->b->taker.bytes.len < turns->enough)
        return true;
    if (turns->cancels)
        http_cancel(TAKE(turns->b->x.call));
    return false;
}

TEST_F(bench, b, a_peer_that_sends_fast_leaves_turns_to_others)
{
    struct turns turns = {.b = b, .enough = SIZE_MAX};
    unsigned next = 0;

    b->taker.turns = &turns;
    bench_open_with(b, flood, (struct http_client_options){.turn_bytes = TURN_BYTES});
    bench_ask(b, (struct http_request){.on_bytes = take_in_turns});
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
    CHECK(turns.most < TURN_BYTES + READ_MAX);
    CHECK(b->taker.bytes.len > WHOLE_BYTES / 2);
    for (char *at = b->taker.bytes.ptr; *at; at++)
        CHECK_INT_EQ(strtoul(at, &at, 10), next++);
}

TEST_F(bench, b, a_paused_call_can_be_ended_and_cancelled)
{
    struct turns turns = {.b = b, .enough = WHOLE_BYTES / 4};

    b->taker.turns = &turns;
    bench_open_with(b, flood, (struct http_client_options){.turn_bytes = TURN_BYTES});
    bench_ask(b, (struct http_request){.on_bytes = take_in_turns});
    CHECK_INT_EQ(b->x.err.kind, ERR_INVALID);
    str_clear(&b->taker.bytes);
    turns.cancels = true;
    bench_send(b, (struct http_request){.on_bytes = take_in_turns});
    exchange_run_until(b->loop, is_idle, b->http);
    CHECK_INT_EQ(b->x.done, 0);
}

/* --- peers that are wrong --- */

static const char *partial_answer; /* of the next peer */

static void answer_and_end(int listener)
{
    char request[REQUEST_MAX];

    for (;;) {
        int fd = peer_accept(listener);
        (void)peer_read_request(fd, request, sizeof request);
        peer_send(fd, partial_answer);
        (void)close(fd);
    }
}

static void reset_at_once(int listener)
{
    char request[REQUEST_MAX];

    for (;;) {
        int fd = peer_accept(listener);
        (void)peer_read_request(fd, request, sizeof request);
        peer_reset(fd);
    }
}

static void big_headers(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 200 OK\r\n");
    for (;;)
        peer_send(fd,
                  "X-Padding: 0123456789012345678901234567890123456789012345678901234567890123456789\r\n");
}

static void endless_body(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 200 OK\r\n\r\n");
    for (;;)
        peer_send(fd, "0123456789012345678901234567890123456789012345678901234567890123456789\n");
}

/* The first connection breaks with the second request, unanswered; the third one is on the second. */
static void break_once(int listener)
{
    char request[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, request, sizeof request);
    peer_send(fd, "HTTP/1.1 204 No Content\r\n\r\n");
    (void)peer_read_request(fd, request, sizeof request);
    (void)close(fd);
    fd = peer_accept(listener);
    for (int i = 0; i < 2; i++) {
        (void)peer_read_request(fd, request, sizeof request);
        peer_send(fd, "HTTP/1.1 204 No Content\r\n\r\n");
    }
    (void)peer_read_all(fd, request, sizeof request);
}

TEST_F(bench, b, a_request_that_was_sent_twice_says_so)
{
    bench_open(b, break_once);
    for (int i = 0; i < 3; i++) {
        bench_ask(b, (struct http_request){.method = "POST", .body = SLICE_LIT("x")});
        CHECK_INT_EQ(b->x.res.status, 204);
        CHECK_INT_EQ(b->x.res.was_repeated, i == 1);
    }
}

TEST(a_peer_that_breaks_off_is_an_error)
{
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    static const struct {
        const char *answer; /* NULL: the script's own */
        enum err_kind kind;
        int status;
        void (*script)(int listener);
    } rows[] = {
        {"HTTP/1.1 200 O", ERR_IO, 0, answer_and_end},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour", ERR_IO, 200, answer_and_end},
        {CHUNKED "a\r\nfour", ERR_IO, 200, answer_and_end},
        {CHUNKED "4\r\nfour\r\n", ERR_IO, 200, answer_and_end},
        {"", ERR_IO, 0, answer_and_end},
        {"SSH-2.0-OpenSSH_9.2\r\n", ERR_IO, 0, answer_and_end},
        {"HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n", ERR_IO, 200, answer_and_end},
        {NULL, ERR_IO, 0, reset_at_once},
        {NULL, ERR_INVALID, 200, big_headers},
        {NULL, ERR_INVALID, 200, endless_body},
    };

    CHECK_ROWS (row, rows) {
        AUTO(bench) struct bench b = {0};

        partial_answer = row->answer;
        bench_open(&b, row->script);
        bench_ask(&b, (struct http_request){.max_body = 100 * 1000});
        CHECK_INT_EQ(b.x.err.kind, row->kind);
        CHECK_INT_EQ(b.x.res.status, row->status);
        CHECK(b.x.err.msg[0] != '\0');
    }
}

static void silent(int listener)
{
    char rest[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, rest, sizeof rest);
    (void)peer_read_all(fd, rest, sizeof rest);
}

static void silent_in_the_middle(int listener)
{
    char rest[REQUEST_MAX];
    int fd = peer_accept(listener);

    (void)peer_read_request(fd, rest, sizeof rest);
    peer_send(fd, "HTTP/1.1 200 OK\r\n\r\npart");
    (void)peer_read_all(fd, rest, sizeof rest);
}

TEST_F(bench, b, a_request_has_a_deadline)
{
    bench_open(b, silent);
    bench_ask(b, (struct http_request){.timeout_ms = 60});
    CHECK_INT_EQ(b->x.err.kind, ERR_TIMEOUT);
    CHECK_INT_EQ(b->x.res.status, 0);
}

TEST_F(bench, b, silence_ends_a_stream)
{
    bench_open(b, silent_in_the_middle);
    bench_ask(b, (struct http_request){.on_bytes = take, .idle_timeout_ms = 2000});
    CHECK_INT_EQ(b->x.err.kind, ERR_TIMEOUT);
    CHECK_STR_EQ(b->x.err.msg, "no data received for 2000 ms");
    CHECK_INT_EQ(b->x.res.status, 200);
    CHECK_STR_EQ(str_text(&b->taker.bytes), "part");
}

static void reject_port(int listener)
{
    (void)listener; /* ends, and with it the port */
}

static bool has_ended(void *ctx)
{
    bool good;

    return peer_has_ended(ctx, &good);
}

TEST_F(bench, b, connection_refused)
{
    bench_open(b, reject_port);
    exchange_run_until(b->loop, has_ended, &b->peer);
    bench_ask(b, (struct http_request){0});
    CHECK_INT_EQ(b->x.err.kind, ERR_IO);
    CHECK_HAS(b->x.err.msg, "connect");
}

TEST_F(bench, b, requests_that_cannot_be_sent)
{
    static const char *const broken[] = {"X: a\r\nY: b", NULL};
    static const struct {
        struct http_request request;
        const char *msg;
    } rows[] = {
        {{.url = "file:///etc/passwd"}, "invalid URL \"file:///etc/passwd\": Unsupported URL scheme"},
        {{.url = "no url"}, "invalid URL \"no url\""},
        {{.url = "http://127.0.0.1:1/", .bearer_token = "a\nb"},
         "invalid request header: contains a line break"},
        {{.url = "http://127.0.0.1:1/", .headers = broken}, "invalid request header: contains a line break"},
    };

    bench_open(b, silent);
    CHECK_ROWS (row, rows) {
        bench_ask(b, row->request);
        CHECK_INT_EQ(b->x.err.kind, ERR_INVALID);
        CHECK_HAS(b->x.err.msg, row->msg);
    }
}

/* --- many at once, cancelling, aborting --- */

static void count_connections(int listener)
{
    char request[REQUEST_MAX];
    char answer[200];

    for (int number = 1;; number++) {
        int fd = peer_accept(listener);
        if (fork() != 0) {
            (void)close(fd);
            continue;
        }
        (void)snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", number % 10);
        for (;;) {
            (void)peer_read_request(fd, request, sizeof request);
            peer_send(fd, answer);
        }
    }
}

static bool all_done(void *ctx)
{
    const struct exchange *x = ctx;

    for (int i = 0; i < 20; i++) {
        if (!x[i].done)
            return false;
    }
    return true;
}

TEST_F(bench, b, requests_share_a_few_connections)
{
    struct exchange x[20] = {0};

    bench_open_with(b, count_connections, (struct http_client_options){.max_connections = 3});
    for (int i = 0; i < 20; i++)
        exchange_send(&x[i], b->loop, b->http, (struct http_request){.method = "GET", .url = b->url});
    CHECK_INT_EQ(http_in_flight(b->http), 20);
    exchange_run_until(b->loop, all_done, x);
    for (int i = 0; i < 20; i++) {
        CHECK_INT_EQ(x[i].err.kind, ERR_NONE);
        CHECK(str_text(&x[i].body)[0] >= '1' && str_text(&x[i].body)[0] <= '3');
        exchange_release(&x[i]);
    }
}

struct chain {
    struct exchange next;
    struct http_call *victim;
    struct bench *b;
    bool done;
};

static void send_and_cancel(void *ctx, const struct http_response *res, const struct err *err)
{
    struct chain *chain = ctx;

    (void)res;
    chain->done = err->kind == ERR_NONE;
    http_cancel(chain->victim);
    exchange_send(&chain->next, chain->b->loop, chain->b->http,
                  (struct http_request){.method = "GET", .url = chain->b->url});
}

static void never(void *ctx, const struct http_response *res, const struct err *err)
{
    (void)ctx;
    (void)res;
    CHECK_FAIL("a cancelled call was answered: %s", err->msg);
}

static bool chain_is_done(void *ctx)
{
    const struct chain *chain = ctx;

    return chain->next.done > 0;
}

TEST_F(bench, b, callbacks_may_send_and_cancel)
{
    struct chain chain = {.b = b};

    bench_open_with(b, count_connections, (struct http_client_options){.max_connections = 1});
    (void)http_send(b->http, &(struct http_request){
                                 .method = "GET", .url = b->url, .on_done = send_and_cancel, .ctx = &chain});
    chain.victim = http_send(
        b->http, &(struct http_request){.method = "GET", .url = b->url, .on_done = never, .ctx = NULL});
    exchange_run_until(b->loop, chain_is_done, &chain);
    CHECK(chain.done);
    CHECK_INT_EQ(chain.next.err.kind, ERR_NONE);
    CHECK_INT_EQ(http_in_flight(b->http), 0);
    exchange_release(&chain.next);
}

TEST_F(bench, b, a_call_may_be_cancelled_before_it_starts_and_the_pool_freed_with_calls)
{
    const struct http_request request = {.method = "GET", .on_done = never};

    bench_open(b, silent);
    struct http_request mine = request;
    mine.url = b->url;
    http_cancel(http_send(b->http, &mine));
    http_cancel(NULL);
    CHECK_INT_EQ(http_in_flight(b->http), 0);
    (void)http_send(b->http, &mine);
    (void)http_send(b->http, &mine);
}

static bool is_started(void *ctx)
{
    const struct bench *b = ctx;

    return b->taker.bytes.len > 0 || b->x.done;
}

static void stream_until_reset(int listener)
{
    char rest[REQUEST_MAX];

    for (;;) {
        int fd = peer_accept(listener);
        (void)peer_read_request(fd, rest, sizeof rest);
        peer_send(fd, "HTTP/1.1 200 OK\r\n\r\nhello");
        ssize_t got = read(fd, rest, sizeof rest);
        /* A reset reads as an error, an orderly end as zero. */
        if (got >= 0)
            _exit(3);
        (void)close(fd);
    }
}

TEST_F(bench, b, aborting_resets_busy_connections_and_ends_their_calls)
{
    struct exchange waiting = {0};

    bench_open(b, stream_until_reset);
    bench_send(b, (struct http_request){.on_bytes = take});
    exchange_run_until(b->loop, is_started, b);
    exchange_send(&waiting, b->loop, b->http, (struct http_request){.method = "GET", .url = b->url});
    http_abort_connections(b->http);
    CHECK_INT_EQ(b->x.done + waiting.done, 0); /* never from inside */
    exchange_wait(&b->x);
    exchange_wait(&waiting);
    CHECK_INT_EQ(b->x.err.kind, ERR_IO);
    CHECK_STR_EQ(b->x.err.msg, "connection aborted");
    CHECK_INT_EQ(waiting.err.kind, ERR_IO);

    /* The pool goes on, and the peer, which ends on anything but a reset, is still there. */
    str_clear(&b->taker.bytes);
    bench_send(b, (struct http_request){.on_bytes = take});
    exchange_run_until(b->loop, is_started, b);
    CHECK_STR_EQ(str_text(&b->taker.bytes), "hello");
    http_cancel(b->x.call);
    exchange_release(&waiting);
}

static bool abort_inside(void *ctx, int status, const char *bytes, size_t len)
{
    struct bench *b = ctx;

    (void)status;
    (void)str_add(&b->taker.bytes, bytes, len);
    http_abort_connections(b->http);
    return true;
}

TEST_F(bench, b, aborting_from_inside_a_taker)
{
    bench_open(b, stream_until_reset);
    bench_ask(b, (struct http_request){.on_bytes = abort_inside});
    CHECK_INT_EQ(b->x.err.kind, ERR_IO);
}

/* --- silent networks --- */

enum { CROWD = 6, MOMENTS = 8 };

/* Never says a word, unless it is asked for /answer. */
static void silent_but_for_one_path(int listener)
{
    char request[REQUEST_MAX];

    for (;;) {
        int fd = peer_accept(listener);
        if (fork() != 0) {
            (void)close(fd);
            continue;
        }
        (void)peer_read_request(fd, request, sizeof request);
        if (strncmp(request, "GET /answer", 11) == 0)
            peer_send(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi");
        (void)peer_read_all(fd, request, sizeof request);
        _exit(0);
    }
}

static bool count_down(void *ctx)
{
    int *turns = ctx;

    return --*turns < 0;
}

/* From "not started" over "connecting" and "shaking hands" to "asked". */
static void let_turns_pass(struct loop *loop, int turns)
{
    if (turns > 0)
        exchange_run_until(loop, count_down, &turns);
}

static void check_answered(struct bench *b)
{
    struct exchange x = {0};
    AUTO(mem) char *url = mem_printf("http://127.0.0.1:%u/answer", b->peer.port);

    exchange_send(&x, b->loop, b->http, (struct http_request){.method = "GET", .url = url});
    exchange_wait(&x);
    CHECK_STR_EQ(x.err.msg, "");
    CHECK_STR_EQ(str_text(&x.body), "hi");
    exchange_release(&x);
}

static const char *const schemes[] = {"http", "https"};

static void open_silent(struct bench *b, const char *scheme)
{
    bench_open_with(b, silent_but_for_one_path, (struct http_client_options){.max_connections = CROWD});
    (void)snprintf(b->url, sizeof b->url, "%s://127.0.0.1:%u/silent", scheme, b->peer.port);
}

static void send_crowd(struct bench *b, struct http_call **calls)
{
    for (int i = 0; i < CROWD; i++)
        calls[i] =
            http_send(b->http, &(struct http_request){.method = "GET", .url = b->url, .on_done = never});
}

TEST(cancelled_calls_leave_their_descriptors_to_new_ones)
{
    CHECK_ROWS (scheme, schemes) {
        AUTO(bench) struct bench b = {0};

        open_silent(&b, *scheme);
        for (int moment = 0; moment < MOMENTS; moment++) {
            struct http_call *calls[CROWD];

            send_crowd(&b, calls);
            let_turns_pass(b.loop, moment);
            for (int i = 0; i < CROWD; i++)
                http_cancel(calls[i]);
            check_answered(&b);
        }
    }
}

TEST_F(bench, b, aborted_connections_leave_their_descriptors_to_new_ones)
{
    struct exchange x[CROWD];

    open_silent(b, "http");
    for (int moment = 0; moment < MOMENTS; moment++) {
        memset(x, 0, sizeof x);
        for (int i = 0; i < CROWD; i++)
            exchange_send(&x[i], b->loop, b->http, (struct http_request){.method = "GET", .url = b->url});
        let_turns_pass(b->loop, moment);
        http_abort_connections(b->http);
        check_answered(b);
        for (int i = 0; i < CROWD; i++) {
            exchange_wait(&x[i]);
            CHECK_INT_EQ(x[i].err.kind, ERR_IO);
            exchange_release(&x[i]);
        }
    }
}

/* The loop goes on, and so does another pool on it, whose sockets get the numbers of those that were closed.
 */
TEST(a_pool_may_be_freed_while_its_peers_are_silent)
{
    CHECK_ROWS (scheme, schemes) {
        for (int moment = 0; moment < MOMENTS; moment++) {
            AUTO(bench) struct bench b = {0};
            struct http_call *calls[CROWD];
            struct err err;

            open_silent(&b, *scheme);
            send_crowd(&b, calls);
            let_turns_pass(b.loop, moment);
            http_client_free(b.http);
            b.http = http_client_new(b.loop, &(struct http_client_options){.user_agent = "test/1"}, &err);
            CHECK_OK(b.http != NULL, err);
            check_answered(&b);
        }
    }
}

TEST_F(bench, b, silence_and_cancelling_in_one_turn)
{
    struct exchange silent[CROWD] = {0};
    struct http_call *calls[CROWD];

    open_silent(b, "https");
    for (int i = 0; i < CROWD; i++)
        exchange_send(&silent[i], b->loop, b->http,
                      (struct http_request){.method = "GET", .url = b->url, .timeout_ms = 50});
    exchange_wait(&silent[0]);
    CHECK_INT_EQ(silent[0].err.kind, ERR_TIMEOUT);
    send_crowd(b, calls);
    for (int i = 1; i < CROWD; i++) {
        if (silent[i].call)
            http_cancel(silent[i].call);
        http_cancel(calls[i]);
    }
    check_answered(b);
    http_cancel(calls[0]);
    for (int i = 0; i < CROWD; i++)
        exchange_release(&silent[i]);
}

/* --- TLS --- */

static struct peer_identity identity;

static void tls_echo(int listener)
{
    char request[REQUEST_MAX];
    char answer[REQUEST_MAX + 200];

    for (;;) {
        int fd = peer_accept(listener);
        SSL *ssl = peer_tls(fd, &identity, getenv("ASK_CLIENT") != NULL);
        int len = ssl ? SSL_read(ssl, request, sizeof request - 1) : 0;
        if (len > 0) {
            const char *sni = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
            int size =
                snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsni=%s\n%.*s",
                         sni ? sni : "", len, request);
            (void)SSL_write(ssl, answer, size);
            (void)SSL_shutdown(ssl);
        }
        (void)close(fd);
    }
}

static void tls_ask(struct bench *b, struct http_client_options options, const char *host)
{
    bench_open_with(b, tls_echo, options);
    (void)snprintf(b->url, sizeof b->url, "https://%s:%u/p", host, b->peer.port);
    bench_ask(b, (struct http_request){0});
}

TEST(tls_is_verified)
{
    static const struct {
        const char *cert_name, *host, *server_name;
        bool trusted, insecure;
        enum err_kind kind;
        const char *sni;
    } rows[] = {
        {"127.0.0.1", "127.0.0.1", NULL, true, false, ERR_NONE, "sni=\n"},
        {"localhost", "localhost", NULL, true, false, ERR_NONE, "sni=localhost\n"},
        {"localhost", "127.0.0.1", NULL, true, false, ERR_DENIED, NULL},
        {"localhost", "localhost", NULL, false, false, ERR_DENIED, NULL},
        {"localhost", "127.0.0.1", NULL, false, true, ERR_NONE, "sni=\n"},
        {"kubernetes.default", "127.0.0.1", "kubernetes.default", true, false, ERR_NONE,
         "sni=kubernetes.default\n"},
        {"127.0.0.1", "127.0.0.1", "kubernetes.default", true, false, ERR_DENIED, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(bench) struct bench b = {0};

        peer_identity_make(&identity, row->cert_name);
        tls_ask(&b,
                (struct http_client_options){.ca_pem = row->trusted ? identity.cert_pem : NULL,
                                             .server_name = row->server_name,
                                             .insecure = row->insecure},
                row->host);
        CHECK_STR_EQ(b.x.err.kind == row->kind ? "" : b.x.err.msg, "");
        if (row->kind == ERR_NONE) {
            CHECK_HAS(str_text(&b.x.body), row->sni);
            CHECK_HAS(str_text(&b.x.body), "GET /p HTTP/1.1\r\n");
            CHECK_HAS(str_text(&b.x.body), row->host); /* as the Host header, whatever the name to verify */
        }
    }
}

TEST(a_client_certificate_is_shown)
{
    AUTO(bench) struct bench with = {0};
    AUTO(bench) struct bench without = {0};
    AUTO(bench) struct bench broken = {0};

    peer_identity_make(&identity, "127.0.0.1");
    CHECK(setenv("ASK_CLIENT", "1", 1) == 0);
    tls_ask(&with,
            (struct http_client_options){
                .ca_pem = identity.cert_pem, .cert_pem = identity.cert_pem, .key_pem = identity.key_pem},
            "127.0.0.1");
    tls_ask(&without, (struct http_client_options){.ca_pem = identity.cert_pem}, "127.0.0.1");
    CHECK(unsetenv("ASK_CLIENT") == 0);
    tls_ask(&broken,
            (struct http_client_options){
                .ca_pem = identity.cert_pem, .cert_pem = "no PEM", .key_pem = identity.key_pem},
            "127.0.0.1");
    CHECK_STR_EQ(with.x.err.msg, "");
    CHECK(without.x.err.kind == ERR_IO || without.x.err.kind == ERR_DENIED);
    CHECK_INT_EQ(broken.x.err.kind, ERR_DENIED);
}

/* --- the rest --- */

TEST(options_that_contradict_are_rejected)
{
    struct loop *loop = loop_new();
    struct err err;

    CHECK_ERR(http_client_new(loop, &(struct http_client_options){.cert_pem = "x"}, &err) != NULL, err,
              ERR_INVALID);
    CHECK_ERR(http_client_new(loop, &(struct http_client_options){.proxy_url = "::"}, &err) != NULL, err,
              ERR_INVALID);
    loop_free(loop);
}

TEST_F(bench, b, the_environment_names_no_proxy_for_us)
{
    CHECK(setenv("http_proxy", "http://127.0.0.1:1", 1) == 0);
    bench_open(b, echo);
    bench_ask(b, (struct http_request){0});
    CHECK(unsetenv("http_proxy") == 0);
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
}

TEST_F(bench, b, the_environment_may_name_a_proxy_if_the_options_let_it)
{
    struct err err;

    bench_open(b, echo);
    AUTO(mem) char *proxy = mem_printf("http://127.0.0.1:%u", b->peer.port);
    CHECK(setenv("http_proxy", proxy, 1) == 0);
    http_client_free(b->http);
    b->http = http_client_new(b->loop,
                              &(struct http_client_options){.user_agent = "test/1", .env_proxy = true}, &err);
    CHECK_OK(b->http != NULL, err);
    bench_ask(b, (struct http_request){.url = "http://far.example/x"});
    CHECK(unsetenv("http_proxy") == 0);
    CHECK_HAS(str_text(&b->x.body), "GET http://far.example/x HTTP/1.1");
}

TEST_F(bench, b, the_proxy_of_the_options_sees_the_whole_url)
{
    struct err err;

    bench_open(b, echo);
    AUTO(mem) char *proxy = mem_printf("http://127.0.0.1:%u", b->peer.port);
    http_client_free(b->http);
    b->http = http_client_new(
        b->loop, &(struct http_client_options){.user_agent = "test/1", .proxy_url = proxy}, &err);
    CHECK_OK(b->http != NULL, err);
    bench_ask(b, (struct http_request){.url = "http://far.example/x"});
    CHECK_HAS(str_text(&b->x.body), "GET http://far.example/x HTTP/1.1");
}

TEST(escaping)
{
    AUTO(str) struct str out = {0};

    http_add_escaped(&out, "aZ9-._~ /?&=%+\xc3\xa4\x01");
    CHECK_STR_EQ(str_text(&out), "aZ9-._~%20%2F%3F%26%3D%25%2B%C3%A4%01");
}
