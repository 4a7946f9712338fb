#include "operator/serve/live/page_server.h"

#include <openssl/evp.h>
#include <string.h>
#include <uv.h>

#include "base/core/mem.h"

enum {
    CONNECTIONS_MAX = 64,
    REQUEST_MS = 5000, /* for a whole request */
    DRAIN_MS = 2000,   /* for a peer to close after the response */
    STALL_MS = 30000,  /* in which a viewer must read something */
    BATCH = 64,        /* frames in one write */
    IN_BYTES = REQUEST_HEAD_MAX + ACCESS_BODY_MAX,
};

enum phase {
    PHASE_REQUEST,
    PHASE_LIVE,
    PHASE_DRAIN, /* after the last byte, so that the peer gets it: closing with unread bytes is a reset */
    PHASE_CLOSED,
};

struct page_viewer { /* any connection; a viewer in PHASE_LIVE */
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct page_server *server;
    struct page_viewer *older, *newer;
    enum phase phase;
    struct loop_timer timer;
    char in[IN_BYTES];
    size_t in_len;
    struct frame **queue; /* the first `writing` of them are being written */
    size_t count, capacity, writing;
    size_t unsent, unsent_max;
    void *of_viewer;
};

struct page_server {
    uv_tcp_t tcp;
    struct loop *loop;
    struct page_server_options options;
    struct page_access access;
    struct page_viewer *oldest, *newest;
    unsigned connections, viewers;
    unsigned handles; /* that are not closed yet */
};

static void on_written(uv_write_t *write, int status);

/* ---- the end of a connection ---- */

static void on_closed(uv_handle_t *handle)
{
    struct page_viewer *conn = CONTAINER_OF(handle, struct page_viewer, tcp);

    for (size_t i = 0; i < conn->count; i++)
        frame_drop(conn->queue[i]);
    mem_free(conn->queue);
    conn->server->handles--;
    mem_free(conn);
}

static void end_live(struct page_viewer *conn)
{
    if (conn->phase != PHASE_LIVE)
        return;
    conn->phase = PHASE_DRAIN;
    conn->server->viewers--;
    conn->server->options.on_close(conn->of_viewer);
}

static void close_now(struct page_viewer *conn)
{
    struct page_server *server = conn->server;

    if (conn->phase == PHASE_CLOSED)
        return;
    end_live(conn);
    conn->phase = PHASE_CLOSED;
    loop_timer_stop(&conn->timer);
    *(conn->older ? &conn->older->newer : &server->oldest) = conn->newer;
    *(conn->newer ? &conn->newer->older : &server->newest) = conn->older;
    server->connections--;
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static void on_deadline(struct loop_timer *timer)
{
    close_now(CONTAINER_OF(timer, struct page_viewer, timer));
}

/* Callers of page_viewer_send walk through the viewers. */
static void close_soon(struct page_viewer *conn)
{
    loop_timer_start(conn->server->loop, &conn->timer, 0, on_deadline);
}

/* ---- writing ---- */

static void write_more(struct page_viewer *conn)
{
    uv_buf_t bufs[BATCH];

    if (conn->writing > 0)
        return;
    if (conn->count == 0) {
        if (conn->phase == PHASE_DRAIN)
            (void)uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->tcp, NULL);
        else
            loop_timer_stop(&conn->timer);
        return;
    }
    conn->writing = conn->count < BATCH ? conn->count : BATCH;
    for (size_t i = 0; i < conn->writing; i++)
        bufs[i] = uv_buf_init(conn->queue[i]->bytes, (unsigned)conn->queue[i]->len);
    if (conn->phase == PHASE_LIVE)
        loop_timer_start(conn->server->loop, &conn->timer, STALL_MS, on_deadline);
    if (uv_write(&conn->write, (uv_stream_t *)&conn->tcp, bufs, (unsigned)conn->writing, on_written))
        close_soon(conn);
}

static void on_written(uv_write_t *write, int status)
{
    struct page_viewer *conn = CONTAINER_OF(write, struct page_viewer, write);

    if (status || conn->phase == PHASE_CLOSED) {
        close_now(conn);
        return;
    }
    for (size_t i = 0; i < conn->writing; i++) {
        conn->unsent -= conn->queue[i]->len;
        frame_drop(conn->queue[i]);
    }
    conn->count -= conn->writing;
    memmove(conn->queue, conn->queue + conn->writing, conn->count * sizeof(struct frame *));
    conn->writing = 0;
    write_more(conn);
}

