#include "popdist/src/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "popdist/src/types.h"

/* Where the fields stand. */
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
#define MAGIC 0x01706f70U

static void put(uint8_t *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get(const uint8_t *at, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

size_t wire_size(const struct wire_message *message)
{
    return HEADER + message->key_size + message->payload_size;
}

void wire_write(const struct wire_message *message, void *bytes)
{
    uint8_t *at = bytes;

    memset(at, 0, HEADER);
    put(at + AT_MAGIC, MAGIC, 4);
    put(at + AT_KIND, message->kind, 1);
    put(at + AT_OPERATION, message->layout.operation, 1);
    put(at + AT_TYPE, message->layout.type, 1);
    put(at + AT_ROOT, message->layout.root, 4);
    put(at + AT_TAG, message->tag, 4);
    put(at + AT_COUNT, message->layout.count, 8);
    put(at + AT_KEY_SIZE, message->key_size, 4);
    put(at + AT_PAYLOAD_SIZE, message->payload_size, 4);
    memcpy(at + HEADER, message->key, message->key_size);
    if (message->payload_size)
        memcpy(at + HEADER + message->key_size, message->payload, message->payload_size);
}

static bool is_sound(const struct wire_message *message, size_t size)
{
    return (message->kind == WIRE_CALL || message->kind == WIRE_WITHDRAWAL) &&
           message->layout.operation < OPERATION_COUNT && type_is_valid(message->layout.type) &&
           message->key_size <= WIRE_KEY_MAX && message->payload_size <= WIRE_PAYLOAD_MAX &&
           size == wire_size(message);
}

bool wire_read(const void *bytes, size_t size, struct wire_message *ret)
{
    const uint8_t *at = bytes;
    struct wire_message message;

    if (size < HEADER || get(at + AT_MAGIC, 4) != MAGIC)
        return false;
    message = (struct wire_message){
        .kind = (enum wire_kind)get(at + AT_KIND, 1),
        .layout = {.operation = (enum operation)get(at + AT_OPERATION, 1),
                   .type = (enum popdist_type)get(at + AT_TYPE, 1),
                   .root = (uint32_t)get(at + AT_ROOT, 4),
                   .count = get(at + AT_COUNT, 8)},
        .tag = (uint32_t)get(at + AT_TAG, 4),
        .key_size = get(at + AT_KEY_SIZE, 4),
        .payload_size = get(at + AT_PAYLOAD_SIZE, 4),
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
