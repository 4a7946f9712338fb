#include "vipu/wire/grpc/grpc_server.h"

#include <errno.h>
#include <stdio.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/io/log.h"
#include "vipu/wire/grpc/grpc_server_conn.h"
#include "vipu/wire/transport/sock.h"

#define SILENCE_MS 20000u
#define PEER_SHARE 4u         /* a peer may have this part of the slots when others need one */
#define ACCEPT_BACKOFF_MS 100 /* after the system had no free descriptor */
#define REJECTION_LOG_MS 10000

struct grpc_server_peer {
    char address[SOCK_ADDRESS_MAX];
    uint32_t connections;
};

struct grpc_server_slot {
    struct grpc_server_conn *conn;
    struct grpc_server_peer *peer;
};

struct grpc_server {
    struct loop *loop;
    struct grpc_server_options options;
    struct grpc_server_conn_owner owner;
    struct tls_context *tls; /* NULL: cleartext */
    struct sock listener;
    struct loop_timer accept_backoff;
    struct grpc_server_memory memory;
    bool is_paused;
    struct grpc_server_slot *slots;
    size_t slot_count;
    struct map peers;              /* those with connections, by address */
    int64_t next_rejection_log_ms; /* rejections are not logged before this time */
};

static struct grpc_server_peer *peer_join(struct grpc_server *server, const char *address)
{
    struct grpc_server_peer *peer = map_get(&server->peers, address);

    if (!peer) {
        peer = NEW(struct grpc_server_peer);
        (void)snprintf(peer->address, sizeof(peer->address), "%s", address);
        map_set(&server->peers, address, peer);
    }
    peer->connections++;
    return peer;
}

static void peer_leave(struct grpc_server *server, struct grpc_server_peer *peer)
{
    if (--peer->connections > 0)
        return;
    map_remove(&server->peers, peer->address);
    mem_free(peer);
}

static void on_gone(void *ctx, struct grpc_server_conn *conn)
{
    struct grpc_server *server = ctx;

    for (size_t i = 0; i < server->slot_count; i++) {
        if (server->slots[i].conn == conn) {
            peer_leave(server, server->slots[i].peer);
            server->slots[i] = server->slots[--server->slot_count];
            break;
        }
    }
    grpc_server_conn_free(conn);
}

static struct eviction_candidate candidate_of(const struct grpc_server_slot *slot)
{
    struct eviction_candidate candidate = grpc_server_conn_eviction_candidate(slot->conn);

    candidate.peer_connections = slot->peer->connections;
    return candidate;
}

static bool evict_for_memory(void *ctx, const struct grpc_server_conn *conn, size_t bytes)
{
    struct grpc_server *server = ctx;

    while (server->memory.used >= server->memory.max) {
        struct grpc_server_conn *evicted = NULL;
        struct eviction_candidate last = {0};

        for (size_t i = 0; i < server->slot_count; i++) {
            struct eviction_candidate candidate = candidate_of(&server->slots[i]);

            if (server->slots[i].conn != conn && eviction_is_allowed_for_memory(&candidate, bytes) &&
                (!evicted || eviction_precedes_for_memory(&candidate, &last))) {
                evicted = server->slots[i].conn;
                last = candidate;
            }
        }
        if (!evicted)
            return false;
        grpc_server_conn_close(evicted);
    }
    return true;
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
    log_warn("connection rejected: connection limit reached", KVF("connections", "%zu", server->slot_count));
}

/* Closes a connection for a new one, with which its peer has `newcomer`; the client of the closed one
 * connects again when it has a call. False: all are in use. */
static bool evict_for_connection(struct grpc_server *server, uint32_t newcomer)
{
    const uint32_t share = server->options.max_connections / PEER_SHARE;
    struct grpc_server_conn *evicted = NULL;
    struct eviction_candidate last = {0};

    for (size_t i = 0; i < server->slot_count; i++) {
        struct eviction_candidate candidate = candidate_of(&server->slots[i]);

        if (eviction_is_allowed_for_connection(&candidate, newcomer, share) &&
            (!evicted || eviction_precedes_for_connection(&candidate, &last))) {
            evicted = server->slots[i].conn;
            last = candidate;
        }
    }
    if (evicted)
        grpc_server_conn_close(evicted);
    return evicted;
}

static void on_connection(struct sock *sock, bool readable, bool writable)
{
    struct grpc_server *server = CONTAINER_OF(sock, struct grpc_server, listener);
    int fd = sock_accept(sock->fd, SILENCE_MS);
    char address[SOCK_ADDRESS_MAX];
    struct grpc_server_peer *peer;
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
    sock_peer(fd, address);
    peer = peer_join(server, address);
    if (server->slot_count == server->options.max_connections &&
        !evict_for_connection(server, peer->connections)) {
        peer_leave(server, peer);
        reject_connection(server, fd);
        return;
    }
    conn = grpc_server_conn_new_take(fd, server->tls ? tls_new_server(server->tls) : NULL, &server->owner);
    server->slots[server->slot_count++] = (struct grpc_server_slot){conn, peer};
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
    o->max_unsent = o->max_unsent ? o->max_unsent : (size_t)16 << 20;
    o->max_memory = o->max_memory ? o->max_memory : (size_t)32 << 20;
    o->stall_ms = o->stall_ms ? o->stall_ms : 10000;
    server->loop = loop;
    server->listener.fd = -1;
    server->memory.max = o->max_memory;
    server->slots = mem_alloc(o->max_connections * sizeof(struct grpc_server_slot));
    server->owner = (struct grpc_server_conn_owner){
        o, loop, fn, ctx, &server->is_paused, &server->memory, evict_for_memory, on_gone, server};
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
    while (server->slot_count > 0)
        on_gone(server, server->slots[0].conn);
}

void grpc_server_free(struct grpc_server *server)
{
    if (!server)
        return;
    sock_close(&server->listener, false);
    loop_timer_stop(&server->accept_backoff);
    grpc_server_drop_all(server);
    tls_context_free(server->tls);
    map_release(&server->peers);
    mem_free(server->slots);
    mem_free(server);
}

void grpc_server_set_paused(struct grpc_server *server, bool is_paused)
{
    server->is_paused = is_paused;
    for (size_t i = 0; !is_paused && i < server->slot_count; i++)
        grpc_server_conn_resume(server->slots[i].conn);
}
