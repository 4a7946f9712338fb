#include "operator/serve/live/page_server.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/http/http_server_tls.h"
#include "operator/serve/live/page_tls.h"

enum {
    REQUEST_MS = 5000,        /* for a whole request */
    DRAIN_MS = 2000,          /* for a peer to close after the response */
    STALL_MS = 30000,         /* in which a viewer must read something */
    ASKED_MAX = 1000,         /* messages of a viewer that has not read all that was sent before */
    BATCH = 64,               /* frames in one write */
    BATCH_BYTES = 128 * 1024, /* of TLS, which needs a copy, after which a write has no more frames */
    IN_BYTES = REQUEST_HEAD_MAX + ACCESS_TOKEN_MAX,
    WIRE_BYTES = 64 * 1024, /* of TLS, in one read, and of handshakes that the peer does not read */
};

enum phase {
    PHASE_REQUEST,
    PHASE_REVIEW, /* of the token in the request, which is still in `in` */
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
    struct page_tls *tls; /* NULL: none */
    char peer[INET6_ADDRSTRLEN];
    char in[IN_BYTES];
    size_t in_len;
    bool is_writing;
    struct frame **queue; /* the first `writing` of them are being written */
    size_t count, capacity, writing;
    struct str wire; /* by TLS, as this */
    size_t unsent, unsent_max;
    unsigned asked; /* since it had read everything */
    void *of_viewer;
};

struct page_server {
    uv_tcp_t tcp;
    struct loop *loop;
    struct page_server_options options;
    struct page_service service; /* or all zero */
    uint16_t port;
    SSL_CTX *ssl;
    char wire[WIRE_BYTES]; /* of one read */
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
    str_release(&conn->wire);
    page_tls_free(conn->tls);
    explicit_bzero(conn->in, sizeof(conn->in)); /* it may have a token */
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
    if (conn->phase == PHASE_REVIEW)
        server->service.on_gone(server->options.ctx, conn);
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

/* What is next; returns the number of buffers. */
static unsigned fill(struct page_viewer *conn, uv_buf_t bufs[BATCH])
{
    size_t bytes = 0;

    for (conn->writing = 0;
         conn->writing < conn->count && conn->writing < BATCH && (!conn->tls || bytes < BATCH_BYTES);
         conn->writing++) {
        struct frame *frame = conn->queue[conn->writing];

        bytes += frame->len;
        bufs[conn->writing] = uv_buf_init(frame->bytes, (unsigned)frame->len);
        if (conn->tls)
            page_tls_write(conn->tls, (struct slice){frame->bytes, frame->len}, &conn->wire);
    }
    if (!conn->tls)
        return (unsigned)conn->writing;
    if (conn->phase == PHASE_DRAIN && conn->writing == conn->count)
        page_tls_end(conn->tls, &conn->wire);
    else
        page_tls_flush(conn->tls, &conn->wire);
    bufs[0] = uv_buf_init(conn->wire.ptr, (unsigned)conn->wire.len);
    return conn->wire.len > 0;
}

static void write_more(struct page_viewer *conn)
{
    uv_buf_t bufs[BATCH];
    unsigned count;

    if (conn->is_writing || conn->phase == PHASE_CLOSED)
        return;
    count = fill(conn, bufs);
    if (count == 0) {
        if (conn->phase == PHASE_DRAIN)
            (void)uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->tcp, NULL);
        else if (conn->phase == PHASE_LIVE)
            loop_timer_stop(&conn->timer);
        return;
    }
    conn->is_writing = true;
    if (conn->phase == PHASE_LIVE)
        loop_timer_start(conn->server->loop, &conn->timer, STALL_MS, on_deadline);
    if (uv_write(&conn->write, (uv_stream_t *)&conn->tcp, bufs, count, on_written))
        close_soon(conn);
}

static bool has_too_much_ahead(const struct page_viewer *conn)
{
    return conn->phase == PHASE_LIVE && conn->unsent > conn->unsent_max;
}

/* With too much ahead of it, it may lack frames: it must not go on, also if it reads again before it is
 * closed. */
