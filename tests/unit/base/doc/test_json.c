#include "base/doc/json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/doc/json_count.h"
#include "lib/check.h"

static cJSON *parse(const char *text)
{
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc != NULL, err);
    return doc;
}

TEST(what_is_json_and_what_is_not)
{
    static const struct {
        const char *text;
        const char *problem; /* NULL: it is JSON */
    } rows[] = {
        {"{}", NULL},
        {" [1, 2.5e3, -0] \r\n\t", NULL},
        {"\"\\\\u0000\"", NULL}, /* an escaped backslash, then four zeros */
        {"null", NULL},
        {"", "expected JSON, got an empty text"},
        {"{", "invalid JSON at byte 0 (or nested deeper than 1000)"},
        {"{} x", "invalid JSON at byte 3 (or nested deeper than 1000)"},
        {"{}{}", "invalid JSON at byte 2 (or nested deeper than 1000)"},
        {"[1,]", "invalid JSON at byte 3 (or nested deeper than 1000)"},
        {"{a:1}", "invalid JSON at byte 2 (or nested deeper than 1000)"},
        {"nul", "invalid JSON at byte 0 (or nested deeper than 1000)"},
        {"\"\\ud800\"", "invalid JSON at byte 1 (or nested deeper than 1000)"},
    };

    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *doc = json_parse(slice_of(row->text), &err);

        CHECK_STR_EQ(doc ? NULL : err.msg, row->problem);
        CHECK_INT_EQ(err.kind, doc ? ERR_NONE : ERR_INVALID);
    }
}

/* Programs print such bytes, and what they print reaches the status of their pods. */
TEST(the_character_nul_is_read_as_a_replacement)
{
    static const struct {
        const char *text, *read;
    } rows[] = {
        {"\"\\u0000\"", "\xef\xbf\xbd"},
        {"\"a\\u0000b\\u0000\\u0000\"", "a\xef\xbf\xbd"
                                        "b\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\\\\\u0000\"", "\\\xef\xbf\xbd"},
        {"\"\\\\u0000\"", "\\u0000"}, /* an escaped backslash, then four zeros */
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = parse(row->text);

        CHECK_STR_EQ(json_str(doc, "", "?"), row->read);
    }
    AUTO(json) cJSON *number = parse("{\"a\\u0000\":12345678901234567890}");
    CHECK_STR_EQ(json_key(number->child), "a\xef\xbf\xbd");
    CHECK_STR_EQ(number->child->valuestring, "12345678901234567890");
}

TEST(limits)
{
    AUTO(str) struct str big = {.max = JSON_MAX_BYTES * 2};
    AUTO(str) struct str deep = {0};
    struct err err;

    CHECK(str_addc(&big, '"'));
    while (big.len < JSON_MAX_BYTES)
        CHECK(str_adds(&big, "0123456789012345678901234567890123456789012345678901234567890123"));
    CHECK(str_addc(&big, '"'));
    CHECK_ERR(json_parse(str_slice(&big), &err) != NULL, err, ERR_INVALID);
    CHECK_HAS(err.msg, "is too large");

    for (int i = 0; i < 100000; i++)
        CHECK(str_addc(&deep, '['));
    CHECK_ERR(json_parse(str_slice(&deep), &err) != NULL, err, ERR_INVALID);
    CHECK_ERR(json_parse((struct slice){"\"a\0b\"", 5}, &err) != NULL, err, ERR_INVALID);
    CHECK_STR_EQ(err.msg, "invalid JSON: NUL byte at byte 2");
}

TEST(reading_by_path)
{
    AUTO(json)
    cJSON *doc = parse("{\"a\":{\"b/c\":{\"~\":\"x\"},\"n\":5,\"half\":0.5,\"big\":9007199254740993,"
                       "\"huge\":1e300,\"t\":true,\"l\":[1]},\"A\":1,\"\":2}");

    CHECK_STR_EQ(json_str(doc, "a/b~1c/~0", "?"), "x");
    CHECK_STR_EQ(json_str(doc, "a/b/c", "?"), "?");
    CHECK_STR_EQ(json_str(doc, "a/n", "?"), "?");
    CHECK_STR_EQ(json_str(NULL, "a", "?"), "?");
    CHECK_INT_EQ(json_i64(doc, "a/n", -1), 5);
    CHECK_INT_EQ(json_i64(doc, "a/half", -1), -1);
    CHECK_INT_EQ(json_i64(doc, "a/huge", -1), -1);
    CHECK_INT_EQ(json_i64(doc, "a/t", -1), -1);
    CHECK_INT_EQ(json_i64(doc, "A", -1), 1);
    CHECK(json_bool(doc, "a/t", false));
    CHECK(json_bool(doc, "a/n", true));
    CHECK(json_at(doc, "") == doc);
    CHECK(json_at(doc, "a/l/0") == NULL);
    CHECK(json_at_mut(doc, "a") == json_at(doc, "a"));
    CHECK_STR_EQ(json_key(json_at(doc, "a/l")), "l");
    CHECK(json_key(doc) == NULL);
    CHECK(json_key(NULL) == NULL);
}

