/* What can be parsed can be printed; parsed and printed again, the text stays the same. (The trees may
 * differ: cJSON prints fifteen digits of a number, and null for one that no double can hold.) What was parsed
 * has as many values as were counted before. */
#include "base/doc/json.h"
#include "base/doc/json_count.h"

static size_t size_of(const cJSON *node)
{
    size_t size = 1;

    JSON_EACH (item, node)
        size += size_of(item);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct err err;
    AUTO(json) cJSON *doc = json_parse((struct slice){(const char *)bytes, len}, &err);

    if (!doc)
        return 0;
    if (json_count_values((struct slice){(const char *)bytes, len}) != size_of(doc))
        abort();
    AUTO(mem) char *text = json_print(doc);
    AUTO(json) cJSON *again = json_parse(slice_of(text), &err);
    AUTO(mem) char *same = again ? json_print(again) : NULL;
    if (!str_eq(text, same))
        abort();
    (void)json_str(doc, "a/b~1c/~0", NULL);
    (void)json_i64(doc, "a", 0);
    return 0;
}