static void on_written(uv_write_t *write, int status)
{
    struct page_viewer *conn = CONTAINER_OF(write, struct page_viewer, write);

    if (status || conn->phase == PHASE_CLOSED || has_too_much_ahead(conn)) {
        close_now(conn);
        return;
    }
    for (size_t i = 0; i < conn->writing; i++) {
        conn->unsent -= conn->queue[i]->len;
        frame_drop(conn->queue[i]);
    }
    conn->count -= conn->writing;
    if (conn->count > 0)
        memmove(conn->queue, conn->queue + conn->writing, conn->count * sizeof(struct frame *));
    conn->writing = 0;
    str_release(&conn->wire);
    conn->wire.max = SIZE_MAX;
    conn->is_writing = false;
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
    if (viewer->phase != PHASE_LIVE || has_too_much_ahead(viewer))
        return;
    push(viewer, frame_keep(frame));
    if (has_too_much_ahead(viewer))
        close_soon(viewer);
}

void page_viewer_end(struct page_viewer *viewer, enum websocket_code code)
{
    if (viewer->phase == PHASE_LIVE)
        finish(viewer, close_frame(code));
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
        {204, "No Content"},          {303, "See Other"},
        {400, "Bad Request"},         {401, "Unauthorized"},
        {403, "Forbidden"},           {404, "Not Found"},
        {405, "Method Not Allowed"},  {413, "Content Too Large"},
        {426, "Upgrade Required"},    {429, "Too Many Requests"},
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

static void add_cookie(struct str *out, const struct page_access *access,
                       const struct page_access_answer *answer)
{
    struct slice value = answer->token.len > 0          ? answer->token
                         : answer->way == ACCESS_LOGOUT ? (struct slice){0}
                                                        : slice_of(access->cookie);

    str_addf(out, "Set-Cookie: %s=%.*s; Path=/; HttpOnly; SameSite=Strict%s%s\r\n", access->cookie_name,
             (int)value.len, value.len > 0 ? value.ptr : "", access->hosts ? "; Secure" : "",
             answer->way == ACCESS_LOGOUT ? "; Max-Age=0" : "");
}

static void respond(struct page_viewer *conn, const struct page_access_answer *answer, bool is_bare)
{
    const struct asset *asset = answer->asset;
    AUTO(str) struct str out = {0};
    size_t len = asset ? asset->len : answer->why ? strlen(answer->why) + 1 : 0;

    add_head(&out, answer->status);
    str_adds(&out, "Connection: close\r\n");
    if (answer->way == ACCESS_LOGIN || answer->way == ACCESS_LOGOUT)
        add_cookie(&out, &conn->server->access, answer);
    else
        str_addf(&out, "Content-Length: %zu\r\nContent-Type: %s\r\n", len,
                 asset ? asset->type : "text/plain; charset=utf-8");
    if (answer->allow)
        str_addf(&out, "Allow: %s\r\n", answer->allow);
    if (answer->location)
        str_addf(&out, "Location: %s\r\n", answer->location);
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

static void begin_live(struct page_viewer *conn, const struct request_head *head, void *who)
{
    struct page_server *server = conn->server;
    AUTO(str) struct str out = {0};

    if (server->viewers == server->options.viewers_max) {
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
    conn->of_viewer = server->options.on_open(server->options.ctx, conn, who);
}

/* ---- reading ---- */

/* Answers are memory of their own, many times the two bytes of an empty one. */
static void take_frame(struct page_viewer *conn, const struct websocket_frame *frame)
{
    conn->asked = conn->count > 0 ? conn->asked + 1 : 0;
    if (conn->asked > ASKED_MAX) {
        finish(conn, close_frame(WEBSOCKET_POLICY));
        return;
    }
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

/* False: the request is not whole yet, or was rejected. */
static bool ask(struct page_viewer *conn, struct request_head *head, struct page_access_answer *ret)
{
    switch (request_head_parse((struct slice){conn->in, conn->in_len}, head)) {
    case REQUEST_HEAD_UNFINISHED:
        return false;
    case REQUEST_HEAD_BAD:
        reject(conn, 400, "invalid request");
        return false;
    case REQUEST_HEAD_WHOLE:
        break;
    }
    *ret = page_access_ask(&conn->server->access, head);
    if (ret->way != ACCESS_LOGIN)
        return true;
    if (conn->in_len < head->len + head->body_len)
        return false;
    *ret = page_access_login(&conn->server->access, (struct slice){conn->in + head->len, head->body_len});
    return true;
}

static void answer(struct page_viewer *conn, const struct request_head *head,
                   const struct page_access_answer *got, void *who)
{
    if (got->way == ACCESS_LIVE)
        begin_live(conn, head, who);
    else
        respond(conn, got, slice_eq(head->method, "HEAD"));
}

static void read_request(struct page_viewer *conn)
{
    struct request_head head;
    struct page_access_answer got;

    if (!ask(conn, &head, &got))
        return;
    if (got.token.len > 0) {
        conn->phase = PHASE_REVIEW;
        conn->server->service.on_token(conn->server->options.ctx, conn, got.token, conn->peer);
    } else {
        answer(conn, &head, &got, NULL);
    }
}

/* The same request again, now that its token was reviewed. */
static void continue_request(struct page_viewer *conn, int status, const char *why, void *who)
{
    struct request_head head;
    struct page_access_answer got;

    if (conn->phase != PHASE_REVIEW)
        return;
    conn->phase = PHASE_REQUEST;
    if (!ask(conn, &head, &got))
        return;
    if (status)
        got = page_access_reject(got.way, status, why);
    answer(conn, &head, &got, who);
    if (conn->phase == PHASE_LIVE)
        read_frames(conn);
}

void page_viewer_allow(struct page_viewer *viewer, void *who)
{
    continue_request(viewer, 0, NULL, who);
}

void page_viewer_reject(struct page_viewer *viewer, int status, const char *why)
{
    continue_request(viewer, status, why, NULL);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct page_viewer *conn = CONTAINER_OF(handle, struct page_viewer, tcp);

    (void)suggested;
    *ret = conn->tls ? uv_buf_init(conn->server->wire, WIRE_BYTES)
                     : uv_buf_init(conn->in + conn->in_len, (unsigned)(IN_BYTES - conn->in_len));
}

static void take_bytes(struct page_viewer *conn, size_t len)
{
    conn->in_len += len;
    if (conn->phase == PHASE_REQUEST)
        read_request(conn);
    if (conn->phase == PHASE_LIVE)
        read_frames(conn);
    if (conn->phase == PHASE_DRAIN)
        conn->in_len = 0;
}

static void take_wire(struct page_viewer *conn, struct slice wire)
{
    int len = 0;

    page_tls_receive(conn->tls, wire);
    do {
        take_bytes(conn, (size_t)len);
        len = conn->in_len < IN_BYTES
                  ? page_tls_read(conn->tls, conn->in + conn->in_len, IN_BYTES - conn->in_len)
                  : -1;
    } while (len > 0 && conn->phase != PHASE_CLOSED);
    if (len < 0 || page_tls_unsent(conn->tls) > WIRE_BYTES)
        close_now(conn);
    else
        write_more(conn);
}

static void on_bytes(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct page_viewer *conn = CONTAINER_OF(stream, struct page_viewer, tcp);

    if (len < 0)
        close_now(conn);
    else if (conn->tls)
        take_wire(conn, (struct slice){buf->base, (size_t)len});
    else
        take_bytes(conn, (size_t)len);
}

/* ---- the server ---- */

static unsigned count_of_peer(const struct page_server *server, const char *peer)
{
    unsigned count = 0;

    for (const struct page_viewer *conn = server->oldest; conn; conn = conn->newer)
        count += conn->phase != PHASE_LIVE && str_eq(conn->peer, peer);
    return count;
}

/* Who opens many connections loses his own. */
static void make_room(struct page_server *server)
{
    struct page_viewer *found = NULL;
    unsigned most = 0;

    if (server->connections - server->viewers <= server->options.connections_max)
        return;
    for (struct page_viewer *conn = server->oldest; conn; conn = conn->newer) {
        unsigned count;

        if (conn->phase == PHASE_LIVE || (found && str_eq(conn->peer, found->peer)))
            continue;
        count = count_of_peer(server, conn->peer);
        if (count > most) {
            most = count;
            found = conn;
        }
    }
    if (found)
        close_now(found);
}

static void read_peer(struct page_viewer *conn)
{
    struct sockaddr_storage at;
    int len = sizeof(at);

    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&at, &len) == 0)
        (void)uv_ip_name((struct sockaddr *)&at, conn->peer, sizeof(conn->peer));
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
    conn->wire.max = SIZE_MAX;
    if (server->ssl)
        conn->tls = page_tls_new(server->ssl);
    loop_timer_start(server->loop, &conn->timer, REQUEST_MS, on_deadline);
    if (uv_accept(listener, (uv_stream_t *)&conn->tcp) ||
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_bytes))
        close_now(conn);
    else
        (void)uv_tcp_nodelay(&conn->tcp, 1);
    read_peer(conn);
    make_room(server);
}

static bool listen_at(struct page_server *server, const char *ip, unsigned flags)
{
    struct sockaddr_storage at = {0};
    int len = sizeof(at);
    bool is_v6 = strchr(ip, ':') != NULL;

    if (is_v6 ? uv_ip6_addr(ip, server->options.port, (struct sockaddr_in6 *)&at)
              : uv_ip4_addr(ip, server->options.port, (struct sockaddr_in *)&at))
        return false;
    if (uv_tcp_bind(&server->tcp, (struct sockaddr *)&at, flags) ||
        uv_listen((uv_stream_t *)&server->tcp, (int)server->options.connections_max, on_connection) ||
        uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&at, &len))
        return false;
    server->port =
        ntohs(is_v6 ? ((struct sockaddr_in6 *)&at)->sin6_port : ((struct sockaddr_in *)&at)->sin_port);
    return true;
}

