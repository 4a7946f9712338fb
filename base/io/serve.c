#include "base/io/serve.h"

#include <assert.h>
#include <fcntl.h>
#include <libwebsockets.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/serve_tls.h"

enum {
    MAX_CONNECTIONS = 256,
    MAX_HEADER_BYTES = 8 * 1024,
    MAX_QUERY_BYTES = 4 * 1024,
    READ_TIMEOUT_S = 20,  /* for the whole of headers, then between two pieces of a body */
    WRITE_TIMEOUT_S = 20, /* for the whole answer */
    IDLE_TIMEOUT_S = 120, /* Go's clients keep a connection for 90: who closes first must not be us */
    PIECE_BYTES = 16 * 1024,
    RECORD_BYTES = 16 * 1024, /* the most that one of TLS has */
};

struct serve {
    struct loop *loop;
    struct lws_context *context;
    int wake_fd; /* libwebsockets' own descriptor, see keep_wake_fd */
    struct lws_vhost *vhost;
    SSL_CTX *ssl; /* the vhost's, NULL without TLS */
    bool draining;
    const struct serve_route *routes;
    struct lws_protocols protocols[2];
};

/* libwebsockets does not notice a peer that leaves while an answer is being made. A second descriptor of the
 * same socket does, because libuv takes one handle per descriptor. */
struct leave_watch {
    uv_poll_t uv;
    struct serve_request *request;
    int fd;
};

struct serve_request {
    struct lws *wsi;
    struct loop *loop;
    struct loop_timer wait;
    struct leave_watch *watch;       /* while a handler is busy with it */
    const struct serve_route *route; /* NULL: nobody is asked, the answer is an error */
    char *path;
    struct str query;
    struct str body;
    bool body_ended;
    bool asked;   /* the handler has been called */
    bool replied; /* what follows is ready */
    bool bare;    /* HEAD: the answer has no body */
    bool last;    /* close after the answer, because a part of the request will not be read */
    int status;
    char *content_type;
    char *reply; /* LWS_PRE bytes of room, then the body */
    size_t reply_len;
    size_t sent;
    bool head_sent;
};

/* libwebsockets keeps one per connection. */
struct session {
    struct serve_request *request; /* NULL between two requests */
};

static void free_watch(uv_handle_t *handle)
{
    struct leave_watch *watch = CONTAINER_OF(handle, struct leave_watch, uv);

    (void)close(watch->fd);
    mem_free(watch);
}

static void stop_waiting(struct serve_request *request)
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

static void start_watch(struct serve_request *request)
{
    int fd = fcntl(lws_get_socket_fd(request->wsi), F_DUPFD_CLOEXEC, 0);
    struct leave_watch *watch;

    if (fd < 0)
        return; /* no descriptor left: the handler's own limits end the request */
    watch = NEW(struct leave_watch);
    watch->request = request;
    watch->fd = fd;
    int bad = uv_poll_init(loop_uv(request->loop), &watch->uv, fd);
    assert(!bad);
    (void)bad;
    (void)uv_poll_start(&watch->uv, UV_DISCONNECT, on_leave);
    request->watch = watch;
}

/* Until the answer is out, libwebsockets would spin on anything that arrives, the end of the stream included.
 * Its flow control works from outside its callbacks only, hence the turn in between. */
static void on_wait(struct loop_timer *timer)
{
    struct serve_request *request = CONTAINER_OF(timer, struct serve_request, wait);

    (void)lws_rx_flow_control(request->wsi, 0);
    start_watch(request);
}

static void request_free(struct serve_request *request)
{
    stop_waiting(request);
    mem_free(request->path);
    str_release(&request->query);
    str_release(&request->body);
    mem_free(request->content_type);
    mem_free(request->reply);
    mem_free(request);
}

void serve_reply(struct serve_request *request, int status, const char *content_type, struct slice body)
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
    lws_set_timeout(request->wsi, PENDING_TIMEOUT_HTTP_CONTENT, WRITE_TIMEOUT_S);
    (void)lws_callback_on_writable(request->wsi);
}

void serve_replyf(struct serve_request *request, int status, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    AUTO(mem) char *text = mem_vprintf(fmt, args);
    va_end(args);
    serve_reply(request, status, "text/plain; charset=utf-8", slice_of(text));
}

