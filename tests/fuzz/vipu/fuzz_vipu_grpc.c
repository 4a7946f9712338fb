/* Frames and status texts from a peer. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct slice input = {(const char *)bytes, len}, message;
    AUTO(str) struct str decoded = {0};
    AUTO(str) struct str encoded = {0};
    AUTO(str) struct str again = {0};
    struct err err;
    int status = grpc_status_parse(input);

    assert(status >= 0 && status <= 16);
    if (grpc_unframe(input, &message, &err))
        assert(message.len == len - GRPC_PREFIX_BYTES);
    grpc_text_decode(input, &decoded);
    assert(decoded.len <= len && strlen(str_text(&decoded)) == decoded.len);
    if (decoded.len < GRPC_TEXT_MAX) {
        grpc_text_encode(str_text(&decoded), &encoded);
        grpc_text_decode(str_slice(&encoded), &again);
        assert(strcmp(str_text(&decoded), str_text(&again)) == 0);
    }
    return 0;
}
