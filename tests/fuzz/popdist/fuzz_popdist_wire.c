/* A row of control messages, each with its length in front, into the table that matches them; every third
 * byte of the length says from whom. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "popdist/src/core/match.h"

#define INSTANCES 4

static void take(struct match *match, const uint8_t *bytes, size_t size, uint32_t instance)
{
    struct wire_message message;
    uint8_t again[WIRE_MAX];

    if (!wire_read(bytes, size, &message))
        return;
    /* What can be read is written in the same way, but for bytes that mean nothing. */
    wire_write(&message, again);
    if (!wire_read(again, wire_size(&message), &message))
        abort();
    (void)match_take(match, &message, instance, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct match *match;
    struct group *group;
    struct match_announcement *from[INSTANCES] = {NULL};
    struct match_op op = {.key = "all\0k", .key_size = 5, .from = from};

    if (match_new(&match, NULL) || group_new("all", NULL, INSTANCES, 0, &group, NULL))
        return 0;
    op.group = group;
    if (match_open(match, &op, NULL))
        abort();
    while (size >= 3) {
        size_t length = data[0] | (size_t)data[1] << 8, left = size - 3;

        if (length > left)
            length = left;
        take(match, data + 3, length, 1 + data[2] % (INSTANCES - 1));
        data += 3 + length;
        size -= 3 + length;
    }
    (void)match_close(&op, NULL);
    match_free(match);
    group_free(group);
    return 0;
}
