#include "operator/kube/watch/list_reader.h"

#include <string.h>

#include "lib/check.h"

static bool join(void *ctx, struct slice item, struct err *err)
{
    struct str *out = ctx;

    (void)err;
    str_add(out, item.ptr, item.len);
    return str_addc(out, '|');
}

static bool stop(void *ctx, struct slice item, struct err *err)
{
    (void)ctx;
    (void)item;
    return err_set(err, ERR_BUSY, "enough");
}

/* Pushes text in pieces of the given size; items joined with '|' to out. */
static cJSON *cut(const char *text, size_t piece, struct str *out, struct err *err)
{
    struct list_reader items;
    cJSON *envelope = NULL;
    bool good = true;

    list_reader_init(&items, 64);
    for (size_t left = strlen(text); good && left > 0; left -= piece, text += piece) {
        if (piece > left)
            piece = left;
        good = list_reader_feed(&items, text, piece, join, out, err);
    }
    if (good)
        envelope = list_reader_end(&items, err);
    list_reader_release(&items);
    return envelope;
}

static const char LIST[] =
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"items\":[1]},\n"
    "\"items\":[{\"a\":\"}\\\"]{\"}, {\"b\":[{},[]],\"\xc3\xa4\":1},{}],\"x\":[{\"items\":[2]}]}\n";

TEST(items_come_out_the_same_however_they_arrive)
{
    for (size_t piece = 1; piece <= sizeof LIST; piece++) {
        struct str out = {0};
        struct err err = {0};
        AUTO(json) cJSON *envelope = cut(LIST, piece, &out, &err);

        CHECK(envelope != NULL);
        CHECK_STR_EQ(str_text(&out), "{\"a\":\"}\\\"]{\"}|{\"b\":[{},[]],\"\xc3\xa4\":1}|{}|");
        CHECK_STR_EQ(json_str(envelope, "metadata/resourceVersion", ""), "7");
        CHECK_INT_EQ(cJSON_GetArraySize(json_at(envelope, "items")), 0);
        CHECK_INT_EQ(cJSON_GetArraySize(json_at(envelope, "x")), 1);
        str_release(&out);
    }
}

TEST(lists_without_items_are_lists)
{
    static const char *const rows[] = {"{\"kind\":\"L\",\"items\":[]}", "{\"kind\":\"L\",\"items\":null}",
                                       "{\"kind\":\"L\"}", "{\"items\":[ ],\"kind\":\"L\"}"};

    CHECK_ROWS (row, rows) {
        struct str out = {0};
        struct err err = {0};
        AUTO(json) cJSON *envelope = cut(*row, 3, &out, &err);

        CHECK_STR_EQ(json_str(envelope, "kind", ""), "L");
        CHECK_STR_EQ(str_text(&out), "");
    }
}

TEST(what_is_no_whole_list_is_rejected)
{
    static const char *const rows[] = {
        "{\"items\":[",
        "{\"items\":[{}",
        "{\"items\":[{\"a\":1",
        "{\"items\":[1]}",
        "{\"items\":[[]]}",
        "{\"items\":[{}]",
        "{\"kind\":\"items\"[]}",
        "{\"kind\":",
        "{\"items\":[\"a\"]}",
        "<html>no</html>\n",
        "",
    };

    CHECK_ROWS (row, rows) {
        struct str out = {0};
        struct err err = {0};
        AUTO(json) cJSON *envelope = cut(*row, 1, &out, &err);

        CHECK(envelope == NULL);
        CHECK_INT_EQ(err.kind, ERR_INVALID);
        str_release(&out);
    }
}

TEST(an_item_over_the_cap_is_rejected)
{
    struct str out = {0};
    struct err err = {0};
    AUTO(json)
    cJSON *envelope = cut(
        "{\"items\":[{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}]}", 5,
        &out, &err);

    CHECK(envelope == NULL);
    CHECK_HAS(err.msg, "larger than 64 bytes");
}

TEST(an_envelope_over_the_cap_is_rejected)
{
    struct list_reader items;
    struct err err = {0};
    bool good = true;

    list_reader_init(&items, 64);
    CHECK_OK(list_reader_feed(&items, "{\"a\":\"", 6, join, NULL, &err), err);
    for (size_t i = 0; good && i <= LIST_ENVELOPE_MAX_BYTES; i++)
        good = list_reader_feed(&items, "x", 1, join, NULL, &err);
    CHECK(!good);
    CHECK_INT_EQ(err.kind, ERR_INVALID);
    list_reader_release(&items);
}

TEST(the_receiver_may_end_it)
{
    struct list_reader items;
    struct err err = {0};

    list_reader_init(&items, 64);
    CHECK_ERR(list_reader_feed(&items, LIST, sizeof LIST - 1, stop, NULL, &err), err, ERR_BUSY);
    list_reader_release(&items);
}
