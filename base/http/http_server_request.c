#include "base/http/http_server_request.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/io/loop.h"

enum {
    MAX_QUERY_BYTES = 4 * 1024,
    MAX_HOST_BYTES = 300,
    WRITE_TIMEOUT_S = 20, /* for the complete response */
    HEAD_BYTES = 2048,
    SHORT_BYTES = 4 * 1024, /* a body that is sent with its head */
    PIECE_BYTES = 16 * 1024,
    LINGER_BYTES = 1024 * 1024, /* of a rejected body, which are read and dropped... */
    LINGER_MS = 5000,           /* ...for so long */
};

/* libwebsockets does not notice a peer that closes the connection while a response is being prepared. A
 * second descriptor of the same socket does, because libuv allows one handle per descriptor. */
struct leave_watch {
    uv_poll_t uv;
    struct http_server_request *request;
    int fd;
};

struct http_server_request {
    struct http_server_shared *side;
    struct http_server_conn *conn;
    struct lws *wsi; /* the connection's */
    struct loop_timer wait;
    struct leave_watch *watch;             /* while a handler is busy with it */
    const struct http_server_route *route; /* NULL: no handler is called, the response is an error */
    char *path;
    struct str query;
    struct str body;
    bool body_ended;
    bool asked;   /* the handler has been called */
    bool replied; /* the rest is ready */
    bool bare;    /* HEAD: the response has no body */
    bool last;    /* close after the response, because part of the request will not be read */
    bool sends;   /* it has a body, as far as its head tells */
    bool lingers; /* the response is sent */
    size_t dropped;
    int status;
    char *content_type;
    const char *allow; /* NULL: the response has no Allow header */
    char *reply;       /* LWS_PRE bytes of space, then the body */
    size_t reply_len;
    size_t sent;
    bool head_sent;
};

static void free_watch(uv_handle_t *handle)
{
    struct leave_watch *watch = CONTAINER_OF(handle, struct leave_watch, uv);

    (void)close(watch->fd);
    mem_free(watch);
}

static void stop_waiting(struct http_server_request *request)
{
    loop_timer_stop(&request->wait);
    if (!request->watch)
        return;
    uv_close((uv_handle_t *)&request->watch->uv, free_watch);
    request->watch = NULL;
    (void)lws_rx_flow_control(request->wsi, 1);
}

