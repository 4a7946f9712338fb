/* Frames of WebSocket (RFC 6455), of a server that takes short text messages only. Pure. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"

#define WEBSOCKET_HEAD_MAX 10      /* of a frame from the server */
#define WEBSOCKET_PAYLOAD_MAX 4096 /* of a message from the browser */
#define WEBSOCKET_FRAME_MAX (WEBSOCKET_PAYLOAD_MAX + 8)

enum websocket_opcode {
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

/* Why a connection is closed, as the browser gets it. */
enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_UNSUPPORTED = 1003,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
};

/* What is hashed after the key of the browser for the answer to its request. */
#define WEBSOCKET_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

/* The head of a whole message; returns its length. */
size_t websocket_head(enum websocket_opcode opcode, size_t payload_len,
                      unsigned char ret[WEBSOCKET_HEAD_MAX]);

struct websocket_frame {
    enum websocket_opcode opcode;
    struct slice payload; /* unmasked in place */
};

/* One frame of the browser at the beginning of the bytes. Returns its length; 0: it has not arrived as a
 * whole; negative: the enum websocket_code to close with. */
int websocket_read(char *bytes, size_t len, struct websocket_frame *ret);
