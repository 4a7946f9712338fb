/* One connection of a service with its calls. Used by service.c only. */
#pragma once

#include <sys/queue.h>

#include "vipu/wire/service.h"
#include "vipu/wire/tls.h"

struct service_conn;

struct service_conn_owner {
    const struct service_options *options; /* limits filled in; outlives the connection */
    struct loop *loop;
    service_fn fn;
    void *fn_ctx;
    void (*gone)(void *ctx, struct service_conn *conn); /* free it now */
    void *ctx;
};

/* fd and tls (NULL: cleartext) are taken over. */
struct service_conn *service_conn_new_take(int fd, struct tls *tls, const struct service_conn_owner *owner);
/* Sends our settings, which some clients wait for. May end in gone(). */
void service_conn_greet(struct service_conn *conn);
/* Since when it has had no call, on the loop's clock; -1: it has one. */
int64_t service_conn_idle_since_ms(const struct service_conn *conn);
void service_conn_free(struct service_conn *conn);