/* An answer that no handler gives. The rest of the request stays unread, so the connection ends with it. */
static void refuse(struct serve_request *request, int status, const char *why)
{
    request->route = NULL;
    request->last = true;
    serve_replyf(request, status, "%s\n", why);
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

static const struct serve_route *find_route(const struct serve *serve, const char *path)
{
    for (const struct serve_route *route = serve->routes; route->path; route++) {
        if (strcmp(route->path, path) == 0)
            return route;
    }
    return NULL;
}

static void read_query(struct serve_request *request)
{
    char piece[MAX_QUERY_BYTES];

    request->query.max = MAX_QUERY_BYTES;
    for (int i = 0; lws_hdr_copy_fragment(request->wsi, piece, sizeof piece, WSI_TOKEN_HTTP_URI_ARGS, i) > 0;
         i++)
        (void)str_addf(&request->query, "%s%s", i ? "&" : "", piece);
}

/* The caller's to wipe and free. */
static char *read_authorization(struct lws *wsi)
{
    int len = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    char *text = mem_alloc((size_t)len + 1);

    if (len > 0 && lws_hdr_copy(wsi, text, len + 1, WSI_TOKEN_HTTP_AUTHORIZATION) < 0)
        text[0] = '\0';
    return text;
}

static bool comes_from_loopback(struct lws *wsi)
{
    char address[64] = "";

    lws_get_peer_simple(wsi, address, sizeof address);
    return str_has_prefix(address, "127.") || str_has_prefix(address, "::ffff:127.") ||
           str_eq(address, "::1");
}

static void ask(struct serve_request *request, const char *method)
{
    AUTO(mem) char *authorization = read_authorization(request->wsi);
    const struct serve_view view = {.method = method,
                                    .path = request->path,
                                    .query = str_text(&request->query),
                                    .authorization = authorization,
                                    .is_local = comes_from_loopback(request->wsi),
                                    .body = str_slice(&request->body)};

    /* A handler may take its time; what it waits for has limits of its own. */
    lws_set_timeout(request->wsi, NO_PENDING_TIMEOUT, 0);
    request->asked = true;
    request->route->fn(request->route->ctx, request, &view);
    explicit_bzero(authorization, strlen(authorization));
    if (!request->replied)
        loop_timer_start(request->loop, &request->wait, 0, on_wait);
}

/* -1: absent; -2: no number, or several lengths. */
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

static void begin(struct serve_request *request)
{
    struct lws *wsi = request->wsi;
    const char *method = method_of(wsi);
    int64_t len = content_length(wsi);
    bool sends =
        method && (strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0);

    if (!method)
        refuse(request, 501, "this method is not known here");
    else if (!request->route)
        refuse(request, 404, "nothing is served under this path");
    else if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0 || (sends && len == -1))
        refuse(request, 411, "a body needs a Content-Length");
    else if (len == -2)
        refuse(request, 400, "Content-Length is not one number");
    else if (len > 0 && (uint64_t)len > request->route->max_body)
        refuse(request, 413, "the body is larger than this path takes");
    else if (len > 0 && !sends)
        refuse(request, 400, "this method takes no body");
    else if (len <= 0)
        ask(request, method);
}

static int on_request(struct serve *serve, struct lws *wsi, struct session *session, const char *path)
{
    struct serve_request *request = NEW(struct serve_request);
    const char *method = method_of(wsi);

    session->request = request;
    request->wsi = wsi;
    request->loop = serve->loop;
    request->path = mem_strdup(path);
    request->route = find_route(serve, path);
    request->bare = method && strcmp(method, "HEAD") == 0;
    request->body.max = request->route && request->route->max_body ? request->route->max_body : 1;
    read_query(request);
    begin(request);
    return 0;
}

static int on_body(struct session *session, const void *bytes, size_t len)
{
    struct serve_request *request = session->request;

    if (!request || request->replied)
        return 0;
    if (!str_add(&request->body, bytes, len))
        refuse(request, 413, "the body is larger than this path takes");
    return 0;
}

/* The library calls this again, for ever and without returning to the loop, when bytes follow a body before
 * its answer is out. Clients do not pipeline behind a body; one that does is dropped. */
