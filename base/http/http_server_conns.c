#include "base/http/http_server_conns.h"

#include <sys/socket.h>

#include "base/core/mem.h"

static bool is_full(const struct http_server_conns *conns)
{
    return conns->idle.count + conns->busy.count > HTTP_SERVER_CONNECTIONS_MAX;
}

static bool keeps_too_much(const struct http_server_conns *conns)
{
    return conns->body_bytes > HTTP_SERVER_BODY_BYTES_MAX;
}

/* NULL: all are busy. */
static struct http_server_conn *longest_idle(const struct http_server_conns *conns, bool with_body)
{
    for (struct lws_dll2 *place = conns->idle.head; place; place = place->next) {
        struct http_server_conn *conn = CONTAINER_OF(place, struct http_server_conn, place);

        if (!with_body || conn->body_bytes > 0)
            return conn;
    }
    return NULL;
}

static void make_room(struct loop_timer *timer)
{
    struct http_server_conns *conns = CONTAINER_OF(timer, struct http_server_conns, timer);
    struct http_server_conn *conn;

    while ((keeps_too_much(conns) || is_full(conns)) && (conn = longest_idle(conns, keeps_too_much(conns)))) {
        lws_dll2_remove(&conn->place);
        http_server_conns_charge_body(conns, conn, 0); /* the library may release it later */
        /* Otherwise the library waits some seconds more for a peer that does not read the rest of a
         * response. */
        (void)shutdown(lws_get_socket_fd(conn->wsi), SHUT_RDWR);
        lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
    }
}

void http_server_conns_add(struct http_server_conns *conns, struct lws *wsi)
{
    struct http_server_conn *conn = NEW(struct http_server_conn);

    conn->wsi = wsi;
    lws_set_opaque_user_data(wsi, conn);
    http_server_conns_set_idle(conns, conn);
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
    if (is_full(conns))
        loop_timer_start(conns->loop, &conns->timer, 0, make_room);
}

void http_server_conns_charge_body(struct http_server_conns *conns, struct http_server_conn *conn,
                                   size_t body_bytes)
{
    conns->body_bytes += body_bytes - conn->body_bytes;
    conn->body_bytes = body_bytes;
    if (body_bytes > 0 && keeps_too_much(conns)) /* a server that ends closes all, and has no timer */
        loop_timer_start(conns->loop, &conns->timer, 0, make_room);
}

void http_server_conns_remove(struct http_server_conn *conn)
{
    if (!conn)
        return;
    lws_dll2_remove(&conn->place);
    mem_free(conn);
}
