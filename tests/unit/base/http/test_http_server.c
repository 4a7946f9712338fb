#include "base/http/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "unit/base/http/exchange.h"
#include "unit/base/http/peer.h"

enum {
    BIG_BYTES = 3 * 1000 * 1000,
    BODY_MAX = 200 * 1000,
    SHORT_BYTES = 4 * 1024,
    ANSWER_MAX = 1 << 16,
    CROWD = 300,
    READERS_MAX = 60
};
/* Of two bodies, one has room. */
enum { HOLDERS = 2, HELD_BYTES = 7 * 1000 * 1000 };

static struct http_server_request *held; /* by the handler of /later */
static int gone_count;

static void on_echo(void *ctx, struct http_server_request *request,
                    const struct http_server_request_info *view)
{
    (void)ctx;
    http_server_replyf(request, 200, "%s %s?%s %zu %.10s", view->method, view->path, view->query,
                       view->body.len, view->body.len ? view->body.ptr : "");
}

static void on_origin(void *ctx, struct http_server_request *request,
                      const struct http_server_request_info *view)
{
    (void)ctx;
    http_server_replyf(request, 200, "%s", view->is_from_page ? "page" : view->is_local ? "local" : "remote");
}

static void on_later(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    (void)ctx;
    (void)view;
    held = request;
}

static void on_gone(void *ctx, struct http_server_request *request)
{
    (void)ctx;
    CHECK(request == held);
    held = NULL;
    gone_count++;
}

static char big_byte(size_t i)
{
    return (char)('a' + i % 23);
}

static void on_big(void *ctx, struct http_server_request *request,
                   const struct http_server_request_info *view)
{
    AUTO(mem) char *bytes = mem_alloc(BIG_BYTES);

    (void)ctx;
    (void)view;
    for (size_t i = 0; i < BIG_BYTES; i++)
        bytes[i] = big_byte(i);
    http_server_reply(request, 200, "application/octet-stream", (struct slice){bytes, BIG_BYTES});
}

static void on_empty(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    (void)ctx;
    (void)view;
    http_server_reply(request, 503, "text/plain", (struct slice){NULL, 0});
}

static void on_large(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    AUTO(mem) char *bytes = mem_alloc(BIG_BYTES / 10);

    (void)ctx;
    (void)view;
    http_server_reply(request, 200, "application/octet-stream", (struct slice){bytes, BIG_BYTES / 10});
}

/* The longest that is sent with its head. */
static void on_short(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    static char bytes[SHORT_BYTES];

    (void)ctx;
    (void)view;
    http_server_reply(request, 200, "application/octet-stream", (struct slice){bytes, sizeof bytes});
}

static const struct http_server_route routes[] = {
    {.path = "/origin", .fn = on_origin},
    {.path = "/echo", .methods = "GET, HEAD, POST, PUT, PATCH, DELETE", .fn = on_echo, .max_body = BODY_MAX},
    {.path = "/post", .methods = "POST", .fn = on_echo, .max_body = BODY_MAX},
    {.path = "/store", .methods = "POST", .fn = on_echo, .max_body = 8 * 1000 * 1000},
    {.path = "/later", .fn = on_later, .gone = on_gone},
    {.path = "/big", .fn = on_big},
    {.path = "/large", .fn = on_large},
    {.path = "/short", .fn = on_short},
    {.path = "/empty", .fn = on_empty},
    {0},
};

struct bench {
    struct exchange x;
    struct loop *loop;
    struct http_server *http_server;
    struct http_client *http;
};

static void bench_init(struct bench *b)
{
    struct err err;

    held = NULL;
    gone_count = 0;
    *b = (struct bench){.loop = loop_new()};
    b->http_server = http_server_new(
        b->loop, &(struct http_server_options){.address = "127.0.0.1", .routes = routes}, &err);
    CHECK_OK(b->http_server != NULL, err);
    b->http = http_client_new(b->loop, &(struct http_client_options){.user_agent = "test/1"}, &err);
    CHECK_OK(b->http != NULL, err);
}

static void bench_release(struct bench *b)
{
    exchange_release(&b->x);
    http_client_free(b->http);
    http_server_free(b->http_server);
    loop_free(b->loop);
}

