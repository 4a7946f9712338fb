/* An nghttp2 session on a socket, in cleartext or over TLS: bytes that arrive are passed to the session, and
 * the session's output is sent. It knows neither requests nor which side it is; the owner creates the
 * session with its own callbacks.
 *
 * Bytes are taken from the session only when the handshake is done and they can go straight to the kernel,
 * except for the rest of one write that the kernel did not accept. If the owner said `gated` while it handed
 * bytes of that write over, may_resume is called before the rest is sent. The owner must not stop an h2 from
 * inside an nghttp2 callback; it may do so from `broken` and `turned`. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/wire/transport/sock.h"
#include "vipu/wire/transport/tls.h"

struct h2;

struct h2_owner {
    void (*broken)(struct h2 *h2, const struct err *err); /* closed, by either side; the last call */
    void (*turned)(struct h2 *h2);                        /* bytes that arrived have been processed */
    bool (*may_resume)(struct h2 *h2);                    /* may the rest of a gated write be sent */
};

struct h2 {
    struct sock sock;
    nghttp2_session *session;
    const struct h2_owner *owner;
    struct tls *tls;  /* NULL: cleartext */
    struct str plain; /* under TLS: taken from the session, encrypted into `out` before the turn is over */
    struct str out;   /* not yet accepted by the kernel */
    size_t out_sent;
    bool gated;   /* `out` contains bytes that may_resume decides about */
    bool heard;   /* bytes were passed to the session */
    bool reading; /* inside the session's callbacks: a flush waits until they are done */
};

/* Takes ownership of fd, tls and session. Nothing is sent before h2_flush. */
void h2_start_take(struct h2 *h2, struct loop *loop, int fd, struct tls *tls, nghttp2_session *session,
                   const struct h2_owner *owner);
void h2_stop(struct h2 *h2, bool reset); /* no call to the owner; accepts a stopped or zeroed one */

/* Sends the session's output. May end in `broken`: touch nothing of the owner after it returns false. */
bool h2_flush(struct h2 *h2);

nghttp2_nv h2_header(const char *name, const char *value); /* borrows both */
