#include "vipu/wire/service.h"

#include <errno.h>

#include "base/core/mem.h"
#include "base/io/log.h"
#include "vipu/wire/service_conn.h"
#include "vipu/wire/sock.h"

#define SILENCE_MS 20000u
#define BREATHER_MS 100 /* after the system refused a descriptor */
#define CROWD_PAUSE_MS 10000
#define IDLE_MS 10000 /* a connection without calls may stay so long when others want its place */

struct service {
    struct loop *loop;
    struct service_options options;
    struct service_conn_owner owner;
    struct tls_context *tls; /* NULL: cleartext */
    struct sock listener;
    struct loop_timer breather;
    struct service_conn **conns;
    size_t conn_count;
    int64_t next_crowd_ms; /* when a full house may be logged again */
};

static void on_gone(void *ctx, struct service_conn *conn)
{
    struct service *service = ctx;

    for (size_t i = 0; i < service->conn_count; i++) {
        if (service->conns[i] == conn) {
            service->conns[i] = service->conns[--service->conn_count];
            break;
        }
    }
    service_conn_free(conn);
}

static void on_breather_over(struct loop_timer *timer)
{
    struct service *service = CONTAINER_OF(timer, struct service, breather);

    sock_want(&service->listener, true, false);
}

/* At most once in a while: a crowd does not fill the log. */
static void turn_away(struct service *service, int fd)
{
    int64_t now = loop_now_ms(service->loop);
    struct sock refused;

    sock_open_take(&refused, service->loop, fd, NULL);
    sock_close(&refused, true);
    if (now < service->next_crowd_ms)
        return;
    service->next_crowd_ms = now + CROWD_PAUSE_MS;
    log_warn("connections are refused: there are as many as are allowed at a time",
             KVF("connections", "%zu", service->conn_count));
}

/* The connection that has been of no use for longest makes room; its client connects again when it has a
 * call. False: all are in use. */
static bool make_room(struct service *service)
{
    int64_t oldest = loop_now_ms(service->loop) - IDLE_MS;
    struct service_conn *idle = NULL;

    for (size_t i = 0; i < service->conn_count; i++) {
        int64_t since = service_conn_idle_since_ms(service->conns[i]);

        if (since >= 0 && since <= oldest) {
            oldest = since;
            idle = service->conns[i];
        }
    }
    if (idle)
        on_gone(service, idle);
    return idle;
}

static void on_incoming(struct sock *sock, bool readable, bool writable)
{
    struct service *service = CONTAINER_OF(sock, struct service, listener);
    int fd = sock_accept(sock->fd, SILENCE_MS);
    struct service_conn *conn;

    (void)readable;
    (void)writable;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            sock_want(sock, false, false);
            loop_timer_start(service->loop, &service->breather, BREATHER_MS, on_breather_over);
        }
        return;
    }
    if (service->conn_count == service->options.max_connections && !make_room(service)) {
        turn_away(service, fd);
        return;
    }
    conn = service_conn_new_take(fd, service->tls ? tls_new_server(service->tls) : NULL, &service->owner);
    service->conns[service->conn_count++] = conn;
    service_conn_greet(conn);
}

struct service *service_new(struct loop *loop, const struct service_options *options, service_fn fn,
                            void *ctx)
{
    struct service *service = NEW(struct service);
    struct service_options *o = &service->options;

    *o = *options;
    o->max_request = o->max_request ? o->max_request : (size_t)4 << 20;
    o->max_connections = o->max_connections ? o->max_connections : 256;
    o->max_calls = o->max_calls ? o->max_calls : 1000;
    o->max_unsent = o->max_unsent ? o->max_unsent : (size_t)64 << 20;
    service->loop = loop;
    service->listener.fd = -1;
    service->conns = mem_alloc(o->max_connections * sizeof(struct service_conn *));
    service->owner = (struct service_conn_owner){o, loop, fn, ctx, on_gone, service};
    return service;
}

void service_tls_take(struct service *service, struct tls_context *context)
{
    tls_context_free(service->tls);
    service->tls = context;
}

bool service_listen(struct service *service, const char *address, struct err *err)
{
    int fd = sock_listen(address, err);

    if (fd < 0)
        return false;
    sock_open_take(&service->listener, service->loop, fd, on_incoming);
    sock_want(&service->listener, true, false);
    return true;
}

uint32_t service_port(const struct service *service)
{
    return sock_port(service->listener.fd);
}

void service_drop_all(struct service *service)
{
    while (service->conn_count > 0)
        on_gone(service, service->conns[0]);
}

void service_free(struct service *service)
{
    if (!service)
        return;
    sock_close(&service->listener, false);
    loop_timer_stop(&service->breather);
    for (size_t i = 0; i < service->conn_count; i++)
        service_conn_free(service->conns[i]);
    tls_context_free(service->tls);
    mem_free(service->conns);
    mem_free(service);
}
