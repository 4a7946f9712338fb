#include "base/text/compressed_text.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "base/core/mem.h"

/* Enough for texts of some KB; zlib's defaults take 268 KB for each text. */
#define WINDOW_BITS 13
#define MEMORY_LEVEL 5

struct compressed_text {
    size_t len, packed_len; /* equal: not compressed */
    unsigned char bytes[];
};

/* The compressed size in bytes; 0: it is not smaller. */
static size_t deflate_text(struct slice text, unsigned char *to)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)text.ptr,
                  .avail_in = (uInt)text.len,
                  .next_out = to,
                  .avail_out = (uInt)text.len};
    int end;

    if (text.len < 2 || text.len > UINT32_MAX ||
        deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    end = deflate(&z, Z_FINISH);
    (void)deflateEnd(&z);
    return end == Z_STREAM_END && z.total_out < text.len ? z.total_out : 0;
}

struct compressed_text *compressed_text_new(struct slice text)
{
    AUTO(mem) unsigned char *bytes = mem_alloc(text.len);
    size_t packed_len = deflate_text(text, bytes);
    struct compressed_text *pack;

    if (!packed_len && text.len)
        memcpy(bytes, text.ptr, text.len);
    if (!packed_len)
        packed_len = text.len;
    pack = mem_alloc(sizeof(*pack) + packed_len);
    *pack = (struct compressed_text){.len = text.len, .packed_len = packed_len};
    memcpy(pack->bytes, bytes, packed_len);
    return pack;
}

size_t compressed_text_bytes(const struct compressed_text *packed)
{
    return packed ? sizeof(*packed) + packed->packed_len : 0;
}

char *compressed_text_get(const struct compressed_text *pack)
{
    z_stream z = {0};
    char *text;
    int end;

    if (!pack)
        return NULL;
    text = mem_alloc(pack->len + 1);
    if (pack->packed_len == pack->len)
        return memcpy(text, pack->bytes, pack->len);
    z = (z_stream){.next_in = (z_const Bytef *)(uintptr_t)pack->bytes,
                   .avail_in = (uInt)pack->packed_len,
                   .next_out = (Bytef *)text,
                   .avail_out = (uInt)pack->len};
    end = inflateInit2(&z, WINDOW_BITS);
    assert(end == Z_OK);
    end = inflate(&z, Z_FINISH);
    (void)inflateEnd(&z);
    assert(end == Z_STREAM_END && z.total_out == pack->len); /* only compressed_text_new writes them */
    return text;
}
