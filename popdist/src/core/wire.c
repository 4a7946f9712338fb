#include "popdist/src/core/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "popdist/src/core/types.h"

/* Offsets of the fields. */
enum {
    AT_MAGIC = 0,
    AT_KIND = 4,
    AT_OPERATION = 5,
    AT_TYPE = 6,
    AT_ROOT = 8,
    AT_TAG = 12,
    AT_COUNT = 16,
    AT_KEY_SIZE = 24,
    AT_PAYLOAD_SIZE = 28,
    HEADER = 32
};

/* "pop" and the version of this format. */
#define MAGIC 0x02706f70U

/* Compilers make one instruction of each. */
static void put_32(uint8_t *at, uint32_t number)
{
    at[0] = (uint8_t)number;
    at[1] = (uint8_t)(number >> 8);
    at[2] = (uint8_t)(number >> 16);
    at[3] = (uint8_t)(number >> 24);
}

static uint32_t get_32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t wire_size(const struct wire_message *message)
{
    return HEADER + message->key_size + message->payload_size;
}

void wire_write(const struct wire_message *message, void *bytes)
{
    uint8_t *at = bytes;

    memset(at, 0, HEADER);
    put_32(at + AT_MAGIC, MAGIC);
    at[AT_KIND] = (uint8_t)message->kind;
    at[AT_OPERATION] = (uint8_t)message->layout.operation;
    at[AT_TYPE] = (uint8_t)message->layout.type;
    put_32(at + AT_ROOT, message->layout.root);
    put_32(at + AT_TAG, message->tag);
    put_32(at + AT_COUNT, (uint32_t)message->layout.count);
    put_32(at + AT_COUNT + 4, (uint32_t)(message->layout.count >> 32));
    put_32(at + AT_KEY_SIZE, (uint32_t)message->key_size);
    put_32(at + AT_PAYLOAD_SIZE, (uint32_t)message->payload_size);
    memcpy(at + HEADER, message->key, message->key_size);
    if (message->payload_size)
        memcpy(at + HEADER + message->key_size, message->payload, message->payload_size);
}

static bool is_sound(const struct wire_message *message, size_t size)
{
    return message->kind >= WIRE_CALL && message->kind < WIRE_KIND_END &&
           message->layout.operation < OPERATION_COUNT && type_is_valid(message->layout.type) &&
           message->key_size <= WIRE_KEY_MAX && message->payload_size <= WIRE_PAYLOAD_MAX &&
           size == wire_size(message);
}

bool wire_read(const void *bytes, size_t size, struct wire_message *ret)
{
    const uint8_t *at = bytes;
    struct wire_message message;

    if (size < HEADER || get_32(at + AT_MAGIC) != MAGIC)
        return false;
    message = (struct wire_message){
        .kind = (enum wire_kind)at[AT_KIND],
        .layout = {.operation = (enum operation)at[AT_OPERATION],
                   .type = (enum popdist_type)at[AT_TYPE],
                   .root = get_32(at + AT_ROOT),
                   .count = get_32(at + AT_COUNT) | (uint64_t)get_32(at + AT_COUNT + 4) << 32},
        .tag = get_32(at + AT_TAG),
        .key_size = get_32(at + AT_KEY_SIZE),
        .payload_size = get_32(at + AT_PAYLOAD_SIZE),
    };
    if (!is_sound(&message, size))
        return false;
    message.key = (const char *)at + HEADER;
    message.payload = at + HEADER + message.key_size;
    *ret = message;
    return true;
}

bool layout_equals(const struct layout *one, const struct layout *other)
{
    return one->operation == other->operation && one->type == other->type && one->root == other->root &&
           one->count == other->count;
}

const char *operation_name(enum operation operation)
{
    static const char *const names[OPERATION_COUNT] = {
        [OPERATION_BARRIER] = "barrier",       [OPERATION_BROADCAST] = "broadcast",
        [OPERATION_ALL_REDUCE] = "all-reduce", [OPERATION_ALL_GATHER] = "all-gather",
        [OPERATION_REGISTER] = "communicator",
    };

    return names[operation];
}

void layout_print(const struct layout *layout, char *text, size_t size)
{
    const char *name = operation_name(layout->operation), *type = popdist_type_name(layout->type);

    if (layout->operation == OPERATION_BARRIER)
        (void)snprintf(text, size, "%s", name);
    else if (layout->operation == OPERATION_REGISTER)
        (void)snprintf(text, size, "%s with participants #%" PRIx64, name, layout->count);
    else if (layout->operation == OPERATION_BROADCAST)
        (void)snprintf(text, size, "%s of %s[%" PRIu64 "] from %" PRIu32, name, type, layout->count,
                       layout->root);
    else
        (void)snprintf(text, size, "%s of %s[%" PRIu64 "]", name, type, layout->count);
}
