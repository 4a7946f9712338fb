#include "base/io/serve_crowd.h"

#include <sys/socket.h>

#include "base/core/mem.h"

static bool is_full(const struct serve_crowd *crowd)
{
    return crowd->idle.count + crowd->busy.count > SERVE_CONNECTIONS;
}

static bool keeps_too_much(const struct serve_crowd *crowd)
{
    return crowd->body_bytes > SERVE_BODY_BYTES;
}

/* NULL: everybody is busy. */
static struct serve_guest *longest_idle(const struct serve_crowd *crowd, bool with_body)
{
    for (struct lws_dll2 *place = crowd->idle.head; place; place = place->next) {
        struct serve_guest *guest = CONTAINER_OF(place, struct serve_guest, place);

        if (!with_body || guest->body_bytes > 0)
            return guest;
    }
    return NULL;
}

static void make_room(struct loop_timer *timer)
{
    struct serve_crowd *crowd = CONTAINER_OF(timer, struct serve_crowd, timer);
    struct serve_guest *guest;

    while ((keeps_too_much(crowd) || is_full(crowd)) &&
           (guest = longest_idle(crowd, keeps_too_much(crowd)))) {
        lws_dll2_remove(&guest->place);
        serve_crowd_keep(crowd, guest, 0); /* the library may take a while to let go of it */
        /* Otherwise the library waits some seconds more for who does not read the rest of an answer. */
        (void)shutdown(lws_get_socket_fd(guest->wsi), SHUT_RDWR);
        lws_set_timeout(guest->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
    }
}

void serve_crowd_join(struct serve_crowd *crowd, struct lws *wsi)
{
    struct serve_guest *guest = NEW(struct serve_guest);

    guest->wsi = wsi;
    lws_set_opaque_user_data(wsi, guest);
    serve_crowd_idle(crowd, guest);
}

void serve_crowd_busy(struct serve_crowd *crowd, struct serve_guest *guest)
{
    lws_dll2_remove(&guest->place);
    lws_dll2_add_tail(&guest->place, &crowd->busy);
}

/* Connections are closed in the next turn, because the library is in the midst of one in this. */
void serve_crowd_idle(struct serve_crowd *crowd, struct serve_guest *guest)
{
    lws_dll2_remove(&guest->place);
    lws_dll2_add_tail(&guest->place, &crowd->idle);
    if (is_full(crowd))
        loop_timer_start(crowd->loop, &crowd->timer, 0, make_room);
}

void serve_crowd_keep(struct serve_crowd *crowd, struct serve_guest *guest, size_t body_bytes)
{
    crowd->body_bytes += body_bytes - guest->body_bytes;
    guest->body_bytes = body_bytes;
    if (body_bytes > 0 && keeps_too_much(crowd)) /* a server that ends lets go of all, and has no timer */
        loop_timer_start(crowd->loop, &crowd->timer, 0, make_room);
}

void serve_crowd_part(struct serve_guest *guest)
{
    if (!guest)
        return;
    lws_dll2_remove(&guest->place);
    mem_free(guest);
}