static void push(struct page_viewer *conn, struct frame *frame)
{
    if (conn->count == conn->capacity) {
        conn->capacity = conn->capacity ? conn->capacity * 2 : 16;
        conn->queue = mem_grow(conn->queue, conn->capacity, sizeof(struct frame *));
    }
    conn->queue[conn->count++] = frame;
    conn->unsent += frame->len;
    write_more(conn);
}

/* The last bytes of a connection. */
static void finish(struct page_viewer *conn, struct frame *last)
{
    end_live(conn);
    conn->phase = PHASE_DRAIN;
    loop_timer_start(conn->server->loop, &conn->timer, DRAIN_MS, on_deadline);
    push(conn, last);
}

static struct frame *close_frame(enum websocket_code code)
{
    const char bytes[] = {(char)(code >> 8), (char)(code & 0xff)};

    return frame_new(WEBSOCKET_CLOSE, (struct slice){bytes, sizeof(bytes)});
}

void page_viewer_send(struct page_viewer *viewer, struct frame *frame)
{
    if (viewer->phase != PHASE_LIVE || viewer->unsent > viewer->unsent_max)
        return;
    push(viewer, frame_keep(frame));
    if (viewer->phase == PHASE_LIVE && viewer->unsent > viewer->unsent_max)
        close_soon(viewer);
}

void page_viewer_begin(struct page_viewer *viewer)
{
    viewer->unsent_max = viewer->unsent + PAGE_UNSENT_MAX;
}

size_t page_viewer_unsent(const struct page_viewer *viewer)
{
    return viewer->unsent;
}

/* ---- responses ---- */

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } rows[] = {
        {101, "Switching Protocols"}, {200, "OK"},
        {204, "No Content"},          {400, "Bad Request"},
        {401, "Unauthorized"},        {403, "Forbidden"},
        {404, "Not Found"},           {405, "Method Not Allowed"},
        {413, "Content Too Large"},   {426, "Upgrade Required"},
        {503, "Service Unavailable"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].status == status)
            return rows[i].phrase;
    }
    return "";
}

static void add_head(struct str *out, int status)
{
    str_addf(out,
             "HTTP/1.1 %d %s\r\n"
             "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
             "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'none'\r\n"
             "X-Content-Type-Options: nosniff\r\n"
             "Referrer-Policy: no-referrer\r\n"
             "Cross-Origin-Opener-Policy: same-origin\r\n"
             "Cross-Origin-Resource-Policy: same-origin\r\n"
             "Cache-Control: no-store\r\n",
             status, phrase_of(status));
}

static void respond(struct page_viewer *conn, const struct page_access_answer *answer, bool is_bare)
{
    const struct asset *asset = answer->asset;
    AUTO(str) struct str out = {0};
    size_t len = asset ? asset->len : answer->why ? strlen(answer->why) + 1 : 0;

    add_head(&out, answer->status);
    str_adds(&out, "Connection: close\r\n");
    if (answer->way == ACCESS_LOGIN)
        str_addf(&out, "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict\r\n",
                 conn->server->access.cookie_name, conn->server->access.cookie);
    else
        str_addf(&out, "Content-Length: %zu\r\nContent-Type: %s\r\n", len,
                 asset ? asset->type : "text/plain; charset=utf-8");
    if (answer->allow)
        str_addf(&out, "Allow: %s\r\n", answer->allow);
    if (answer->status == 426)
        str_adds(&out, "Upgrade: websocket\r\n");
    str_addf(&out, "%s\r\n", asset ? "Content-Encoding: gzip\r\n" : "");
    if (asset && !is_bare)
        str_add(&out, asset->gzip, asset->len);
    else if (answer->why && !is_bare)
        str_addf(&out, "%s\n", answer->why);
    finish(conn, frame_of_bytes(str_slice(&out)));
}

static void reject(struct page_viewer *conn, int status, const char *why)
{
    respond(conn, &(struct page_access_answer){.way = ACCESS_REJECT, .status = status, .why = why}, false);
}

