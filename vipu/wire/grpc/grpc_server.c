#include "vipu/wire/grpc/grpc_server.h"

#include <errno.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "vipu/wire/grpc/grpc_server_conn.h"
#include "vipu/wire/transport/sock.h"

#define SILENCE_MS 20000u
#define ACCEPT_BACKOFF_MS 100 /* after the system had no free descriptor */
#define REJECTION_LOG_MS 10000
#define IDLE_MS 10000 /* a connection without calls is kept this long when others need its place */

struct grpc_server {
    struct loop *loop;
    struct grpc_server_options options;
    struct grpc_server_conn_owner owner;
    struct tls_context *tls; /* NULL: cleartext */
    struct sock listener;
    struct loop_timer accept_backoff;
    struct grpc_server_conn **conns;
    size_t conn_count;
    int64_t next_rejection_log_ms; /* rejections are not logged before this time */
};

static void on_gone(void *ctx, struct grpc_server_conn *conn)
{
    struct grpc_server *server = ctx;

    for (size_t i = 0; i < server->conn_count; i++) {
        if (server->conns[i] == conn) {
            server->conns[i] = server->conns[--server->conn_count];
            break;
        }
    }
    grpc_server_conn_free(conn);
}

static void on_accept_backoff(struct loop_timer *timer)
{
    struct grpc_server *server = CONTAINER_OF(timer, struct grpc_server, accept_backoff);

    sock_want(&server->listener, true, false);
}

/* Rate-limited, so that many rejected connections do not fill the log. */
static void reject_connection(struct grpc_server *server, int fd)
{
    int64_t now = loop_now_ms(server->loop);
    struct sock rejected;

    sock_open_take(&rejected, server->loop, fd, NULL);
    sock_close(&rejected, true);
    if (now < server->next_rejection_log_ms)
        return;
    server->next_rejection_log_ms = now + REJECTION_LOG_MS;
    log_warn("connection rejected: connection limit reached", KVF("connections", "%zu", server->conn_count));
}

/* Closes the connection that has been idle for longest; its client reconnects when it has a call. False: all
 * are in use. */
static bool evict_idle(struct grpc_server *server)
{
    int64_t oldest = loop_now_ms(server->loop) - IDLE_MS;
    struct grpc_server_conn *idle = NULL;

    for (size_t i = 0; i < server->conn_count; i++) {
        int64_t since = grpc_server_conn_idle_since_ms(server->conns[i]);

        if (since >= 0 && since <= oldest) {
            oldest = since;
            idle = server->conns[i];
        }
    }
    if (idle)
        on_gone(server, idle);
    return idle;
}

static void on_connection(struct sock *sock, bool readable, bool writable)
{
    struct grpc_server *server = CONTAINER_OF(sock, struct grpc_server, listener);
    int fd = sock_accept(sock->fd, SILENCE_MS);
    struct grpc_server_conn *conn;

    (void)readable;
    (void)writable;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            sock_want(sock, false, false);
            loop_timer_start(server->loop, &server->accept_backoff, ACCEPT_BACKOFF_MS, on_accept_backoff);
        }
        return;
    }
    if (server->conn_count == server->options.max_connections && !evict_idle(server)) {
        reject_connection(server, fd);
        return;
    }
    conn = grpc_server_conn_new_take(fd, server->tls ? tls_new_server(server->tls) : NULL, &server->owner);
    server->conns[server->conn_count++] = conn;
    grpc_server_conn_send_settings(conn);
}

struct grpc_server *grpc_server_new(struct loop *loop, const struct grpc_server_options *options,
                                    grpc_server_fn fn, void *ctx)
{
    struct grpc_server *server = NEW(struct grpc_server);
    struct grpc_server_options *o = &server->options;

    *o = *options;
    o->max_request = o->max_request ? o->max_request : (size_t)4 << 20;
    o->max_connections = o->max_connections ? o->max_connections : 256;
    o->max_calls = o->max_calls ? o->max_calls : 1000;
    o->max_unsent = o->max_unsent ? o->max_unsent : (size_t)64 << 20;
    server->loop = loop;
    server->listener.fd = -1;
    server->conns = mem_alloc(o->max_connections * sizeof(struct grpc_server_conn *));
    server->owner = (struct grpc_server_conn_owner){o, loop, fn, ctx, on_gone, server};
    return server;
}

void grpc_server_set_tls_take(struct grpc_server *server, struct tls_context *context)
{
    tls_context_free(server->tls);
    server->tls = context;
}

bool grpc_server_listen(struct grpc_server *server, const char *address, struct err *err)
{
    int fd = sock_listen(address, err);

    if (fd < 0)
        return false;
    sock_open_take(&server->listener, server->loop, fd, on_connection);
    sock_want(&server->listener, true, false);
    return true;
}

uint32_t grpc_server_port(const struct grpc_server *server)
{
    return sock_port(server->listener.fd);
}

void grpc_server_drop_all(struct grpc_server *server)
{
    while (server->conn_count > 0)
        on_gone(server, server->conns[0]);
}

void grpc_server_free(struct grpc_server *server)
{
    if (!server)
        return;
    sock_close(&server->listener, false);
    loop_timer_stop(&server->accept_backoff);
    for (size_t i = 0; i < server->conn_count; i++)
        grpc_server_conn_free(server->conns[i]);
    tls_context_free(server->tls);
    mem_free(server->conns);
    mem_free(server);
}