static int on_body_end(struct session *session)
{
    struct serve_request *request = session->request;

    if (!request || request->body_ended)
        return -1;
    request->body_ended = true;
    if (!request->asked && !request->replied)
        ask(request, method_of(request->wsi));
    return 0;
}

static bool add_close(struct serve_request *request, unsigned char **at, unsigned char *end)
{
    static const char close_word[] = "close";

    return !lws_add_http_header_by_token(request->wsi, WSI_TOKEN_CONNECTION,
                                         (const unsigned char *)close_word, (int)strlen(close_word), at, end);
}

static bool send_head(struct serve_request *request)
{
    const struct serve *serve = lws_context_user(lws_get_context(request->wsi));
    unsigned char room[LWS_PRE + 2048];
    unsigned char *start = room + LWS_PRE;
    unsigned char *at = start;
    unsigned char *end = room + sizeof room;

    if (lws_add_http_common_headers(request->wsi, (unsigned)request->status, request->content_type,
                                    (lws_filepos_t)request->reply_len, &at, end))
        return false;
    request->last |= serve->draining;
    if ((request->last && !add_close(request, &at, end)) ||
        lws_finalize_write_http_header(request->wsi, start, &at, end))
        return false;
    request->head_sent = true;
    return true;
}

static bool send_piece(struct serve_request *request)
{
    size_t left = request->reply_len - request->sent;
    size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;
    unsigned char *at = (unsigned char *)request->reply + LWS_PRE + request->sent;

    if (lws_write(request->wsi, at, len, len == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)len)
        return false;
    request->sent += len;
    return true;
}

/* One write per turn of the socket. Other than 0 closes the connection. */
static int on_writable(struct session *session)
{
    struct serve_request *request = session->request;

    if (!request || !request->replied)
        return 0;
    struct lws *wsi = request->wsi;
    if (!(request->head_sent ? send_piece(request) : send_head(request)))
        return -1;
    if (!request->bare && request->sent < request->reply_len) {
        (void)lws_callback_on_writable(wsi);
        return 0;
    }
    bool last = request->last;
    session->request = NULL;
    request_free(request);
    return last || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static void on_closed(struct session *session)
{
    struct serve_request *request = session ? session->request : NULL;

    if (!request)
        return;
    session->request = NULL;
    if (request->asked && !request->replied && request->route->gone)
        request->route->gone(request->route->ctx, request);
    request_free(request);
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP:
        return on_request(lws_context_user(lws_get_context(wsi)), wsi, user, in);
    case LWS_CALLBACK_HTTP_BODY:
        return on_body(user, in, len);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return on_body_end(user);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_writable(user);
    case LWS_CALLBACK_CLOSED_HTTP:
        on_closed(user);
        return 0;
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION:
        return 0;
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        ((struct serve *)lws_context_user(lws_get_context(wsi)))->ssl = user;
        return 0;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, len);
    }
}

static void log_line(int level, const char *line)
{
    (void)level;
    log_debug("the HTTP server's library", KVF("says", "%.*s", (int)strcspn(line, "\n"), line));
}

static struct lws_context *open_context(struct serve *serve)
{
    void *loops[] = {loop_uv(serve->loop)};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .foreign_loops = loops,
        .fd_limit_per_thread = MAX_CONNECTIONS,
        .max_http_header_pool = MAX_CONNECTIONS,
        .max_http_header_data = MAX_HEADER_BYTES,
        /* What one read leaves of a record makes no socket readable, and the library (4.1, with libuv) comes
         * back for it only once: the rest of a larger body would wait for ever. */
        .pt_serv_buf_size = RECORD_BYTES,
        .timeout_secs = READ_TIMEOUT_S,
        .server_string = "serve", /* may not be empty; the default names the library */
        .user = serve,
    };

    lws_set_log_level(LLL_ERR, log_line);
    return lws_create_context(&info);
}

