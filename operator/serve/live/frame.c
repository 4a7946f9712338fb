#include "operator/serve/live/frame.h"

#include <string.h>

#include "base/core/mem.h"

static struct frame *joined(struct slice head, struct slice rest)
{
    struct frame *frame = mem_alloc(sizeof(*frame) + head.len + rest.len);

    frame->owners = 1;
    frame->len = head.len + rest.len;
    if (head.len > 0)
        memcpy(frame->bytes, head.ptr, head.len);
    if (rest.len > 0)
        memcpy(frame->bytes + head.len, rest.ptr, rest.len);
    return frame;
}

struct frame *frame_of_bytes(struct slice bytes)
{
    return joined((struct slice){0}, bytes);
}

struct frame *frame_new(enum websocket_opcode opcode, struct slice payload)
{
    unsigned char head[WEBSOCKET_HEAD_MAX];
    size_t len = websocket_head(opcode, payload.len, head);

    return joined((struct slice){(const char *)head, len}, payload);
}

struct frame *frame_of_text(char *text)
{
    struct frame *frame = frame_new(WEBSOCKET_TEXT, slice_of(text));

    mem_free(text);
    return frame;
}

struct frame *frame_keep(struct frame *frame)
{
    frame->owners++;
    return frame;
}

void frame_drop(struct frame *frame)
{
    if (frame && --frame->owners == 0)
        mem_free(frame);
}