static void on_leave(uv_poll_t *uv, int status, int events)
{
    struct leave_watch *watch = CONTAINER_OF(uv, struct leave_watch, uv);

    (void)status;
    (void)events;
    lws_set_timeout(watch->request->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

static void start_watch(struct http_server_request *request)
{
    int fd = fcntl(lws_get_socket_fd(request->wsi), F_DUPFD_CLOEXEC, 0);
    struct leave_watch *watch;

    if (fd < 0)
        return; /* no descriptor left: the handler's own limits end the request */
    watch = NEW(struct leave_watch);
    watch->request = request;
    watch->fd = fd;
    int bad = uv_poll_init(loop_uv(request->side->conns.loop), &watch->uv, fd);
    assert(!bad);
    (void)bad;
    (void)uv_poll_start(&watch->uv, UV_DISCONNECT, on_leave);
    request->watch = watch;
}

/* Until the response is sent, libwebsockets would spin on anything that arrives, including the end of the
 * stream. Its flow control only works from outside its callbacks, hence the turn in between. */
static void on_wait(struct loop_timer *timer)
{
    struct http_server_request *request = CONTAINER_OF(timer, struct http_server_request, wait);

    (void)lws_rx_flow_control(request->wsi, 0);
    start_watch(request);
}

static void drop_body(struct http_server_request *request)
{
    str_release(&request->body);
    http_server_conns_charge(&request->side->conns, request->conn, HTTP_SERVER_BODIES, 0);
}

static void request_free(struct http_server_request *request)
{
    stop_waiting(request);
    drop_body(request);
    http_server_conns_charge(&request->side->conns, request->conn, HTTP_SERVER_REPLIES, 0);
    request->conn->request = NULL;
    mem_free(request->path);
    str_release(&request->query);
    mem_free(request->content_type);
    mem_free(request->reply);
    mem_free(request);
}

static bool add_header(struct http_server_request *request, enum lws_token_indexes name, const char *value,
                       unsigned char **at, unsigned char *end)
{
    return !lws_add_http_header_by_token(request->wsi, name, (const unsigned char *)value, (int)strlen(value),
                                         at, end);
}

static size_t next_piece(const struct http_server_request *request)
{
    size_t left = request->bare ? 0 : request->reply_len - request->sent;

    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

static bool is_short(const struct http_server_request *request)
{
    return request->reply_len <= SHORT_BYTES;
}

/* And a short body. */
static bool send_head(struct http_server_request *request)
{
    unsigned char room[LWS_PRE + HEAD_BYTES + SHORT_BYTES];
    unsigned char *start = room + LWS_PRE;
    unsigned char *at = start;
    unsigned char *end = start + HEAD_BYTES;
    size_t len = is_short(request) ? next_piece(request) : 0;

    if (lws_add_http_common_headers(request->wsi, (unsigned)request->status, request->content_type,
                                    (lws_filepos_t)request->reply_len, &at, end))
        return false;
    request->last |= request->side->draining;
    if ((request->last && !add_header(request, WSI_TOKEN_CONNECTION, "close", &at, end)) ||
        (request->allow && !add_header(request, WSI_TOKEN_HTTP_ALLOW, request->allow, &at, end)) ||
        lws_finalize_http_header(request->wsi, &at, end))
        return false;
    memcpy(at, request->reply + LWS_PRE, len);
    at += len;
    if (lws_write(request->wsi, start, (size_t)(at - start), LWS_WRITE_HTTP_HEADERS) < (int)(at - start))
        return false;
    request->head_sent = true;
    request->sent = len;
    return true;
}

void http_server_reply(struct http_server_request *request, int status, const char *content_type,
                       struct slice body)
{
    assert(!request->replied);
    stop_waiting(request);
    request->replied = true;
    request->status = status;
    request->content_type = mem_strdup(content_type);
    request->reply = mem_alloc(LWS_PRE + body.len);
    request->reply_len = body.len;
    if (body.len > 0)
        memcpy(request->reply + LWS_PRE, body.ptr, body.len);
    /* A short one at once, so that it is not cut if the connection has to go in the next turn. If this fails,
     * so does the next attempt, which may close the connection. Not after a body: a client that has the
     * response sends its next request, and bytes that follow a body before the end of the transaction
     * disconnect it (see on_body_end). */
    bool has_body = !request->asked || request->body_ended;
    if (is_short(request) && !has_body && !lws_send_pipe_choked(request->wsi))
        (void)send_head(request);
    http_server_conns_set_idle(&request->side->conns, request->conn);
    http_server_conns_charge(&request->side->conns, request->conn, HTTP_SERVER_REPLIES, body.len);
    lws_set_timeout(request->wsi, PENDING_TIMEOUT_HTTP_CONTENT, WRITE_TIMEOUT_S);
    (void)lws_callback_on_writable(request->wsi);
}

void http_server_replyf(struct http_server_request *request, int status, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    AUTO(mem) char *text = mem_vprintf(fmt, args);
    va_end(args);
    http_server_reply(request, status, "text/plain; charset=utf-8", slice_of(text));
}

/* A response without a handler. The rest of the request is not read, so the connection ends with it. */
static void reject(struct http_server_request *request, int status, const char *why)
{
    request->route = NULL;
    request->last = true;
    http_server_replyf(request, status, "%s\n", why);
}

static void reject_method(struct http_server_request *request, const char *methods)
{
    AUTO(mem) char *why = mem_printf("method not allowed, use %s", methods);

    request->allow = methods;
    reject(request, 405, why);
}

static const char *method_name(int method)
{
    switch (method) {
    case LWSHUMETH_GET:
        return "GET";
    case LWSHUMETH_POST:
        return "POST";
    case LWSHUMETH_OPTIONS:
        return "OPTIONS";
    case LWSHUMETH_PUT:
        return "PUT";
    case LWSHUMETH_PATCH:
        return "PATCH";
    case LWSHUMETH_DELETE:
        return "DELETE";
    case LWSHUMETH_HEAD:
        return "HEAD";
    default:
        return NULL;
    }
}

static const char *method_of(struct lws *wsi)
{
    char *uri;
    int len;

    return method_name(lws_http_get_uri_and_method(wsi, &uri, &len));
}

static const struct http_server_route *find_route(const struct http_server_shared *side, const char *path)
{
    for (const struct http_server_route *route = side->routes; route->path; route++) {
        if (strcmp(route->path, path) == 0)
            return route;
    }
    return NULL;
}

static const char *methods_of(const struct http_server_route *route)
{
    return route->methods ? route->methods : "GET, HEAD";
}

static void read_query(struct http_server_request *request)
{
    char piece[MAX_QUERY_BYTES];

    request->query.max = MAX_QUERY_BYTES;
    for (int i = 0; lws_hdr_copy_fragment(request->wsi, piece, sizeof piece, WSI_TOKEN_HTTP_URI_ARGS, i) > 0;
         i++)
        (void)str_addf(&request->query, "%s%s", i ? "&" : "", piece);
}

/* The caller wipes and frees it. */
static char *read_authorization(struct lws *wsi)
{
    int len = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    char *text = mem_alloc((size_t)len + 1);

    if (len > 0 && lws_hdr_copy(wsi, text, len + 1, WSI_TOKEN_HTTP_AUTHORIZATION) < 0)
        text[0] = '\0';
    return text;
}

static bool is_loopback(const char *address)
{
    return str_has_prefix(address, "127.") || str_has_prefix(address, "::ffff:127.") ||
           str_eq(address, "::1");
}

/* An address, or localhost: what no page on the network can have as its own name. */
static bool is_literal_host(const char *host)
{
    struct in6_addr ignored;
    size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    AUTO(mem) char *name = mem_strndup(host, len);

    if (*host == '[')
        name[len - 1] = '\0';
    return str_eq(name, "localhost") || inet_pton(AF_INET, name, &ignored) == 1 ||
           (*host == '[' && inet_pton(AF_INET6, name + 1, &ignored) == 1);
}

/* A page can send requests to ports of its reader's machine, such as a forwarded one. They have an Origin if
 * they could change something, or else the name of the page's server, which leads to the machine by DNS
 * rebinding. */
static bool is_from_page(struct lws *wsi, bool is_local)
{
    char host[MAX_HOST_BYTES] = "";
    int len = lws_hdr_total_length(wsi, WSI_TOKEN_HOST);

    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0)
        return true;
    if (!is_local || len <= 0)
        return false;
    return lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) < 0 || !is_literal_host(host);
}

static void ask(struct http_server_request *request, const char *method)
{
    char *authorization = read_authorization(request->wsi);
    char peer[64] = "unknown";
    bool is_near, is_page;

    (void)lws_get_peer_simple(request->wsi, peer, sizeof peer);
    is_near = is_loopback(peer);
    is_page = is_from_page(request->wsi, is_near);
    const struct http_server_request_info view = {.method = method,
                                                  .path = request->path,
                                                  .query = str_text(&request->query),
                                                  .authorization = authorization,
                                                  .peer = peer,
                                                  .is_local = is_near && !is_page,
                                                  .is_from_page = is_page,
                                                  .body = str_slice(&request->body)};

    /* A handler may take its time; its own timeouts apply. */
    lws_set_timeout(request->wsi, NO_PENDING_TIMEOUT, 0);
    request->asked = true;
    http_server_conns_set_busy(&request->side->conns, request->conn);
    request->route->fn(request->route->ctx, request, &view);
    mem_free_secret(authorization);
    drop_body(request);
    if (!request->replied)
        loop_timer_start(request->side->conns.loop, &request->wait, 0, on_wait);
}

/* -1: absent; -2: not a number, or several lengths. */
static int64_t content_length(struct lws *wsi)
{
    char text[32];
    int64_t len;

    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) == 0)
        return -1;
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
        return -2;
    return parse_i64(text, 0, INT64_MAX, &len) ? len : -2;
}