static void add_accept(struct str *out, struct slice key)
{
    unsigned char digest[EVP_MAX_MD_SIZE], text[2 * EVP_MAX_MD_SIZE];
    unsigned len = 0;
    AUTO(str) struct str hashed = {0};

    str_add(&hashed, key.ptr, key.len);
    str_adds(&hashed, WEBSOCKET_GUID);
    (void)EVP_Digest(str_text(&hashed), hashed.len, digest, &len, EVP_sha1(), NULL);
    (void)EVP_EncodeBlock(text, digest, (int)len);
    str_addf(out, "Sec-WebSocket-Accept: %s\r\n", (const char *)text);
}

static void begin_live(struct page_viewer *conn, const struct request_head *head)
{
    struct page_server *server = conn->server;
    AUTO(str) struct str out = {0};

    if (server->viewers == PAGE_VIEWERS_MAX) {
        reject(conn, 503, "too many pages are open");
        return;
    }
    add_head(&out, 101);
    str_adds(&out, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
    add_accept(&out, head->websocket_key);
    str_adds(&out, "\r\n");
    conn->in_len -= head->len;
    memmove(conn->in, conn->in + head->len, conn->in_len);
    conn->phase = PHASE_LIVE;
    conn->unsent_max = SIZE_MAX;
    server->viewers++;
    loop_timer_stop(&conn->timer);
    push(conn, frame_of_bytes(str_slice(&out)));
    conn->of_viewer = server->options.on_open(server->options.ctx, conn);
}

/* ---- reading ---- */

static void read_request(struct page_viewer *conn)
{
    struct request_head head;
    struct page_access_answer answer;

    switch (request_head_parse((struct slice){conn->in, conn->in_len}, &head)) {
    case REQUEST_HEAD_UNFINISHED:
        return;
    case REQUEST_HEAD_BAD:
        reject(conn, 400, "invalid request");
        return;
    case REQUEST_HEAD_WHOLE:
        break;
    }
    answer = page_access_ask(&conn->server->access, &head);
    if (answer.way == ACCESS_LOGIN) {
        if (conn->in_len < head.len + head.body_len)
            return;
        answer = page_access_login(&conn->server->access, (struct slice){conn->in + head.len, head.body_len});
    }
    if (answer.way == ACCESS_LIVE)
        begin_live(conn, &head);
    else
        respond(conn, &answer, slice_eq(head.method, "HEAD"));
}

static void take_frame(struct page_viewer *conn, const struct websocket_frame *frame)
{
    switch (frame->opcode) {
    case WEBSOCKET_TEXT:
        conn->server->options.on_message(conn->of_viewer, frame->payload);
        break;
    case WEBSOCKET_PING: {
        struct frame *pong = frame_new(WEBSOCKET_PONG, frame->payload);

        page_viewer_send(conn, pong);
        frame_drop(pong);
        break;
    }
    case WEBSOCKET_CLOSE:
        finish(conn, close_frame(WEBSOCKET_NORMAL));
        break;
    case WEBSOCKET_BINARY:
    case WEBSOCKET_PONG:
        break;
    }
}

static void read_frames(struct page_viewer *conn)
{
    struct websocket_frame frame;
    size_t at = 0;
    int len = 0;

    while (conn->phase == PHASE_LIVE &&
           (len = websocket_read(conn->in + at, conn->in_len - at, &frame)) > 0) {
        take_frame(conn, &frame);
        at += (size_t)len;
    }
    conn->in_len -= at;
    memmove(conn->in, conn->in + at, conn->in_len);
    if (conn->phase == PHASE_LIVE && len < 0)
        finish(conn, close_frame((enum websocket_code) - len));
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct page_viewer *conn = CONTAINER_OF(handle, struct page_viewer, tcp);

    (void)suggested;
    *ret = uv_buf_init(conn->in + conn->in_len, (unsigned)(IN_BYTES - conn->in_len));
}

static void on_bytes(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct page_viewer *conn = CONTAINER_OF(stream, struct page_viewer, tcp);

    (void)buf;
    if (len < 0) {
        close_now(conn);
        return;
    }
    conn->in_len += (size_t)len;
    if (conn->phase == PHASE_REQUEST)
        read_request(conn);
    if (conn->phase == PHASE_LIVE)
        read_frames(conn);
    if (conn->phase == PHASE_DRAIN)
        conn->in_len = 0;
}

/* ---- the server ---- */

static void make_room(struct page_server *server)
{
    struct page_viewer *conn = server->oldest;

    while (conn && conn->phase == PHASE_LIVE)
        conn = conn->newer;
    if (server->connections > CONNECTIONS_MAX && conn)
        close_now(conn);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct page_server *server = CONTAINER_OF(listener, struct page_server, tcp);
    struct page_viewer *conn = status ? NULL : NEW(struct page_viewer);

    if (!conn)
        return;
    conn->server = server;
    (void)uv_tcp_init(loop_uv(server->loop), &conn->tcp);
    server->handles++;
    server->connections++;
    conn->older = server->newest;
    *(server->newest ? &server->newest->newer : &server->oldest) = conn;
    server->newest = conn;
    loop_timer_start(server->loop, &conn->timer, REQUEST_MS, on_deadline);
    if (uv_accept(listener, (uv_stream_t *)&conn->tcp) ||
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_bytes))
        close_now(conn);
    else
        (void)uv_tcp_nodelay(&conn->tcp, 1);
    make_room(server);
}

