#include "base/http/http_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/http/http_server_request.h"
#include "base/http/http_server_tls.h"

enum {
    /* The library's own limit, where it stops accepting. Higher than this server's, for connections that
     * arrive within one turn. */
    MAX_CONNECTIONS = HTTP_SERVER_CONNECTIONS_MAX + 32,
    MAX_HEADER_BYTES = 8 * 1024,
    READ_TIMEOUT_S = 20, /* for all headers, then between two pieces of a body */
    IDLE_TIMEOUT_S =
        120, /* Go's clients keep a connection for 90 seconds: the server must not be the first to close */
    RECORD_BYTES = 16 * 1024, /* the maximum of a TLS record */
};

struct http_server {
    struct http_server_shared side;
    struct lws_context *context;
    int wake_fd; /* libwebsockets' own descriptor, see keep_wakeup_fd */
    struct lws_vhost *vhost;
    SSL_CTX *ssl; /* the vhost's, NULL without TLS */
    struct lws_protocols protocols[2];
};

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    if (reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS) {
        struct http_server_shared *side = lws_context_user(lws_get_context(wsi));

        CONTAINER_OF(side, struct http_server, side)->ssl = user;
        return 0;
    }
    return http_server_request_event(wsi, reason, user, in, len);
}

static void log_line(int level, const char *line)
{
    (void)level;
    log_debug("the HTTP server's library", KVF("says", "%.*s", (int)strcspn(line, "\n"), line));
}

static struct lws_context *open_context(struct http_server *server)
{
    void *loops[] = {loop_uv(server->side.conns.loop)};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .foreign_loops = loops,
        .fd_limit_per_thread = MAX_CONNECTIONS,
        .max_http_header_pool = MAX_CONNECTIONS,
        .max_http_header_data = MAX_HEADER_BYTES,
        /* When one read leaves part of a TLS record, the socket does not become readable for it, and the
         * library (4.1, with libuv) returns to it only once: the rest of a larger body would wait forever.
         */
        .pt_serv_buf_size = RECORD_BYTES,
        .timeout_secs = READ_TIMEOUT_S,
        .server_string = "serve", /* may not be empty; the default is the library's name */
        .user = &server->side,
    };

    lws_set_log_level(LLL_ERR, log_line);
    return lws_create_context(&info);
}

/* The library (4.1) binds a name, and while IPv6 is on also an IPv4 address, to all addresses without a word.
 */
struct numeric_address {
    char text[INET6_ADDRSTRLEN];
    uint64_t family;
};

static bool resolve_address(struct loop *loop, const char *address, struct numeric_address *ret)
{
    uv_getaddrinfo_t request;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};

    if (uv_getaddrinfo(loop_uv(loop), &request, NULL, address, NULL, &hints) != 0)
        return false;
    if (uv_ip_name(request.addrinfo->ai_addr, ret->text, sizeof(ret->text)) != 0)
        ret->text[0] = '\0';
    ret->family = request.addrinfo->ai_family == AF_INET ? LWS_SERVER_OPTION_DISABLE_IPV6 : 0;
    uv_freeaddrinfo(request.addrinfo);
    return ret->text[0];
}

static struct lws_vhost *open_vhost(struct http_server *server, const struct http_server_options *options,
                                    const struct numeric_address *at)
{
    struct lws_context_creation_info info = {
        .port = options->port,
        .iface = options->address ? at->text : NULL,
        .protocols = server->protocols,
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | at->family,
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
    return lws_create_vhost(server->context, &info);
}

static void note_poll(uv_handle_t *handle, void *ctx)
{
    int *fd = ctx;

    if (handle->type == UV_POLL)
        (void)uv_fileno(handle, fd);
}

/* A new context polls one descriptor, the one that wakes it; libuv walks its handles in the order of their
 * creation. */
static int find_wakeup_fd(const struct http_server *server)
{
    int fd = -1;

    uv_walk(loop_uv(server->side.conns.loop), note_poll, &fd);
    return fd;
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                    struct err *err)
{
    struct http_server *server = NEW(struct http_server);
    struct numeric_address at = {0};

    server->side = (struct http_server_shared){
        .conns = {.loop = loop, .per_peer_max = options->connections_per_peer}, .routes = options->routes};
    server->protocols[0] = (struct lws_protocols){.name = "http", .callback = on_event};
    server->context = open_context(server);
    if (!server->context) {
        mem_free(server);
        err_set(err, ERR_INTERNAL,
                "cannot start the HTTP server; check that libwebsockets-evlib-uv is installed");
        return NULL;
    }
    server->wake_fd = find_wakeup_fd(server);
    if (!options->address || resolve_address(loop, options->address, &at))
        server->vhost = open_vhost(server, options, &at);
    if (!server->vhost && !options->address) { /* a machine without IPv6 */
        at.family = LWS_SERVER_OPTION_DISABLE_IPV6;
        server->vhost = open_vhost(server, options, &at);
    }
    if (!server->vhost) {
        http_server_free(server);
        err_set(err, ERR_IO, "cannot listen on %s port %u: address in use or not available",
                options->address ? options->address : "any address,", options->port);
        return NULL;
    }
    /* The library reads only the first certificate. */
    if (options->tls && !http_server_set_tls(server, options->tls, err)) {
        http_server_free(server);
        return NULL;
    }
    return server;
}

bool http_server_set_tls(struct http_server *server, const struct http_server_tls *tls, struct err *err)
{
    assert(server->ssl);
    http_server_tls_setup(server->ssl);
    return http_server_tls_use(server->ssl, tls, err);
}

void http_server_drain(struct http_server *server)
{
    server->side.draining = true;
}

uint16_t http_server_port(const struct http_server *server)
{
    return (uint16_t)lws_get_vhost_listen_port(server->vhost);
}

static void note_closing(uv_handle_t *handle, void *ctx)
{
    bool *closing = ctx;

    *closing |= uv_is_closing(handle);
}

/* libuv ends a closing handle in the next turn. */
static void run_until_closed(struct loop *loop)
{
    bool closing;

    do {
        closing = false;
        (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
        uv_walk(loop_uv(loop), note_closing, &closing);
    } while (closing);
}

/* libwebsockets 4.1 closes the descriptor that wakes it twice: at once, and again when the loop has released
 * it. Anything that the loop opens in between must not get its number. */
static void keep_wakeup_fd(const struct http_server *server)
{
    int any = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (any < 0 || any == server->wake_fd)
        return;
    int kept = fcntl(any, F_DUPFD_CLOEXEC, server->wake_fd);
    (void)close(any);
    if (kept >= 0 && kept != server->wake_fd)
        (void)close(kept); /* the number is in use, so the library has not closed it yet */
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    loop_timer_stop(&server->side.conns.timer);
    /* The first call starts to close sockets, the second one frees what the loop has released meanwhile. */
    lws_context_destroy(server->context);
    keep_wakeup_fd(server);
    run_until_closed(server->side.conns.loop);
    lws_context_destroy(server->context);
    run_until_closed(server->side.conns.loop);
    mem_free(server);
}
