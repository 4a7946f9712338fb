#include "vipu/wire/grpc/h2.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/mem.h"

#define READ_BYTES ((size_t)64 * 1024)
#define READS_PER_TURN 16
#define WRITE_BYTES ((size_t)64 * 1024)
#define PLAIN_BYTES ((size_t)16 * 1024) /* one record */
#define KEPT_BYTES ((size_t)16 * 1024)  /* of a buffer that is empty */
#define QUEUE_MAX 8192u                 /* frames: a peer that asks on and reads nothing */

nghttp2_nv h2_header(const char *name, const char *value)
{
    union {
        const char *from;
        uint8_t *to;
    } n = {.from = name}, v = {.from = value};

    return (nghttp2_nv){n.to, v.to, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static bool break_off(struct h2 *h2, const struct err *err)
{
    h2->owner->broken(h2, err);
    return false;
}

static bool break_errno(struct h2 *h2, int errnum)
{
    struct err err;

    err_errno(&err, errnum, "connection");
    err.kind = ERR_IO;
    return break_off(h2, &err);
}

static bool break_because(struct h2 *h2, const char *why)
{
    struct err err;

    err_set(&err, ERR_IO, "%s", why);
    return break_off(h2, &err);
}

/* Takes from the session as much as fits well into one write. */
static bool gather(struct h2 *h2, struct str *into)
{
    while (into->len < WRITE_BYTES) {
        const uint8_t *bytes;
        ssize_t len = nghttp2_session_mem_send(h2->session, &bytes);

        if (len < 0)
            return break_because(h2, nghttp2_strerror((int)len));
        if (len == 0)
            break;
        str_add(into, bytes, (size_t)len);
    }
    return true;
}

static bool seal(struct h2 *h2)
{
    struct err err;

    if (!tls_shake(h2->tls, &err) || !tls_drain(h2->tls, &h2->out, &err))
        return break_off(h2, &err);
    if (!tls_is_open(h2->tls))
        return true;
    str_clear(&h2->plain);
    if (!gather(h2, &h2->plain))
        return false;
    return tls_seal(h2->tls, str_slice(&h2->plain), &h2->out, &err) || break_off(h2, &err);
}

static bool refill(struct h2 *h2)
{
    str_clear(&h2->out);
    h2->out_sent = 0;
    h2->gated = false;
    return h2->tls ? seal(h2) : gather(h2, &h2->out);
}

/* Like write, but 0 if the kernel accepts nothing now and -1 for a failure. */
static ssize_t send_some(struct h2 *h2)
{
    ssize_t sent;

    do
        sent = send(h2->sock.fd, h2->out.ptr + h2->out_sent, h2->out.len - h2->out_sent, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 && errno == EAGAIN ? 0 : sent;
}

/* Many connections that once had much to send must not keep that much. */
static void shrink(struct h2 *h2)
{
    if (h2->out.cap > KEPT_BYTES)
        str_release(&h2->out);
    if (h2->plain.cap > KEPT_BYTES)
        str_release(&h2->plain);
}

bool h2_flush(struct h2 *h2)
{
    if (h2->reading)
        return true;
    if (h2->out_sent < h2->out.len && h2->gated && !h2->owner->may_resume(h2))
        return break_because(h2, "cannot send the rest of a request: sending is no longer allowed");
    for (;;) {
        ssize_t sent;

        if (h2->out_sent == h2->out.len && !refill(h2))
            return false;
        if (h2->out.len == 0)
            break;
        sent = send_some(h2);
        if (sent < 0)
            return break_errno(h2, errno);
        if (sent == 0)
            break;
        h2->out_sent += (size_t)sent;
    }
    sock_want(&h2->sock, true, h2->out_sent < h2->out.len);
    if (h2->out.len == 0)
        shrink(h2);
    if (h2->out.len == 0 && !nghttp2_session_want_read(h2->session) &&
        !nghttp2_session_want_write(h2->session))
        return break_because(h2, "the HTTP/2 session has ended");
    return true;
}

static bool take_in(struct h2 *h2, const uint8_t *bytes, size_t len)
{
    ssize_t used;

    h2->heard = true;
    h2->reading = true;
    used = nghttp2_session_mem_recv(h2->session, bytes, len);
    h2->reading = false;
    if (used < 0)
        return break_because(h2, used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? "the peer does not speak HTTP/2"
                                                                      : nghttp2_strerror((int)used));
    if (nghttp2_session_get_outbound_queue_size(h2->session) > QUEUE_MAX)
        return break_because(h2, "the peer does not read its responses");
    return true;
}

/* Sends the peer the reason (GOAWAY), as far as one write takes it: it cannot contain any part of a request.
 */
static void send_goaway(struct h2 *h2)
{
    struct err ignored;

    if (h2->out_sent < h2->out.len)
        return;
    str_clear(&h2->out);
    h2->out_sent = 0;
    if (tls_drain(h2->tls, &h2->out, &ignored))
        (void)send_some(h2);
}

static bool take_in_sealed(struct h2 *h2, const uint8_t *bytes, size_t len)
{
    uint8_t plain[PLAIN_BYTES];
    size_t plain_len;
    struct err err;

    tls_feed(h2->tls, bytes, len);
    do {
        if (!tls_read(h2->tls, plain, sizeof(plain), &plain_len, &err)) {
            send_goaway(h2);
            return break_off(h2, &err);
        }
        if (plain_len && !take_in(h2, plain, plain_len))
            return false;
    } while (plain_len);
    return true;
}

static bool end_of_input(struct h2 *h2)
{
    if (h2->heard)
        return break_because(h2, "the peer closed the connection");
    if (h2->tls)
        return break_because(h2, tls_is_open(h2->tls)
                                     ? "the peer closed the connection after the TLS handshake"
                                     : "the peer closed the connection during the TLS handshake: does it "
                                       "speak TLS?");
    return break_because(
        h2, "the peer closed the connection before sending any data: does it require TLS (--api-tls)?");
}

/* False if broken; *more says whether another read may return something. */
static bool read_once(struct h2 *h2, bool *more)
{
    uint8_t bytes[READ_BYTES];
    ssize_t len = recv(h2->sock.fd, bytes, sizeof(bytes), 0);

    *more = len == (ssize_t)sizeof(bytes);
    if (len == 0 || (len < 0 && errno == ECONNRESET && !h2->heard))
        return end_of_input(h2);
    if (len < 0)
        return errno == EAGAIN || errno == EINTR ? true : break_errno(h2, errno);
    return h2->tls ? take_in_sealed(h2, bytes, (size_t)len) : take_in(h2, bytes, (size_t)len);
}

static void on_ready(struct sock *sock, bool readable, bool writable)
{
    struct h2 *h2 = CONTAINER_OF(sock, struct h2, sock);
    bool more = readable;

    (void)writable; /* the flush reports it */
    for (int reads = 0; more && reads < READS_PER_TURN; reads++)
        if (!read_once(h2, &more))
            return;
    if (h2_flush(h2))
        h2->owner->turned(h2);
}

void h2_start_take(struct h2 *h2, struct loop *loop, int fd, struct tls *tls, nghttp2_session *session,
                   const struct h2_owner *owner)
{
    *h2 = (struct h2){.session = session, .owner = owner, .tls = tls};
    sock_open_take(&h2->sock, loop, fd, on_ready);
    sock_want(&h2->sock, true, false);
}

void h2_stop(struct h2 *h2, bool reset)
{
    if (h2->tls && !reset) {
        tls_end(h2->tls);
        send_goaway(h2);
    }
    tls_free(TAKE(h2->tls));
    sock_close(&h2->sock, reset);
    if (h2->session)
        nghttp2_session_del(h2->session);
    h2->session = NULL;
    str_release(&h2->plain);
    str_release(&h2->out);
}