/* For clients that wait for 100 Continue. */
static void ask_for_body(struct lws *wsi)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    unsigned char room[LWS_PRE + sizeof line];

    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_EXPECT) == 0)
        return;
    memcpy(room + LWS_PRE, line, sizeof line);
    (void)lws_write(wsi, room + LWS_PRE, strlen(line), LWS_WRITE_HTTP_HEADERS);
}

static void begin(struct http_server_request *request)
{
    struct lws *wsi = request->wsi;
    const char *method = method_of(wsi);
    int64_t len = content_length(wsi);
    bool sends =
        method && (strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0);

    request->sends = sends && len != 0;
    if (!method)
        reject(request, 501, "unknown method");
    else if (!request->route)
        reject(request, 404, "not found");
    else if (!strstr(methods_of(request->route), method)) /* no route's path is a prefix of another */
        reject_method(request, methods_of(request->route));
    else if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0 || (sends && len == -1))
        reject(request, 411, "Content-Length required");
    else if (len == -2)
        reject(request, 400, "invalid Content-Length");
    else if (len > 0 && (uint64_t)len > request->route->max_body)
        reject(request, 413, "request body too large");
    else if (len > 0 && !sends)
        reject(request, 400, "request body not allowed for this method");
    else if (len > 0)
        ask_for_body(wsi);
    else
        ask(request, method);
}