static void bench_send_in(struct bench *b, struct exchange *x, const char *path, struct http_request request)
{
    AUTO(mem) char *url = mem_printf("http://127.0.0.1:%u%s", http_server_port(b->http_server), path);

    if (!request.method)
        request.method = "GET";
    request.url = url;
    x->done = 0;
    exchange_send(x, b->loop, b->http, request);
}

static void bench_send(struct bench *b, const char *path, struct http_request request)
{
    bench_send_in(b, &b->x, path, request);
}

static void bench_ask(struct bench *b, const char *path, struct http_request request)
{
    bench_send(b, path, request);
    exchange_wait(&b->x);
}

TEST_F(bench, b, answers)
{
    static const struct {
        const char *method, *path, *body;
        int status;
        const char *text;
    } rows[] = {
        {"GET", "/echo", NULL, 200, "GET /echo? 0 "},
        {"GET", "/echo?a=1b=x%20y", NULL, 200, "GET /echo?a=1b=x y 0 "},
        {"POST", "/echo", "hello", 200, "POST /echo? 5 hello"},
        {"PUT", "/echo", "hello", 200, "PUT /echo? 5 hello"},
        {"PATCH", "/echo?x", "{}", 200, "PATCH /echo?x 2 {}"},
        {"POST", "/echo", "", 200, "POST /echo? 0 "},
        {"DELETE", "/echo", NULL, 200, "DELETE /echo? 0 "},
        {"HEAD", "/echo", NULL, 200, ""},
        {"GET", "/empty", NULL, 503, ""},
        {"GET", "/", NULL, 404, "not found\n"},
        {"GET", "/echo/", NULL, 404, "not found\n"},
        {"GET", "/ech", NULL, 404, "not found\n"},
        {"POST", "/nowhere", "abc", 404, "not found\n"},
        {"POST", "/big", "abc", 405, "method not allowed, use GET, HEAD\n"},
        {"DELETE", "/big", NULL, 405, "method not allowed, use GET, HEAD\n"},
        {"OPTIONS", "/big", NULL, 405, "method not allowed, use GET, HEAD\n"},
        {"GET", "/post", NULL, 405, "method not allowed, use POST\n"},
        {"PUT", "/post", "abc", 405, "method not allowed, use POST\n"},
        {"DELETE", "/echo", "abc", 400, "request body not allowed for this method\n"},
        {"BREW", "/echo", NULL, 403, NULL}, /* the library does not ask us */
        {"GET", "/echo", NULL, 200, "GET /echo? 0 "},
    };

    CHECK_ROWS (row, rows) {
        bench_ask(b, row->path, (struct http_request){.method = row->method, .body = slice_of(row->body)});
        CHECK_INT_EQ(b->x.res.status, row->status);
        CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
        if (row->text)
            CHECK_STR_EQ(str_text(&b->x.body), row->text);
        if (row->text && b->x.body.len > 0)
            CHECK_STR_EQ(b->x.content_type, "text/plain; charset=utf-8");
    }
}

TEST_F(bench, b, bodies_have_a_limit)
{
    static const struct {
        size_t len;
        int status;
    } rows[] = {{BODY_MAX, 200}, {BODY_MAX + 1, 413}, {BODY_MAX * 20, 413}};

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *body = mem_alloc(row->len);

        memset(body, 'x', row->len);
        bench_ask(b, "/echo", (struct http_request){.method = "POST", .body = {body, row->len}});
        CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
        CHECK_INT_EQ(b->x.res.status, row->status);
    }
}

TEST_F(bench, b, a_large_answer_arrives_whole)
{
    bench_ask(b, "/big", (struct http_request){0});
    CHECK_INT_EQ(b->x.err.kind, ERR_NONE);
    CHECK_INT_EQ(b->x.body.len, BIG_BYTES);
    for (size_t i = 0; i < BIG_BYTES; i++) {
        if (b->x.body.ptr[i] != big_byte(i))
            CHECK_FAIL("byte %zu is wrong", i);
    }
}

static bool is_held(void *ctx)
{
    (void)ctx;
    return held != NULL;
}

static bool is_gone(void *ctx)
{
    return gone_count == *(int *)ctx;
}

