#include "operator/vipucontroller/merge_patch.h"

#include "lib/check.h"

static cJSON *parsed(const char *text)
{
    struct err err = {0};
    cJSON *node = text ? json_parse(slice_of(text), &err) : NULL;

    CHECK(!text || node);
    return node;
}

TEST(a_patch_has_what_differs)
{
    static const struct {
        const char *before, *after, *patch;
    } rows[] = {
        {NULL, "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1}", "{\"a\":1}", NULL},
        {"{}", "{}", NULL},
        {"{\"a\":1}", "{}", "{\"a\":null}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":3}", "{\"b\":3}"},
        {"{\"a\":[1,2]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1}}", "{\"a\":{\"c\":null}}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}", NULL},
        {"{\"a\":1}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *before = parsed(row->before);
        AUTO(json) cJSON *after = parsed(row->after);
        AUTO(json) cJSON *patch = merge_patch(before, after);
        AUTO(mem) char *text = patch ? json_print(patch) : NULL;

        CHECK_STR_EQ(text, row->patch);
    }
}
