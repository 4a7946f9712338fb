#include "vipu/wire/h2.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/core/mem.h"

#define READ_BYTES ((size_t)64 * 1024)
#define READS_PER_TURN 16
#define WRITE_BYTES ((size_t)64 * 1024)

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

/* Takes from the session as much as one write carries well. */
static bool refill(struct h2 *h2)
{
    str_clear(&h2->out);
    h2->out_sent = 0;
    while (h2->out.len < WRITE_BYTES) {
        const uint8_t *bytes;
        ssize_t len = nghttp2_session_mem_send(h2->session, &bytes);

        if (len < 0)
            return break_because(h2, nghttp2_strerror((int)len));
        if (len == 0)
            break;
        str_add(&h2->out, bytes, (size_t)len);
    }
    return true;
}

/* Like write, but 0 when the kernel takes nothing now and -1 for a failure. */
static ssize_t send_some(struct h2 *h2)
{
    ssize_t sent;

    do
        sent = send(h2->sock.fd, h2->out.ptr + h2->out_sent, h2->out.len - h2->out_sent, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 && errno == EAGAIN ? 0 : sent;
}

bool h2_flush(struct h2 *h2)
{
    if (h2->reading)
        return true;
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
    if (h2->out.len == 0 && !nghttp2_session_want_read(h2->session) &&
        !nghttp2_session_want_write(h2->session))
        return break_because(h2, "the HTTP/2 session is over");
    return true;
}

/* False when broken; *more says whether another read may find something. */
static bool read_once(struct h2 *h2, bool *more)
{
    uint8_t bytes[READ_BYTES];
    ssize_t len = recv(h2->sock.fd, bytes, sizeof(bytes), 0), used;

    *more = len == (ssize_t)sizeof(bytes);
    if (len == 0)
        return break_because(h2, "the peer closed the connection");
    if (len < 0)
        return errno == EAGAIN || errno == EINTR ? true : break_errno(h2, errno);
    h2->reading = true;
    used = nghttp2_session_mem_recv(h2->session, bytes, (size_t)len);
    h2->reading = false;
    if (used < 0)
        return break_because(h2, used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? "the peer does not speak HTTP/2"
                                                                      : nghttp2_strerror((int)used));
    return true;
}

static void on_ready(struct sock *sock, bool readable, bool writable)
{
    struct h2 *h2 = CONTAINER_OF(sock, struct h2, sock);
    bool more = readable;

    if (writable && h2->out_sent < h2->out.len && h2->owner->may_resume && !h2->owner->may_resume(h2)) {
        break_because(h2, "the rest of a request may no longer be sent");
        return;
    }
    for (int reads = 0; more && reads < READS_PER_TURN; reads++)
        if (!read_once(h2, &more))
            return;
    if (h2_flush(h2))
        h2->owner->turned(h2);
}

void h2_start_take(struct h2 *h2, struct loop *loop, int fd, nghttp2_session *session,
                   const struct h2_owner *owner)
{
    *h2 = (struct h2){.session = session, .owner = owner};
    sock_open_take(&h2->sock, loop, fd, on_ready);
    sock_want(&h2->sock, true, false);
}

void h2_stop(struct h2 *h2, bool reset)
{
    sock_close(&h2->sock, reset);
    if (h2->session)
        nghttp2_session_del(h2->session);
    h2->session = NULL;
    str_release(&h2->out);
}
