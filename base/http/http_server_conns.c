#include "base/http/http_server_conns.h"

#include <string.h>
#include <sys/socket.h>

#include "base/core/mem.h"

static bool is_full(const struct http_server_conns *conns)
{
    return conns->idle.count + conns->busy.count > HTTP_SERVER_CONNECTIONS_MAX;
}

static uint32_t count_of_peer(const struct lws_dll2_owner *owner, const struct in6_addr *peer)
{
    uint32_t count = 0;

    for (struct lws_dll2 *place = owner->head; place; place = place->next) {
        const struct http_server_conn *conn = CONTAINER_OF(place, struct http_server_conn, place);

        count += memcmp(&conn->peer, peer, sizeof *peer) == 0;
    }
    return count;
}

static bool is_of_crowd(const struct http_server_conns *conns, const struct http_server_conn *conn)
{
    return conns->per_peer_max &&
           count_of_peer(&conns->idle, &conn->peer) + count_of_peer(&conns->busy, &conn->peer) >
               conns->per_peer_max;
}

static bool has_bytes(const struct http_server_conn *conn, enum http_server_bytes kind)
{
    return conn->bytes[kind] > 0;
}

static bool reads(const struct http_server_conns *conns, const struct http_server_conn *conn)
{
    return has_bytes(conn, HTTP_SERVER_REPLIES) &&
           loop_now_ms(conns->loop) < conn->idle_since_ms + HTTP_SERVER_READ_MS;
}

static struct http_server_conn *find_idle_longest(const struct http_server_conns *conns)
{
    struct http_server_conn *silent = NULL, *first = NULL;
    uint32_t readers = 0;

    for (struct lws_dll2 *place = conns->idle.head; place; place = place->next) {
        struct http_server_conn *conn = CONTAINER_OF(place, struct http_server_conn, place);

        if (!first)
            first = conn;
        if (reads(conns, conn))
            readers++;
        else if (!silent)
            silent = conn;
    }
    return silent && readers <= HTTP_SERVER_READERS_MAX ? silent : first;
}

/* The one that has been idle longest among those that must go first; NULL: none has to go, or all are busy.
 */
static struct http_server_conn *find_superfluous(const struct http_server_conns *conns)
{
    bool keeps_bodies = conns->bytes[HTTP_SERVER_BODIES] > HTTP_SERVER_BODY_BYTES_MAX;
    bool keeps_replies = conns->bytes[HTTP_SERVER_REPLIES] > HTTP_SERVER_REPLY_BYTES_MAX;

    for (struct lws_dll2 *place = conns->idle.head; place; place = place->next) {
        struct http_server_conn *conn = CONTAINER_OF(place, struct http_server_conn, place);

        if ((keeps_bodies && has_bytes(conn, HTTP_SERVER_BODIES)) ||
            (keeps_replies && has_bytes(conn, HTTP_SERVER_REPLIES)) || is_of_crowd(conns, conn))
            return conn;
    }
    return is_full(conns) ? find_idle_longest(conns) : NULL;
}

static void make_room(struct loop_timer *timer)
{
    struct http_server_conns *conns = CONTAINER_OF(timer, struct http_server_conns, timer);
    struct http_server_conn *conn;

    while ((conn = find_superfluous(conns))) {
        lws_dll2_remove(&conn->place);
        for (enum http_server_bytes kind = 0; kind < HTTP_SERVER_BYTES; kind++)
            http_server_conns_charge(conns, conn, kind, 0); /* the library may release it later */
        /* Otherwise the library waits some seconds more for a peer that does not read the rest of a
         * response. */
        (void)shutdown(lws_get_socket_fd(conn->wsi), SHUT_RDWR);
        lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
    }
}

/* An IPv4 address is mapped, so that a peer has one address whatever the socket's family. */
static struct in6_addr peer_of(struct lws *wsi)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof from;
    struct in6_addr address = {0};

    if (getpeername(lws_get_socket_fd(wsi), (struct sockaddr *)&from, &len) != 0)
        return address;
    if (from.ss_family == AF_INET6)
        return ((struct sockaddr_in6 *)&from)->sin6_addr;
    address.s6_addr[10] = address.s6_addr[11] = 0xFF;
    memcpy(&address.s6_addr[12], &((struct sockaddr_in *)&from)->sin_addr, 4);
    return address;
}

void http_server_conns_add(struct http_server_conns *conns, struct lws *wsi)
{
    struct http_server_conn *conn = NEW(struct http_server_conn);

    conn->wsi = wsi;
    conn->peer = peer_of(wsi);
    lws_set_opaque_user_data(wsi, conn);
    http_server_conns_set_idle(conns, conn);
    if (is_of_crowd(conns, conn))
        loop_timer_start(conns->loop, &conns->timer, 0, make_room);
}

void http_server_conns_set_busy(struct http_server_conns *conns, struct http_server_conn *conn)
{
    lws_dll2_remove(&conn->place);
    lws_dll2_add_tail(&conn->place, &conns->busy);
}

/* Connections are closed in the next turn, because the library is using one in this turn. */
void http_server_conns_set_idle(struct http_server_conns *conns, struct http_server_conn *conn)
{
    lws_dll2_remove(&conn->place);
    lws_dll2_add_tail(&conn->place, &conns->idle);
    conn->idle_since_ms = loop_now_ms(conns->loop);
    if (is_full(conns))
        loop_timer_start(conns->loop, &conns->timer, 0, make_room);
}

void http_server_conns_charge(struct http_server_conns *conns, struct http_server_conn *conn,
                              enum http_server_bytes kind, size_t bytes)
{
    static const size_t most[HTTP_SERVER_BYTES] = {HTTP_SERVER_BODY_BYTES_MAX, HTTP_SERVER_REPLY_BYTES_MAX};

    conns->bytes[kind] += bytes - conn->bytes[kind];
    conn->bytes[kind] = bytes;
    /* A server that ends closes all, and has no timer. */
    if (bytes > 0 && conns->bytes[kind] > most[kind])
        loop_timer_start(conns->loop, &conns->timer, 0, make_room);
}

void http_server_conns_remove(struct http_server_conn *conn)
{
    if (!conn)
        return;
    lws_dll2_remove(&conn->place);
    mem_free(conn);
}
