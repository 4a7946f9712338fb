#include "launcher/remote/protocol/frame.h"

#include <assert.h>

/* The payload of a type: a channel, a number of so many bytes, and free bytes, in this order. */
struct shape_of {
    bool is_known, has_channel, has_bytes;
    uint8_t number_bytes;
};

static const struct shape_of shapes[] = {
    [FRAME_COMMAND] = {.is_known = true, .has_bytes = true},
    [FRAME_START] = {.is_known = true},
    [FRAME_PROBE] = {.is_known = true},
    [FRAME_ALIVE] = {.is_known = true},
    [FRAME_DATA] = {.is_known = true, .has_channel = true, .has_bytes = true},
    [FRAME_END] = {.is_known = true, .has_channel = true},
    [FRAME_STOP] = {.is_known = true, .has_channel = true},
    [FRAME_CREDIT] = {.is_known = true, .has_channel = true, .number_bytes = 4},
    [FRAME_SIGNAL] = {.is_known = true, .number_bytes = 1},
    [FRAME_FAILED] = {.is_known = true, .has_bytes = true},
    [FRAME_EXIT] = {.is_known = true, .number_bytes = 1},
    [FRAME_BYE] = {.is_known = true},
    [FRAME_HEARTBEAT] = {.is_known = true},
    [FRAME_OOM_KILLED] = {.is_known = true, .number_bytes = 4},
};

enum { TYPE_COUNT = sizeof(shapes) / sizeof(shapes[0]) };

static size_t fixed_bytes(const struct shape_of *shape)
{
    return (shape->has_channel ? 1u : 0u) + shape->number_bytes;
}

void frame_write(const struct frame *frame, struct str *out)
{
    const struct shape_of *shape = &shapes[frame->type];
    size_t len = fixed_bytes(shape) + (shape->has_bytes ? frame->bytes.len : 0);

    assert(shape->is_known && len <= FRAME_BYTES_MAX + fixed_bytes(shape));
    (void)str_addc(out, (char)frame->type);
    (void)str_addc(out, (char)(len >> 8));
    (void)str_addc(out, (char)(len & 0xff));
    if (shape->has_channel)
        (void)str_addc(out, (char)frame->channel);
    for (unsigned i = shape->number_bytes; i-- > 0;)
        (void)str_addc(out, (char)(frame->number >> (8 * i) & 0xff));
    if (shape->has_bytes)
        (void)str_add(out, frame->bytes.ptr, frame->bytes.len);
}

static bool is_shaped(const struct shape_of *shape, size_t len)
{
    size_t fixed = fixed_bytes(shape);

    return shape->has_bytes ? len >= fixed && len <= fixed + FRAME_BYTES_MAX : len == fixed;
}

static void read_fields(const struct shape_of *shape, const uint8_t *at, size_t len, struct frame *ret)
{
    const uint8_t *end = at + len;

    if (shape->has_channel)
        ret->channel = *at++;
    for (unsigned i = 0; i < shape->number_bytes; i++)
        ret->number = ret->number << 8 | *at++;
    if (shape->has_bytes)
        ret->bytes = (struct slice){(const char *)at, (size_t)(end - at)};
}

bool frame_read(struct slice bytes, struct frame *ret, size_t *ret_used, struct err *err)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    struct frame frame = {0};
    size_t len;

    *ret_used = 0;
    if (bytes.len < FRAME_HEAD_BYTES)
        return true;
    len = (size_t)at[1] << 8 | at[2];
    if (at[0] >= TYPE_COUNT || !shapes[at[0]].is_known || !is_shaped(&shapes[at[0]], len))
        return err_set(err, ERR_INVALID, "protocol error: invalid frame (type %u, %zu bytes)", at[0], len);
    if (bytes.len < FRAME_HEAD_BYTES + len)
        return true;
    frame.type = (enum frame_type)at[0];
    read_fields(&shapes[at[0]], at + FRAME_HEAD_BYTES, len, &frame);
    if (frame.channel >= CHANNEL_COUNT)
        return err_set(err, ERR_INVALID, "protocol error: unknown channel %u", frame.channel);
    *ret = frame;
    *ret_used = FRAME_HEAD_BYTES + len;
    return true;
}