static bool listen_at(struct page_server *server, uint16_t *ret_port)
{
    const char *ip = server->options.ip;
    struct sockaddr_storage at = {0};
    int len = sizeof(at);
    bool is_v6 = strchr(ip, ':') != NULL;

    if (is_v6 ? uv_ip6_addr(ip, server->options.port, (struct sockaddr_in6 *)&at)
              : uv_ip4_addr(ip, server->options.port, (struct sockaddr_in *)&at))
        return false;
    if (uv_tcp_bind(&server->tcp, (struct sockaddr *)&at, is_v6 ? UV_TCP_IPV6ONLY : 0) ||
        uv_listen((uv_stream_t *)&server->tcp, CONNECTIONS_MAX, on_connection) ||
        uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&at, &len))
        return false;
    *ret_port =
        ntohs(is_v6 ? ((struct sockaddr_in6 *)&at)->sin6_port : ((struct sockaddr_in *)&at)->sin_port);
    return true;
}

struct page_server *page_server_new(struct loop *loop, const struct page_server_options *options,
                                    struct err *err)
{
    struct page_server *server = NEW(struct page_server);
    unsigned char random[2 * ACCESS_SECRET_BYTES];
    uint16_t port = 0;

    server->loop = loop;
    server->options = *options;
    server->handles = 1;
    (void)uv_tcp_init(loop_uv(loop), &server->tcp);
    if (!listen_at(server, &port)) {
        err_set(err, ERR_IO, "cannot listen on %s port %u: address in use or not available", options->ip,
                options->port);
        page_server_free(server, WEBSOCKET_GOING_AWAY);
        return NULL;
    }
    loop_random(random, sizeof(random));
    page_access_init(&server->access, options->ip, port, options->assets, random);
    explicit_bzero(random, sizeof(random));
    return server;
}

char *page_server_url(const struct page_server *server)
{
    return page_access_url(&server->access);
}

static void on_listener_closed(uv_handle_t *handle)
{
    CONTAINER_OF(handle, struct page_server, tcp)->handles--;
}

/* A browser that does not read gets no word. */
static void send_close(struct page_viewer *conn, enum websocket_code code)
{
    struct frame *last = close_frame(code);
    uv_buf_t buf = uv_buf_init(last->bytes, (unsigned)last->len);

    if (conn->phase == PHASE_LIVE)
        (void)uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
    frame_drop(last);
}

void page_server_free(struct page_server *server, enum websocket_code code)
{
    if (!server)
        return;
    while (server->oldest) {
        send_close(server->oldest, code);
        close_now(server->oldest);
    }
    uv_close((uv_handle_t *)&server->tcp, on_listener_closed);
    while (server->handles > 0)
        (void)uv_run(loop_uv(server->loop), UV_RUN_NOWAIT);
    page_access_release(&server->access);
    mem_free(server);
}