TEST_F(bench, b, a_handler_may_answer_later)
{
    for (int i = 0; i < 3; i++) {
        bench_send(b, "/later", (struct http_request){0});
        exchange_run_until(b->loop, is_held, NULL);
        CHECK_INT_EQ(b->x.done, 0);
        http_server_replyf(TAKE(held), 202, "now %d", i);
        exchange_wait(&b->x);
        CHECK_INT_EQ(b->x.res.status, 202);
        CHECK_INT_EQ(str_text(&b->x.body)[4], '0' + i);
    }
    CHECK_INT_EQ(gone_count, 0);
}

TEST_F(bench, b, a_handler_learns_that_its_peer_left)
{
    int one = 1;

    bench_send(b, "/later", (struct http_request){0});
    exchange_run_until(b->loop, is_held, NULL);
    http_cancel(b->x.call);
    exchange_run_until(b->loop, is_gone, &one);
    CHECK(held == NULL);
}

TEST_F(bench, b, a_server_may_be_freed_with_requests)
{
    bench_send(b, "/later", (struct http_request){0});
    exchange_run_until(b->loop, is_held, NULL);
    http_server_free(TAKE(b->http_server));
    CHECK_INT_EQ(gone_count, 1);
    exchange_wait(&b->x);
    CHECK_INT_EQ(b->x.err.kind, ERR_IO);
}

/* --- what only a raw client can send --- */

#define UPGRADE(protocol)                                                                                    \
    "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " protocol             \
    "\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                \
    "Sec-WebSocket-Version: 13\r\n\r\n"

#define FROM(headers) "GET /origin HTTP/1.0\r\n" headers "\r\n"