static bool listen_anywhere(struct page_server *server)
{
    const char *ip = server->options.ip;

    if (ip)
        return listen_at(server, ip, strchr(ip, ':') ? UV_TCP_IPV6ONLY : 0);
    return listen_at(server, "::", 0) || listen_at(server, "0.0.0.0", 0); /* a machine without IPv6 */
}

static void init_access(struct page_server *server)
{
    unsigned char random[2 * ACCESS_SECRET_BYTES];

    if (server->service.hosts) {
        page_access_init_service(&server->access, server->service.hosts, server->options.assets);
        return;
    }
    loop_random(random, sizeof(random));
    page_access_init(&server->access, server->options.ip, server->port, server->options.assets, random);
    explicit_bzero(random, sizeof(random));
}

bool page_server_set_tls(struct page_server *server, const struct http_server_tls *tls, struct err *err)
{
    SSL_CTX *next = SSL_CTX_new(TLS_server_method());

    if (!next)
        abort(); /* no memory */
    http_server_tls_setup(next);
    if (!http_server_tls_use(next, tls, err)) {
        SSL_CTX_free(next);
        return false;
    }
    SSL_CTX_free(server->ssl);
    server->ssl = next;
    return true;
}

struct page_server *page_server_new(struct loop *loop, const struct page_server_options *options,
                                    struct err *err)
{
    struct page_server *server = NEW(struct page_server);

    server->loop = loop;
    server->options = *options;
    if (options->service)
        server->service = *options->service;
    server->handles = 1;
    (void)uv_tcp_init(loop_uv(loop), &server->tcp);
    if (options->service && !page_server_set_tls(server, options->service->tls, err)) {
        page_server_free(server, WEBSOCKET_GOING_AWAY);
        return NULL;
    }
    if (!listen_anywhere(server)) {
        err_set(err, ERR_IO, "cannot listen on %s port %u: address in use or not available",
                options->ip ? options->ip : "any address,", options->port);
        page_server_free(server, WEBSOCKET_GOING_AWAY);
        return NULL;
    }
    init_access(server);
    return server;
}

uint16_t page_server_port(const struct page_server *server)
{
    return server->port;
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
    AUTO(str) struct str wire = {0};

    if (conn->phase == PHASE_LIVE && conn->tls) {
        page_tls_write(conn->tls, (struct slice){last->bytes, last->len}, &wire);
        buf = uv_buf_init(wire.ptr, (unsigned)wire.len);
    }
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
    SSL_CTX_free(server->ssl);
    mem_free(server);
}
