#include "operator/serve/live/websocket.h"

enum {
    FIN = 0x80,
    RESERVED = 0x70,
    OPCODE = 0x0f,
    MASKED = 0x80,
    LEN = 0x7f,
    LEN_16 = 126,
    LEN_64 = 127,
    MASK_LEN = 4
};

size_t websocket_head(enum websocket_opcode opcode, size_t payload_len, unsigned char ret[WEBSOCKET_HEAD_MAX])
{
    size_t len_bytes = payload_len < LEN_16 ? 0 : payload_len <= UINT16_MAX ? 2 : 8;

    ret[0] = (unsigned char)(FIN | opcode);
    ret[1] = (unsigned char)(len_bytes == 0 ? payload_len : len_bytes == 2 ? LEN_16 : LEN_64);
    for (size_t i = 0; i < len_bytes; i++)
        ret[2 + i] = (unsigned char)((uint64_t)payload_len >> (8 * (len_bytes - 1 - i)));
    return 2 + len_bytes;
}

/* A browser sends what the page has in one frame: parts of a message, and extensions that nobody agreed on,
 * are errors. */
static int check_head(unsigned char first, unsigned char second)
{
    unsigned opcode = first & OPCODE;
    bool is_control = opcode >= WEBSOCKET_CLOSE;

    if (first & RESERVED || !(second & MASKED) || opcode > WEBSOCKET_PONG ||
        (is_control && (!(first & FIN) || (second & LEN) >= LEN_16)))
        return -WEBSOCKET_PROTOCOL_ERROR;
    if (!(first & FIN) || (!is_control && opcode != WEBSOCKET_TEXT))
        return -WEBSOCKET_UNSUPPORTED;
    return (second & LEN) == LEN_64 ? -WEBSOCKET_TOO_BIG : 0;
}

int websocket_read(char *bytes, size_t len, struct websocket_frame *ret)
{
    unsigned char *at = (unsigned char *)bytes;
    size_t head = 2, payload;
    int bad;

    if (len < head)
        return 0;
    bad = check_head(at[0], at[1]);
    if (bad)
        return bad;
    payload = at[1] & LEN;
    if (payload == LEN_16) {
        head += 2;
        if (len < head)
            return 0;
        payload = (size_t)at[2] << 8 | at[3];
    }
    if (payload > WEBSOCKET_PAYLOAD_MAX)
        return -WEBSOCKET_TOO_BIG;
    head += MASK_LEN;
    if (len < head + payload)
        return 0;
    for (size_t i = 0; i < payload; i++)
        at[head + i] ^= at[head - MASK_LEN + i % MASK_LEN];
    *ret = (struct websocket_frame){at[0] & OPCODE, {bytes + head, payload}};
    return (int)(head + payload);
}
