/* The protocol between an agent and the client that runs a command through it, inside TLS. A frame is one
 * byte of type, two bytes of length (big-endian), and the payload. Three channels carry the command's
 * standard streams, each in one direction: 0 from the client, 1 and 2 to it. Pure.
 *
 * Client: COMMAND (once or more, pieces of one shell line), START, then DATA and END on channel 0, CREDIT
 * and STOP for 1 and 2, SIGNAL, and BYE when it has the exit status. Or PROBE alone. Agent: DATA, END,
 * CREDIT and STOP the other way round, FAILED with a sentence if the command cannot run, OOM_KILLED if memory
 * ran out meanwhile, EXIT last; ALIVE responds to PROBE. Both: BEAT. Reading is strict: a frame that is too
 * long, of an unknown type or malformed ends the connection. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define FRAME_COMMAND_LINE_MAX_BYTES (128u * 1024u - 1u) /* longest argument the kernel accepts */
#define FRAME_BYTES_MAX 16000u /* of a piece of data; with all headers it fits one TLS record */
#define FRAME_HEAD_BYTES 3u

enum frame_type {
    FRAME_COMMAND = 1,
    FRAME_START,
    FRAME_PROBE,
    FRAME_ALIVE,
    FRAME_DATA,
    FRAME_END,    /* end of data on this channel */
    FRAME_STOP,   /* data on this channel is not wanted any more */
    FRAME_CREDIT, /* number: this many more bytes may be sent on this channel */
    FRAME_SIGNAL, /* number: of the signal, for the command's process group */
    FRAME_FAILED,
    FRAME_EXIT, /* number: exit status, 128 + n after signal n */
    FRAME_BYE,
    FRAME_HEARTBEAT,
    FRAME_OOM_KILLED, /* number: processes of the worker that the kernel killed while the command ran */
};

enum { CHANNEL_IN, CHANNEL_OUT, CHANNEL_ERR, CHANNEL_COUNT };

struct frame {
    enum frame_type type;
    uint8_t channel;    /* DATA, END, STOP, CREDIT */
    uint32_t number;    /* CREDIT, SIGNAL, OOM_KILLED, EXIT */
    struct slice bytes; /* COMMAND, DATA, FAILED; borrowed */
};

void frame_write(const struct frame *frame, struct str *out);
/* The first frame of `bytes`. *ret_used is 0 when it is not complete yet, and *ret untouched. */
MUST_USE bool frame_read(struct slice bytes, struct frame *ret, size_t *ret_used, struct err *err);
