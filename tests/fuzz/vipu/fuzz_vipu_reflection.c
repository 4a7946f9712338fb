/* A request to the reflection service: what decodes gets one response, about files that the build made. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/fields.h"
#include "vipu/wire/messages/reflection.h"

enum { ORIGINAL_REQUEST = 2, FIRST_RESPONSE = 4, LAST_RESPONSE = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(arena) struct arena arena = {.budget = (size_t)4 << 20};
    AUTO(str) struct str out = {0};
    struct slice rest, original;
    struct field field;
    size_t responses = 0;
    struct err err;

    if (!wire_answer_reflection((struct slice){(const char *)bytes, len}, &arena, &out, &err)) {
        assert(err.msg[0] && out.len == 0);
        return 0;
    }
    assert(!out.full);
    rest = str_slice(&out);
    assert(field_next_of(&rest, ORIGINAL_REQUEST, &original));
    rest = str_slice(&out);
    while (field_next(&rest, &field))
        responses += field.number >= FIRST_RESPONSE && field.number <= LAST_RESPONSE;
    assert(rest.len == 0 && responses == 1);
    return 0;
}