/* One text, and what is in the answer and what is not. */
static const struct raw_client {
    const char *says;
    const char *has[3];
    const char *has_not;
} raw_clients[] = {
    {"GET /echo?1 HTTP/1.1\r\nHost: x\r\n\r\n"
     "GET /echo?2 HTTP/1.1\r\nHost: x\r\n\r\n"
     "GET /echo?3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
     {"GET /echo?1 0", "GET /echo?2 0", "GET /echo?3 0"},
     NULL},
    /* Requests behind a body, and behind a rejected one: the connection ends, and the server serves the next.
     */
    {"GET /echo?1 HTTP/1.1\r\nHost: x\r\n\r\n"
     "POST /echo?2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
     "GET /echo?3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
     {NULL},
     NULL},
    {"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\n",
     {NULL},
     NULL},
    {"POST /echo HTTP/1.1\r\nHost: x\r\n\r\n", {" 411 "}, NULL},
    {"GET /post HTTP/1.1\r\nHost: x\r\n\r\n", {" 405 ", "\r\nallow: POST\r\n"}, NULL},
    {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
     {" 411 "},
     NULL},
    {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", {NULL}, " 200 "},
    {"\x16\x03\x01\x02\x01 this is no HTTP\r\n\r\n", {NULL}, " 200 "},
    {UPGRADE("websocket"), {NULL}, " 101 "},
    /* Which requests are those of web pages. */
    {FROM("Host: 127.0.0.1:80\r\n"), {"\r\n\r\nlocal"}, NULL},
    {FROM("Host: localhost\r\n"), {"\r\n\r\nlocal"}, NULL},
    {FROM("Host: [::1]:80\r\n"), {"\r\n\r\nlocal"}, NULL},
    {FROM("Host: 10.1.2.3:80\r\n"), {"\r\n\r\nlocal"}, NULL},
    {FROM(""), {"\r\n\r\nlocal"}, NULL},
    {FROM("Host: evil.example.com:80\r\n"), {"\r\n\r\npage"}, NULL},
    {FROM("Host: 127.0.0.1.example.com\r\n"), {"\r\n\r\npage"}, NULL},
    {FROM("Host: localhost\r\nOrigin: http://localhost\r\n"), {"\r\n\r\npage"}, NULL},
    {FROM("Host: localhost\r\nOrigin: null\r\n"), {"\r\n\r\npage"}, NULL},
    {UPGRADE("h2c"), {NULL}, " 101 "},
};

static const struct raw_client *raw_client; /* the next one */

static bool says_its_text(int fd)
{
    char answer[ANSWER_MAX];

    peer_send(fd, raw_client->says);
    (void)peer_read_all(fd, answer, sizeof answer);
    for (size_t i = 0; i < COUNT_OF(raw_client->has) && raw_client->has[i]; i++)
        if (!strstr(answer, raw_client->has[i]))
            return false;
    return !raw_client->has_not || !strstr(answer, raw_client->has_not);
}

static bool byte_by_byte(int fd)
{
    static const char request[] = "POST /echo HTTP/1.0\r\nContent-Length: 4\r\n\r\nslow";
    char answer[ANSWER_MAX];

    for (const char *at = request; *at; at++)
        peer_send(fd, (char[]){*at, '\0'});
    (void)peer_read_all(fd, answer, sizeof answer);
    return strstr(answer, " 200 ") && strstr(answer, "POST /echo? 4 slow");
}

static bool waits_to_be_asked_for_a_body(int fd)
{
    static const char asked[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char answer[ANSWER_MAX];

    peer_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n"
                  "Connection: close\r\n\r\n");
    if (recv(fd, answer, strlen(asked), MSG_WAITALL) != (ssize_t)strlen(asked) ||
        memcmp(answer, asked, strlen(asked)) != 0)
        return false;
    peer_send(fd, "body");
    (void)peer_read_all(fd, answer, sizeof answer);
    return str_has_prefix(answer, "HTTP/1.1 200 ") && strstr(answer, "POST /echo? 4 body");
}

static bool huge_header(int fd)
{
    char answer[ANSWER_MAX];

    peer_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\nX-Long: ");
    for (int i = 0; i < 2000; i++) {
        if (send(fd, "0123456789", 10, MSG_NOSIGNAL) < 0)
            return true;
    }
    (void)send(fd, "\r\n\r\n", 4, MSG_NOSIGNAL);
    (void)peer_read_all(fd, answer, sizeof answer);
    return strstr(answer, " 200 ") == NULL;
}

static bool leaves_in_the_body(int fd)
{
    peer_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\npart");
    return true;
}

static bool leaves_by_reset(int fd)
{
    peer_send(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    peer_reset(fd);
    return true;
}

static void check_raw(struct bench *b, bool (*script)(int fd))
{
    CHECK(exchange_run_client(b->loop, http_server_port(b->http_server), script));
}

TEST_F(bench, b, raw_clients_are_answered_or_dropped)
{
    static bool (*const scripts[])(int fd) = {byte_by_byte, waits_to_be_asked_for_a_body, huge_header,
                                              leaves_in_the_body, leaves_by_reset};

    CHECK_ROWS (row, raw_clients) {
        raw_client = row;
        check_raw(b, says_its_text);
    }
    CHECK_ROWS (script, scripts) {
        check_raw(b, *script);
    }
    bench_ask(b, "/echo", (struct http_request){0});
    CHECK_INT_EQ(b->x.res.status, 200);
}

static bool is_asked_to_leave(int fd)
{
    char answer[ANSWER_MAX];

    peer_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)peer_read_all(fd, answer, sizeof answer); /* ends when the server closes */
    return strstr(answer, " 200 ") && strstr(answer, "connection: close\r\n");
}

TEST_F(bench, b, a_server_that_is_about_to_go_closes_with_each_answer)
{
    struct exchange y = {0};

    bench_send(b, "/later", (struct http_request){0});
    exchange_run_until(b->loop, is_held, NULL);
    http_server_drain(b->http_server);
    check_raw(b, is_asked_to_leave);
    http_server_replyf(TAKE(held), 202, "what was begun is answered");
    exchange_wait(&b->x);
    CHECK_INT_EQ(b->x.res.status, 202);
    bench_send_in(b, &y, "/echo", (struct http_request){0});
    exchange_wait(&y);
    CHECK_INT_EQ(y.res.status, 200);
    exchange_release(&y);
}

static bool half_closes(int fd)
{
    char answer[ANSWER_MAX];

    peer_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)shutdown(fd, SHUT_WR);
    (void)peer_read_all(fd, answer, sizeof answer);
    return true;
}

TEST_F(bench, b, a_client_that_stops_sending_while_a_handler_works_counts_as_gone)
{
    check_raw(b, half_closes);
    CHECK_INT_EQ(gone_count, 1);
}

static bool all_done(void *ctx)
{
    const struct exchange *x = ctx;

    for (int i = 0; i < 50; i++) {
        if (!x[i].done)
            return false;
    }
    return true;
}

