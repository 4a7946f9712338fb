#include "frames.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define RAW 0x80u
#define PIECE_BYTES ((size_t)4096)
#define LAST_TURNS 4

void frames_add(struct str *out, unsigned type, unsigned flags, unsigned stream, struct slice payload)
{
    const unsigned char head[9] = {
        (unsigned char)(payload.len >> 16),
        (unsigned char)(payload.len >> 8),
        (unsigned char)payload.len,
        (unsigned char)type,
        (unsigned char)flags,
        0,
        0,
        0,
        (unsigned char)stream,
    };

    str_add(out, head, sizeof(head));
    str_add(out, payload.ptr, payload.len);
}

static unsigned take_byte(struct slice *input)
{
    unsigned byte = input->len ? (unsigned char)*input->ptr : 0;

    if (input->len) {
        input->ptr++;
        input->len--;
    }
    return byte;
}

static struct slice take_bytes(struct slice *input, size_t len)
{
    struct slice taken = {input->ptr, len < input->len ? len : input->len};

    input->ptr += taken.len;
    input->len -= taken.len;
    return taken;
}

void frames_build(struct slice input, struct str *out)
{
    while (input.len > 0) {
        unsigned type = take_byte(&input);

        if (type >= RAW) {
            struct slice raw = take_bytes(&input, take_byte(&input));
            str_add(out, raw.ptr, raw.len);
        } else {
            unsigned flags = take_byte(&input), stream = take_byte(&input), len = take_byte(&input);
            frames_add(out, type, flags, stream, take_bytes(&input, len));
        }
    }
}

void frames_connect(int fds[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
        abort();
}

/* False: the other side has closed the connection. */
static bool read_back(int peer)
{
    char bytes[PIECE_BYTES];
    ssize_t len;

    do
        len = recv(peer, bytes, sizeof(bytes), 0);
    while (len > 0);
    return len != 0;
}

void frames_push(struct loop *loop, int peer, struct slice bytes)
{
    int last = LAST_TURNS;
    bool open = true;

    while (open && last > 0) {
        struct slice piece = {bytes.ptr, bytes.len < PIECE_BYTES ? bytes.len : PIECE_BYTES};
        ssize_t sent = piece.len ? send(peer, piece.ptr, piece.len, MSG_NOSIGNAL) : 0;

        if (sent > 0)
            (void)take_bytes(&bytes, (size_t)sent);
        last -= bytes.len == 0;
        (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
        open = read_back(peer);
    }
    (void)close(peer);
    (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
}