TEST(walking)
{
    AUTO(json) cJSON *doc = parse("[1,2,3]");
    int64_t sum = 0;

    JSON_EACH (item, doc)
        sum += json_i64(item, "", 0);
    CHECK_INT_EQ(sum, 6);
    JSON_EACH (item, json_at(doc, "none"))
        CHECK_FAIL("there is nothing to walk");
}

TEST(building)
{
    AUTO(json) cJSON *doc = json_object();
    cJSON *list = json_put_array(doc, "list");

    CHECK_STR_EQ(json_put_str(doc, "name", "x")->valuestring, "x");
    CHECK(json_put_str(doc, "none", NULL) == NULL);
    (void)json_put_strf(doc, "id", "%s-%d", "p", 7);
    (void)json_put_i64(doc, "n", 123456789012345);
    (void)json_put_bool(doc, "yes", true);
    (void)json_put_i64(json_put_object(doc, "in"), "deep", -1);
    (void)json_push_str(list, "a");
    (void)json_push_take(list, json_object());
    CHECK(json_push_str(list, NULL) == NULL);
    (void)json_put_str(doc, "name", "y");
    (void)json_put_str(doc, "gone", "z");
    json_drop(doc, "gone");
    json_drop(doc, "never");

    AUTO(mem) char *text = json_print(doc);
    CHECK_STR_EQ(text, "{\"list\":[\"a\",{}],\"id\":\"p-7\",\"n\":123456789012345,\"yes\":true,"
                       "\"in\":{\"deep\":-1},\"name\":\"y\"}");
    AUTO(mem) char *pretty = json_print_pretty(json_at(doc, "in"));
    CHECK_STR_EQ(pretty, "{\n\t\"deep\":\t-1\n}");
    CHECK_ABORTS((void)json_put_i64(doc, "n", INT64_MAX));
}

TEST(a_time_that_nobody_knows_is_left_out)
{
    AUTO(json) cJSON *doc = json_object();

    CHECK_STR_EQ(json_put_time(doc, "then", 0)->valuestring, "1970-01-01T00:00:00Z");
    CHECK(json_put_time(doc, "never", INT64_MAX) == NULL);
    CHECK_INT_EQ(cJSON_GetArraySize(doc), 1);
}

TEST(printing_reads_back)
{
    AUTO(str) struct str text = {0};

    for (int c = 1; c < 128; c++)
        CHECK(str_addc(&text, (char)c));
    CHECK(str_adds(&text, "\xc3\xa4\xf0\x9f\x98\x80"));
    AUTO(json) cJSON *doc = json_object();
    (void)json_put_str(doc, "s", str_text(&text));
    AUTO(mem) char *printed = json_print(doc);
    AUTO(json) cJSON *back = parse(printed);
    CHECK_STR_EQ(json_str(back, "s", NULL), str_text(&text));
}

TEST(long_whole_numbers_stay_as_they_came)
{
    static const char *const texts[] = {
        "9007199254740993",
        "-9223372036854775808",
        "[1,1.5,-2e3,18446744073709551615,\"12345678901234567890\",999999999999999,1000000000000000]",
        "{\"a\\\"1234567890123456789\":{\"b\":[true,9223372036854775807]},\"c\":7,\"d\":1234567890123456789}",
    };

    CHECK_ROWS (text, texts) {
        struct err err = {0};
        AUTO(json) cJSON *doc = json_parse(slice_of(*text), &err);

        CHECK_OK(doc, err);
        AUTO(json) cJSON *copy = json_dup(doc);
        AUTO(mem) char *printed = json_print(copy);
        AUTO(json) cJSON *plain = json_parse(SLICE_LIT("[1,1.5,-2000]"), &err);

        CHECK(json_equal(doc, copy) && !json_equal(doc, plain));
        if (strchr(*text, 'e') && **text == '[')
            CHECK_STR_EQ(printed,
                         "[1,1.5,-2000,18446744073709551615,\"12345678901234567890\",999999999999999,"
                         "1000000000000000]");
        else
            CHECK_STR_EQ(printed, *text);
    }
}

