/* The fields of one encoded protobuf message, one after the other, without a tree of it: for a message that
 * is little more than a long list of others. Pure; knows no message type, and does not look into fields.
 *
 * It refuses what no encoder writes: field number 0, groups, a varint of more than ten bytes, a length beyond
 * the message's end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

enum field_type {
    FIELD_VARINT = 0,
    FIELD_FIXED64 = 1,
    FIELD_BYTES = 2, /* a text, bytes or a message */
    FIELD_FIXED32 = 5,
};

struct field {
    uint32_t number;
    enum field_type type;
    struct slice bytes; /* of the value, without its length; borrowed */
};

/* Takes the next field from the front of rest. False at the end, then rest is empty, and for bytes that are
 * no field, then rest is not. */
bool field_next(struct slice *rest, struct field *ret);
/* The next field of this number that is bytes; fields of other numbers and types are left out. */
bool field_next_of(struct slice *rest, uint32_t number, struct slice *ret);
/* How many of them there are; false when the message is none. */
bool field_count_of(struct slice message, uint32_t number, size_t *ret);
