/* The fields of one encoded protobuf message, one after the other, without building a tree: for a message
 * that is mostly a long list of others. Pure; knows no message type, and does not look into fields.
 *
 * It rejects what no encoder writes: field number 0, groups, a varint of more than ten bytes, a length
 * beyond the message's end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

enum field_type {
    FIELD_VARINT = 0,
    FIELD_FIXED64 = 1,
    FIELD_BYTES = 2, /* a string, bytes or a message */
    FIELD_FIXED32 = 5,
};

struct field {
    uint32_t number;
    enum field_type type;
    struct slice bytes; /* of the value, without its length; borrowed */
};

/* Takes the next field from the front of rest. False at the end, where rest is empty, and for invalid bytes,
 * where it is not. */
bool field_next(struct slice *rest, struct field *ret);
/* The next field of this number that has bytes; fields of other numbers and types are skipped. */
bool field_next_of(struct slice *rest, uint32_t number, struct slice *ret);
/* How many of them there are; false if the message is invalid. */
bool field_count_of(struct slice message, uint32_t number, size_t *ret);
