#include "launcher/poprun/run/versions.h"

#include <nghttp2/nghttp2ver.h>
#include <openssl/opensslv.h>
#include <protobuf-c/protobuf-c.h>
#include <uv.h>

#include "base/core/mem.h"

#define UV_TEXT(number) UV_TEXT_OF(number)
#define UV_TEXT_OF(number) #number

/* The versions that it was built with. */
static const struct {
    const char *name, *version;
} parts[] = {
    {"poprun", IPU_OPERATOR_VERSION},
    {"popdist", IPU_OPERATOR_VERSION},
    {"libuv", UV_TEXT(UV_VERSION_MAJOR) "." UV_TEXT(UV_VERSION_MINOR) "." UV_TEXT(UV_VERSION_PATCH)},
    {"nghttp2", NGHTTP2_VERSION},
    {"openssl", OPENSSL_VERSION_STR},
    {"protobuf-c", PROTOBUF_C_VERSION},
};

void versions_print(enum version_format format, struct str *out)
{
    size_t count = format == VERSION_TEXT ? 1 : COUNT_OF(parts);

    for (size_t i = 0; i < count; i++) {
        if (format == VERSION_FULL_JSON)
            (void)str_addf(out, "%s\"%s\":\"%s\"", i ? "," : "{", parts[i].name, parts[i].version);
        else
            (void)str_addf(out, "%s %s\n", parts[i].name, parts[i].version);
    }
    if (format == VERSION_FULL_JSON)
        (void)str_adds(out, "}\n");
}