TEST_F(bench, b, many_at_once)
{
    struct exchange x[50] = {0};
    struct err err;

    http_client_free(b->http);
    b->http = http_client_new(b->loop,
                              &(struct http_client_options){.user_agent = "t", .max_connections = 50}, &err);
    CHECK_OK(b->http != NULL, err);
    for (int i = 0; i < 50; i++)
        bench_send_in(b, &x[i], "/echo",
                      (struct http_request){.method = "POST", .body = SLICE_LIT("0123456789")});
    exchange_run_until(b->loop, all_done, x);
    for (int i = 0; i < 50; i++) {
        CHECK_INT_EQ(x[i].res.status, 200);
        exchange_release(&x[i]);
    }
}

/* Connections that somebody holds open; nobody reads from them, and little fits into them. */
struct crowd {
    int fds[CROWD];
};

static void crowd_come(struct crowd *crowd, const struct bench *b, const char *const says[3])
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(http_server_port(b->http_server)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int little = 536;

    for (int i = 0; i < CROWD; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0);
        CHECK(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &little, sizeof little) == 0);
        CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little) == 0);
        CHECK(connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
        peer_send(fd, says[i % 3]);
        crowd->fds[i] = fd;
    }
}

static void crowd_go(struct crowd *crowd)
{
    for (int i = 0; i < CROWD; i++)
        CHECK(close(crowd->fds[i]) == 0);
}

static bool has_ended(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    return got == 0 || (got < 0 && errno != EAGAIN);
}

static bool have_ended(void *ctx)
{
    const struct crowd *crowd = ctx;

    for (int i = 0; i < CROWD; i++) {
        if (!has_ended(crowd->fds[i]))
            return false;
    }
    return true;
}

/* On a connection of its own. */
static void check_that_it_answers(struct bench *b)
{
    struct err err;

    http_client_free(b->http);
    b->http = http_client_new(b->loop, &(struct http_client_options){.user_agent = "late/1"}, &err);
    CHECK_OK(b->http != NULL, err);
    bench_ask(b, "/echo", (struct http_request){0});
    CHECK_STR_EQ(b->x.err.msg, "");
    CHECK_INT_EQ(b->x.res.status, 200);
}