static int on_request(struct http_server_shared *side, struct lws *wsi, const char *path)
{
    struct http_server_request *request = NEW(struct http_server_request);
    const char *method = method_of(wsi);

    request->side = side;
    request->conn = lws_get_opaque_user_data(wsi);
    request->conn->request = request;
    request->wsi = wsi;
    request->path = mem_strdup(path);
    request->route = find_route(side, path);
    request->bare = method && strcmp(method, "HEAD") == 0;
    request->body.max = request->route && request->route->max_body ? request->route->max_body : 1;
    read_query(request);
    begin(request);
    return 0;
}

static int on_body(struct http_server_request *request, const void *bytes, size_t len)
{
    if (!request)
        return 0;
    if (request->replied)
        return (request->dropped += len) > LINGER_BYTES ? -1 : 0;
    if (!str_add(&request->body, bytes, len))
        reject(request, 413, "request body too large");
    else
        http_server_conns_charge(&request->side->conns, request->conn, HTTP_SERVER_BODIES, request->body.cap);
    return 0;
}

/* The library calls this again, forever and without returning to the loop, if bytes follow a body before
 * the response is sent. Clients do not pipeline behind a body; one that does is disconnected. */
static int on_body_end(struct http_server_request *request)
{
    if (!request || request->body_ended || request->lingers)
        return -1;
    request->body_ended = true;
    if (!request->asked && !request->replied)
        ask(request, method_of(request->wsi));
    return 0;
}

static bool send_piece(struct http_server_request *request)
{
    size_t len = next_piece(request);
    unsigned char *at = (unsigned char *)request->reply + LWS_PRE + request->sent;
    bool ends = request->sent + len == request->reply_len;

    if (lws_write(request->wsi, at, len, ends ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)len)
        return false;
    request->sent += len;
    return true;
}

static void on_linger_end(struct loop_timer *timer)
{
    struct http_server_request *request = CONTAINER_OF(timer, struct http_server_request, wait);

    lws_set_timeout(request->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

/* To close a socket with unread bytes resets the connection, and a client that still sends its body would
 * lose the response with it. nginx and Apache do likewise. */
static void linger(struct http_server_request *request)
{
    request->lingers = true;
    (void)shutdown(lws_get_socket_fd(request->wsi), SHUT_WR);
    loop_timer_start(request->side->conns.loop, &request->wait, LINGER_MS, on_linger_end);
}

/* One write per turn of the socket. A value other than 0 closes the connection. */
static int on_writable(struct http_server_request *request)
{
    if (!request || !request->replied || request->lingers)
        return 0;
    struct lws *wsi = request->wsi;
    bool all_sent = request->head_sent && next_piece(request) == 0;
    if (!all_sent) {
        http_server_conns_set_idle(&request->side->conns, request->conn);
        if (!(request->head_sent ? send_piece(request) : send_head(request)))
            return -1;
    }
    if (next_piece(request) > 0) {
        (void)lws_callback_on_writable(wsi);
        return 0;
    }
    if (request->last && request->sends && !request->body_ended) {
        linger(request);
        return 0;
    }
    bool last = request->last;
    request_free(request);
    return last || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static void on_closed(struct http_server_request *request)
{
    if (!request)
        return;
    if (request->asked && !request->replied && request->route->gone)
        request->route->gone(request->route->ctx, request);
    request_free(request);
}

int http_server_request_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                              size_t len)
{
    struct http_server_shared *side = lws_context_user(lws_get_context(wsi));
    struct http_server_conn *conn = lws_get_opaque_user_data(wsi);
    struct http_server_request *request = conn ? conn->request : NULL;

    switch ((int)reason) {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        http_server_conns_add(&side->conns, wsi);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        http_server_conns_remove(conn);
        return 0;
    case LWS_CALLBACK_HTTP:
        return on_request(side, wsi, in);
    case LWS_CALLBACK_HTTP_BODY:
        return on_body(request, in, len);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return on_body_end(request);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_writable(request);
    case LWS_CALLBACK_CLOSED_HTTP:
        on_closed(request);
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return -1; /* the library supports WebSocket and h2c, where a peer may stay silent forever */
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION:
        return 0;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, len);
    }
}
