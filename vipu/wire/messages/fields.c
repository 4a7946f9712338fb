#include "vipu/wire/messages/fields.h"

#define VARINT_MAX 10u
#define NUMBER_MAX 536870911u /* 2^29 - 1 */

static struct slice take(struct slice *rest, size_t len)
{
    struct slice taken = {rest->ptr, len};

    rest->ptr += len;
    rest->len -= len;
    return taken;
}

/* Its length in bytes; 0: invalid. */
static size_t varint(struct slice bytes, uint64_t *ret)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes.len && i < VARINT_MAX; i++) {
        unsigned char byte = (unsigned char)bytes.ptr[i];

        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *ret = value;
            return i + 1;
        }
    }
    return 0;
}

/* How many bytes the value has, after its length if it has one; false: more than there are. */
static bool measure(enum field_type type, struct slice *rest, size_t *ret)
{
    uint64_t len = 0;
    size_t prefix;

    switch (type) {
    case FIELD_VARINT:
        *ret = varint(*rest, &len);
        return *ret > 0;
    case FIELD_FIXED64:
        len = 8;
        break;
    case FIELD_FIXED32:
        len = 4;
        break;
    case FIELD_BYTES:
        prefix = varint(*rest, &len);
        if (prefix == 0)
            return false;
        (void)take(rest, prefix);
        break;
    }
    *ret = (size_t)len;
    return len <= rest->len;
}

static bool is_known(unsigned type)
{
    return type == FIELD_VARINT || type == FIELD_FIXED64 || type == FIELD_BYTES || type == FIELD_FIXED32;
}

bool field_next(struct slice *rest, struct field *ret)
{
    struct slice at = *rest;
    uint64_t key;
    size_t len = varint(at, &key);

    if (len == 0 || key >> 3 == 0 || key >> 3 > NUMBER_MAX || !is_known(key & 7))
        return false;
    (void)take(&at, len);
    *ret = (struct field){.number = (uint32_t)(key >> 3), .type = (enum field_type)(key & 7)};
    if (!measure(ret->type, &at, &len))
        return false;
    ret->bytes = take(&at, len);
    *rest = at;
    return true;
}

bool field_next_of(struct slice *rest, uint32_t number, struct slice *ret)
{
    struct field field;

    while (field_next(rest, &field)) {
        if (field.number == number && field.type == FIELD_BYTES) {
            *ret = field.bytes;
            return true;
        }
    }
    return false;
}

bool field_count_of(struct slice message, uint32_t number, size_t *ret)
{
    struct slice bytes;

    for (*ret = 0; field_next_of(&message, number, &bytes); ++*ret) {
    }
    return message.len == 0;
}