TEST_F(bench, b, many_idle_connections_do_not_block_new_ones)
{
    static const char *const halves[3] = {
        "",
        "GET /echo HTTP/1.1\r\nHost: ", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\npart"};
    struct crowd first, second;
    struct exchange busy = {0};

    bench_send_in(b, &busy, "/later", (struct http_request){0});
    exchange_run_until(b->loop, is_held, NULL);
    struct http_client *patient = TAKE(b->http);
    crowd_come(&first, b, halves);
    check_that_it_answers(b);
    for (int i = CROWD - 3; i < CROWD; i++)
        CHECK(!has_ended(first.fds[i]));
    peer_send(first.fds[CROWD - 2], "x"); /* a slow sender stays as idle as it was */
    crowd_come(&second, b, halves);
    check_that_it_answers(b);
    exchange_run_until(b->loop, have_ended, &first);
    CHECK_INT_EQ(busy.done, 0);
    http_server_replyf(TAKE(held), 202, "what is worked on is not disturbed");
    exchange_wait(&busy);
    CHECK_INT_EQ(busy.res.status, 202);
    http_client_free(patient);
    crowd_go(&first);
    crowd_go(&second);
    exchange_release(&busy);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_EIGHT(path) GET(path) GET(path) GET(path) GET(path) GET(path) GET(path) GET(path) GET(path)

TEST_F(bench, b, many_peers_that_read_no_responses_do_not_block_new_ones)
{
    static const char *const rows[] = {GET("/large"), GET_EIGHT("/short")};

    CHECK_ROWS (request, rows) {
        const char *const requests[3] = {*request, *request, *request};
        struct crowd first, second;

        crowd_come(&first, b, requests);
        check_that_it_answers(b);
        crowd_come(&second, b, requests);
        check_that_it_answers(b);
        crowd_go(&first);
        crowd_go(&second);
    }
}

static int count_ended(const struct crowd *crowd)
{
    int count = 0;

    for (int i = 0; i < CROWD; i++) { /* what has arrived comes first */
        char bytes[4096];
        ssize_t got;

        while ((got = recv(crowd->fds[i], bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            continue;
        count += got == 0 || errno != EAGAIN;
    }
    return count;
}

static bool most_have_ended(void *ctx)
{
    return count_ended(ctx) >= CROWD - READERS_MAX;
}

static int connect_to(const struct bench *b)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(http_server_port(b->http_server)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

struct reader {
    int fd;
    size_t got, want;
};

static bool has_read(void *ctx)
{
    struct reader *reader = ctx;
    char bytes[4096];
    ssize_t got = 0;

    while (reader->got < reader->want && (got = recv(reader->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        reader->got += (size_t)got;
    CHECK(got > 0 || (got < 0 && errno == EAGAIN));
    return reader->got >= reader->want;
}

/* Each of these rounds has more of them than there is room for. */
TEST_F(bench, b, new_connections_do_not_cut_a_response_that_is_read)
{
    static const char *const nothing[3] = {"", "", ""};
    struct reader reader = {.fd = connect_to(b)};
    struct crowd crowd;

    peer_send(reader.fd, GET("/big"));
    while (reader.want < BIG_BYTES) {
        reader.want += BIG_BYTES / 10;
        exchange_run_until(b->loop, has_read, &reader);
        crowd_come(&crowd, b, nothing);
        check_that_it_answers(b);
        crowd_go(&crowd);
    }
    (void)close(reader.fd);
}

/* 300,000 bytes wait for each of them: for so many there is room. */
TEST_F(bench, b, responses_that_are_not_read_have_a_limit_in_total)
{
    static const char *const request = GET("/large");
    static const char *const requests[3] = {request, request, request};
    struct crowd crowd;

    crowd_come(&crowd, b, requests);
    exchange_run_until(b->loop, most_have_ended, &crowd);
    check_that_it_answers(b);
    crowd_go(&crowd);
}

TEST_F(bench, b, one_peer_has_few_connections_where_the_server_says_so)
{
    static const char *const nothing[3] = {"", "", ""};
    struct err err;
    struct crowd crowd;

    http_server_free(b->http_server);
    b->http_server =
        http_server_new(b->loop,
                        &(struct http_server_options){
                            .address = "127.0.0.1", .routes = routes, .connections_per_peer = READERS_MAX},
                        &err);
    CHECK_OK(b->http_server != NULL, err);
    crowd_come(&crowd, b, nothing);
    exchange_run_until(b->loop, most_have_ended, &crowd);
    CHECK_INT_EQ(count_ended(&crowd), CROWD - READERS_MAX);
    check_that_it_answers(b);
    crowd_go(&crowd);
}

/* Otherwise a connection that has to go for others in the next turn would lose its response. */
TEST_F(bench, b, a_short_response_is_sent_as_a_whole_before_the_loop_goes_on)
{
    static const char *const rows[] = {"", "ok\n"};
    const struct timeval patience = {.tv_sec = 5};

    CHECK_ROWS (text, rows) {
        int fd = connect_to(b);
        char answer[1024];
        size_t len = 0;
        ssize_t got = 1;

        CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
        peer_send(fd, GET("/later"));
        exchange_run_until(b->loop, is_held, NULL);
        http_server_reply(TAKE(held), 200, "text/plain", slice_of(*text));
        AUTO(mem) char *end = mem_printf("\r\n\r\n%s", *text);
        for (answer[0] = '\0'; got > 0 && !strstr(answer, end); answer[len] = '\0') {
            got = recv(fd, answer + len, sizeof answer - 1 - len, 0);
            len += got > 0 ? (size_t)got : 0;
        }
        CHECK_HAS(answer, end);
        CHECK(close(fd) == 0);
    }
}

struct holder {
    int fd;
    size_t sent;
};

static void holder_come(struct holder *holder, const struct bench *b)
{
    holder->fd = connect_to(b);
    peer_send(holder->fd, "POST /store HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n");
}

/* Up to a large part of the body, then a byte each time, so that no silence ends it. */
static void holder_send(struct holder *holder)
{
    static const char bytes[64 * 1024];
    size_t left = holder->sent < HELD_BYTES ? HELD_BYTES - holder->sent : 1;
    ssize_t put =
        send(holder->fd, bytes, left < sizeof bytes ? left : sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

    holder->sent += put > 0 ? (size_t)put : 0;
}

static int count_left(const struct holder *holders)
{
    int count = 0;

    for (int i = 0; i < HOLDERS; i++)
        count += has_ended(holders[i].fd);
    return count;
}

static bool one_has_left(void *ctx)
{
    struct holder *holders = ctx;

    for (int i = 0; i < HOLDERS; i++)
        holder_send(&holders[i]);
    return count_left(holders) > 0;
}

TEST_F(bench, b, unfinished_bodies_do_not_block_new_ones)
{
    struct holder holders[HOLDERS] = {0};
    AUTO(mem) char *body = mem_alloc(HELD_BYTES);

    memset(body, 'x', HELD_BYTES);
    for (int i = 0; i < HOLDERS; i++)
        holder_come(&holders[i], b);
    exchange_run_until(b->loop, one_has_left, holders);
    CHECK_INT_EQ(count_left(holders), 1);
    for (int i = 0; i < HOLDERS; i++) { /* what was answered takes no room */
        bench_ask(b, "/store", (struct http_request){.method = "POST", .body = {body, HELD_BYTES}});
        CHECK_INT_EQ(b->x.res.status, 200);
    }
    CHECK(count_left(holders) <= 2); /* one more for the first of them */
    for (int i = 0; i < HOLDERS; i++)
        CHECK(close(holders[i].fd) == 0);
}

TEST_F(bench, b, a_port_in_use_is_an_error)
{
    struct err err;

    struct http_server_options same = {
        .address = "127.0.0.1", .port = http_server_port(b->http_server), .routes = routes};
    CHECK_ERR(http_server_new(b->loop, &same, &err) != NULL, err, ERR_IO);
    AUTO(mem)
    char *want = mem_printf("cannot listen on 127.0.0.1 port %u: address in use or not available",
                            http_server_port(b->http_server));
    CHECK_STR_EQ(err.msg, want);
}

static bool answers_at(uint32_t ip, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers;

    CHECK(fd >= 0);
    answers = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return answers;
}

TEST_F(bench, b, only_the_given_address)
{
    static const struct {
        const char *address;
        bool at_first, at_second; /* 127.0.0.1, 127.0.0.2 */
    } rows[] = {{"127.0.0.1", true, false}, {"127.0.0.2", false, true}};

    CHECK_ROWS (row, rows) {
        struct err err;
        struct http_server *server = http_server_new(
            b->loop, &(struct http_server_options){.address = row->address, .routes = routes}, &err);

        CHECK_OK(server != NULL, err);
        CHECK(answers_at(INADDR_LOOPBACK, http_server_port(server)) == row->at_first);
        CHECK(answers_at(INADDR_LOOPBACK + 1, http_server_port(server)) == row->at_second);
        http_server_free(server);
    }
}

TEST_F(bench, b, an_address_that_does_not_exist_is_an_error)
{
    struct err err;
    struct http_server_options nowhere = {.address = "nowhere.invalid", .routes = routes};

    CHECK_ERR(http_server_new(b->loop, &nowhere, &err) != NULL, err, ERR_IO);
}

TEST_F(bench, b, all_addresses)
{
    struct err err;

    http_server_free(b->http_server);
    b->http_server = http_server_new(b->loop, &(struct http_server_options){.routes = routes}, &err);
    CHECK_OK(b->http_server != NULL, err);
    bench_ask(b, "/echo", (struct http_request){0});
    CHECK_INT_EQ(b->x.res.status, 200);
}

static bool at_once(void *ctx)
{
    (void)ctx;
    return true;
}

/* The library lets go of a descriptor twice, and the loop goes on in between. */
TEST_F(bench, b, the_end_of_a_server_closes_no_foreign_descriptor)
{
    struct err err;

    struct http_server *going = http_server_new(
        b->loop, &(struct http_server_options){.address = "127.0.0.1", .routes = routes}, &err);
    CHECK_OK(going != NULL, err);
    bench_send(b, "/echo", (struct http_request){0});
    exchange_run_until(b->loop, at_once, NULL); /* the next turn opens the socket */
    http_server_free(going);
    exchange_wait(&b->x);
    CHECK_STR_EQ(b->x.err.msg, "");
    CHECK_INT_EQ(b->x.res.status, 200);
}