TEST(a_number_that_is_too_long_is_read_as_none)
{
    struct err err = {0};
    AUTO(json) cJSON *doc = json_parse(SLICE_LIT("{\"a\":9007199254740993,\"b\":900719925474099}"), &err);

    CHECK_OK(doc, err);
    CHECK_INT_EQ(json_i64(doc, "a", -1), -1);
    CHECK_INT_EQ(json_i64(doc, "b", -1), 900719925474099);
}

/* Whoever may write a job chooses how many labels it has, and in which order. */
TEST(large_objects_are_compared_in_no_time)
{
    enum { MEMBERS = 200 * 1000 };
    AUTO(json) cJSON *a = json_object();
    AUTO(json) cJSON *b = json_object();
    clock_t start = clock();
    char key[16];

    for (int i = 0; i < MEMBERS; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i);
        cJSON_AddNumberToObject(a, key, i);
        (void)snprintf(key, sizeof(key), "k%d", MEMBERS - 1 - i);
        cJSON_AddNumberToObject(b, key, MEMBERS - 1 - i);
    }
    CHECK(json_equal(a, b));
    cJSON_SetNumberValue(b->child, -1);
    CHECK(!json_equal(a, b));
    CHECK((clock() - start) / CLOCKS_PER_SEC < 10);
}

TEST(equality)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,2]", false},
        {"[1,2]", "[1]", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
        {"{\"a\":1}", "{\"A\":1}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":1}", false},
        {"{}", "{}", true},
        {"1", "1.0", true},
        {"1", "\"1\"", false},
        {"true", "false", false},
        {"null", "false", false},
        {"null", "null", true},
        {"\"a\"", "\"b\"", false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *a = parse(row->a);
        AUTO(json) cJSON *b = parse(row->b);
        AUTO(json) cJSON *copy = json_dup(a);

        CHECK_INT_EQ(json_equal(a, b), row->equal);
        CHECK_INT_EQ(json_equal(b, a), row->equal);
        CHECK(json_equal(a, copy));
        CHECK(!json_equal(a, NULL));
    }
    CHECK(json_equal(NULL, NULL));
    CHECK(json_dup(NULL) == NULL);
}

static size_t size_of(const cJSON *node)
{
    size_t size = 1;

    JSON_EACH (item, node)
        size += size_of(item);
    return size;
}

TEST(values_are_counted_before_they_are_read)
{
    static const char *const rows[] = {
        "1",
        " \"a, [b], {c\" ",
        "[]",
        "{ \n}",
        "[[], {}, [ ], [[]]]",
        "{\"a\": 1, \"b,[{\": {\"c\": [1, 2, {\"d\": null}]}, \"e\": \"\"}",
        "[\"\\\"\", \"\\\\\", \",\\\",\", \"\\u0022,\", \"]\"]",
        "\xEF\xBB\xBF[\x01 1, [\x02]]", /* what cJSON passes over */
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = parse(*row);

        CHECK_INT_EQ(json_count_values(slice_of(*row)), size_of(doc));
    }
}

TEST(what_is_no_json_has_at_least_the_values_that_were_read_of_it)
{
    static const struct {
        const char *text;
        size_t least;
    } rows[] = {{"", 0}, {"[", 2}, {"[}", 2}, {"{]", 2}, {"[1,2,", 4}, {"[1,\"a", 3}, {"[1,\"a\\", 3}};

    CHECK_ROWS (row, rows) {
        /* Of a length of its own, so that a look behind its end is seen. */
        AUTO(mem) char *text = mem_dup(row->text, strlen(row->text));

        CHECK_INT_EQ(json_count_values((struct slice){text, strlen(row->text)}), row->least);
    }
}

TEST(control_characters_in_a_tree_are_shown_as_text)
{
    struct err err;
    AUTO(json)
    cJSON *tree = json_parse(SLICE_LIT("{\"a\":[\"x\\u001b[2J\",{\"b\":\"\\u009by\\nz\"}],\"c\":1}"), &err);
    AUTO(mem) char *text = NULL;

    json_make_visible(tree, "\n");
    text = json_print(tree);
    CHECK_STR_EQ(text, "{\"a\":[\"x\\\\x1b[2J\",{\"b\":\"\\\\u009by\\nz\"}],\"c\":1}");
    json_make_visible(NULL, "");
}
