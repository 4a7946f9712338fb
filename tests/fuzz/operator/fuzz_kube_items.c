/* A list cut into items. The first byte says how large the pieces are in which it arrives. Whatever arrives:
 * items are objects, and cutting in one piece gives the same result as cutting in small ones. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/kube/watch/list_reader.h"

enum { ITEM_MAX = 4096 };

static bool count_item(void *ctx, struct slice item, struct err *err)
{
    uint64_t *sum = ctx;

    (void)err;
    assert(item.len >= 2 && item.ptr[0] == '{');
    for (size_t i = 0; i < item.len; i++)
        *sum = *sum * 31 + (unsigned char)item.ptr[i];
    return true;
}

static bool cut(const char *bytes, size_t len, size_t piece, uint64_t *sum)
{
    struct list_reader items;
    struct err err = {0};
    cJSON *envelope = NULL;
    bool good = true;

    list_reader_init(&items, ITEM_MAX);
    for (size_t at = 0; good && at < len; at += piece)
        good =
            list_reader_feed(&items, bytes + at, piece < len - at ? piece : len - at, count_item, sum, &err);
    if (good)
        envelope = list_reader_end(&items, &err);
    good = envelope != NULL;
    assert(good == (err.kind == ERR_NONE));
    cJSON_Delete(envelope);
    list_reader_release(&items);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    uint64_t whole = 0, pieces = 0;
    const char *text = (const char *)bytes + 1;

    if (len < 2)
        return 0;
    bool good = cut(text, len - 1, len - 1, &whole);
    bool same = cut(text, len - 1, bytes[0] % 16 + 1u, &pieces);
    assert(good == same);
    assert(whole == pieces);
    return 0;
}
