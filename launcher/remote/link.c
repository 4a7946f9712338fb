#include "launcher/remote/link.h"

#include <poll.h>

#define READ_BYTES 16384u
#define READS_A_TURN 16u
#define IN_MAX_BYTES ((size_t)READ_BYTES * (READS_A_TURN + 2))
#define HARD_OUT_MAX_BYTES ((size_t)LINK_OUT_MAX_BYTES * 8)

void link_init(struct link *link, struct psk *tls, int64_t now_ms)
{
    *link = (struct link){.tls = tls,
                          .in = {.max = IN_MAX_BYTES},
                          .out = {.max = HARD_OUT_MAX_BYTES},
                          .heard_ms = now_ms,
                          .told_ms = now_ms};
}

static void release(struct link *link)
{
    str_release(&link->in);
    str_release(&link->out);
    *link = (struct link){0};
}

void link_close(struct link *link)
{
    psk_close(link->tls);
    release(link);
}

void link_forget(struct link *link)
{
    psk_forget(link->tls);
    release(link);
}

int link_fd(const struct link *link)
{
    return psk_fd(link->tls);
}

short link_events(const struct link *link)
{
    return (short)(POLLIN | (link->out.len ? POLLOUT : 0));
}

bool link_is_full(const struct link *link)
{
    return link->out.len >= LINK_OUT_MAX_BYTES;
}

bool link_has_more(const struct link *link)
{
    return psk_has_more(link->tls);
}

void link_put(struct link *link, const struct frame *frame)
{
    frame_write(frame, &link->out);
}

void link_put_number(struct link *link, enum frame_type type, uint8_t channel, uint32_t number)
{
    link_put(link, &(struct frame){.type = type, .channel = channel, .number = number});
}

void link_put_bytes(struct link *link, enum frame_type type, uint8_t channel, struct slice bytes)
{
    while (bytes.len > 0) {
        size_t len = bytes.len < FRAME_BYTES_MAX ? bytes.len : FRAME_BYTES_MAX;

        link_put(link, &(struct frame){.type = type, .channel = channel, .bytes = {bytes.ptr, len}});
        bytes.ptr += len;
        bytes.len -= len;
    }
}

/* A peer that never stops must not keep us from our other work: so many reads, then a turn of poll. */
static bool read_some(struct link *link, int64_t now_ms, struct err *err)
{
    char bytes[READ_BYTES];

    for (unsigned i = 0; i < READS_A_TURN; i++) {
        size_t len;
        enum psk_outcome outcome = psk_read(link->tls, bytes, sizeof(bytes), &len);

        if (outcome == PSK_AGAIN)
            return true;
        if (outcome == PSK_CLOSED) {
            link->is_closed = true;
            return true;
        }
        if (outcome == PSK_FAILED)
            return err_set(err, ERR_IO, "the connection broke");
        (void)str_add(&link->in, bytes, len);
        link->heard_ms = now_ms;
    }
    return true;
}

static bool send_some(struct link *link, int64_t now_ms, struct err *err)
{
    while (link->out.len > 0) {
        size_t len;
        enum psk_outcome outcome = psk_write(link->tls, link->out.ptr, link->out.len, &len);

        if (outcome == PSK_AGAIN)
            return true;
        if (outcome != PSK_DONE)
            return err_set(err, ERR_IO, "the connection broke");
        str_drop(&link->out, len);
        link->told_ms = now_ms;
    }
    return true;
}

bool link_turn(struct link *link, int64_t now_ms, struct err *err)
{
    str_drop(&link->in, link->taken);
    link->taken = 0;
    if (!link->is_closed && !read_some(link, now_ms, err))
        return false;
    if (now_ms - link->heard_ms >= LINK_SILENCE_MS)
        return err_set(err, ERR_TIMEOUT, "nothing was heard for %d s", LINK_SILENCE_MS / 1000);
    if (link->out.full)
        return err_set(err, ERR_BUSY, "the other side takes nothing");
    if (now_ms - link->told_ms >= LINK_BEAT_MS && link->out.len == 0)
        link_put_number(link, FRAME_BEAT, 0, 0);
    return send_some(link, now_ms, err);
}

bool link_next(struct link *link, struct frame *ret, bool *ret_got, struct err *err)
{
    struct slice rest = {str_text(&link->in) + link->taken, link->in.len - link->taken};
    size_t used;

    if (!frame_read(rest, ret, &used, err))
        return false;
    link->taken += used;
    *ret_got = used > 0;
    return true;
}

int64_t link_deadline_ms(const struct link *link)
{
    int64_t beat = link->told_ms + LINK_BEAT_MS, silence = link->heard_ms + LINK_SILENCE_MS;

    return link->out.len > 0 || silence < beat ? silence : beat;
}
