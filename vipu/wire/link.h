/* One HTTP/2 connection of a channel with the calls on it. It tells its owner when a call is over, when the
 * peer wants no more of them, and when the connection is gone; the owner frees it. Used by channel.c only. */
#pragma once

#include <stdbool.h>

#include "base/io/loop.h"
#include "vipu/wire/call.h"
#include "vipu/wire/credentials.h"
#include "vipu/wire/tls_context.h"

struct link;

struct link_owner {
    void (*call_over)(void *ctx,
                      struct channel_call *call);   /* taken off the link; its err and sent are set */
    void (*retiring)(void *ctx, struct link *link); /* GOAWAY: give it no further call */
    void (*broken)(void *ctx, struct link *link, const struct err *err); /* free it now */
};

struct link_options {
    const char *authority; /* these four outlive the link */
    const char *user_agent;
    const struct credentials *credentials;
    const struct link_owner *owner;
    const struct tls_context *tls; /* NULL: cleartext */
    const char *host;              /* that the peer's certificate has to name */
    void *ctx;
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
};

struct link *link_new_take(struct loop *loop, int fd, const struct link_options *options);
/* The calls still on it are moved to `orphans`. */
void link_free(struct link *link, bool reset, struct call_list *orphans);
bool link_has_heard(const struct link *link); /* the peer has said something sensible */
bool link_is_silent(const struct link *link, const struct channel_call *call); /* since it was submitted */
bool link_is_alone(const struct link *link, const struct channel_call *call);  /* no other call is on it */

/* May end in broken() before it returns; the call is then with the channel again. */
void link_submit(struct link *link, struct channel_call *call);
/* No further call: it ends in broken(), later, when those on it are over. */
void link_retire(struct link *link);
/* Resets the call's stream and takes the call off the link, into no list. May end in broken(). */
void link_withdraw(struct link *link, struct channel_call *call);