static struct lws_vhost *open_vhost(struct serve *serve, const struct serve_options *options, uint64_t family)
{
    struct lws_context_creation_info info = {
        .port = options->port,
        .iface = options->address,
        .protocols = serve->protocols,
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | family,
        .alpn = "http/1.1", /* its HTTP/2 breaks with the Kubernetes API server as a client */
        .keepalive_timeout = IDLE_TIMEOUT_S,
        .timeout_secs = READ_TIMEOUT_S,
        .server_string = "serve",
    };

    if (options->tls) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.server_ssl_cert_mem = options->tls->certificates;
        info.server_ssl_cert_mem_len = (unsigned)strlen(options->tls->certificates);
        info.server_ssl_private_key_mem = options->tls->key;
        info.server_ssl_private_key_mem_len = (unsigned)strlen(options->tls->key);
    }
    return lws_create_vhost(serve->context, &info);
}

static void note_poll(uv_handle_t *handle, void *ctx)
{
    int *fd = ctx;

    if (handle->type == UV_POLL)
        (void)uv_fileno(handle, fd);
}

/* A fresh context polls one descriptor, the one that wakes it; libuv walks its handles in the order of their
 * making. */
static int find_wake_fd(const struct serve *serve)
{
    int fd = -1;

    uv_walk(loop_uv(serve->loop), note_poll, &fd);
    return fd;
}

struct serve *serve_new(struct loop *loop, const struct serve_options *options, struct err *err)
{
    struct serve *serve = NEW(struct serve);

    serve->loop = loop;
    serve->routes = options->routes;
    serve->protocols[0] = (struct lws_protocols){
        .name = "http", .callback = on_event, .per_session_data_size = sizeof(struct session)};
    serve->context = open_context(serve);
    if (!serve->context) {
        mem_free(serve);
        err_set(err, ERR_INTERNAL, "the HTTP server does not start: is libwebsockets-evlib-uv installed?");
        return NULL;
    }
    serve->wake_fd = find_wake_fd(serve);
    serve->vhost = open_vhost(serve, options, 0);
    if (!serve->vhost) /* a machine without IPv6 */
        serve->vhost = open_vhost(serve, options, LWS_SERVER_OPTION_DISABLE_IPV6);
    if (!serve->vhost) {
        serve_free(serve);
        err_set(err, ERR_IO, "cannot listen on %s port %u: in use, or not an address of this machine",
                options->address ? options->address : "any address,", options->port);
        return NULL;
    }
    /* The library reads the first certificate alone. */
    if (options->tls && !serve_set_tls(serve, options->tls, err)) {
        serve_free(serve);
        return NULL;
    }
    return serve;
}

bool serve_set_tls(struct serve *serve, const struct serve_tls *tls, struct err *err)
{
    assert(serve->ssl);
    serve_tls_setup(serve->ssl);
    return serve_tls_use(serve->ssl, tls, err);
}

void serve_drain(struct serve *serve)
{
    serve->draining = true;
}

uint16_t serve_port(const struct serve *serve)
{
    return (uint16_t)lws_get_vhost_listen_port(serve->vhost);
}

static void note_closing(uv_handle_t *handle, void *ctx)
{
    bool *closing = ctx;

    *closing |= uv_is_closing(handle);
}

/* libuv ends a closing handle in the turn that follows. */
static void run_until_closed(struct loop *loop)
{
    bool closing;

    do {
        closing = false;
        (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
        uv_walk(loop_uv(loop), note_closing, &closing);
    } while (closing);
}

/* libwebsockets 4.1 closes the descriptor that wakes it twice: at once, and again when the loop has let go of
 * it. Whatever the loop opens in between must not get its number. */
static void keep_wake_fd(const struct serve *serve)
{
    int any = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (any < 0 || any == serve->wake_fd)
        return;
    int kept = fcntl(any, F_DUPFD_CLOEXEC, serve->wake_fd);
    (void)close(any);
    if (kept >= 0 && kept != serve->wake_fd)
        (void)close(kept); /* the number is in use, so the library has not closed it yet */
}

void serve_free(struct serve *serve)
{
    if (!serve)
        return;
    /* The first call begins to close sockets, the second one frees what the loop has let go of meanwhile. */
    lws_context_destroy(serve->context);
    keep_wake_fd(serve);
    run_until_closed(serve->loop);
    lws_context_destroy(serve->context);
    run_until_closed(serve->loop);
    mem_free(serve);
}
