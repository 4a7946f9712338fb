#include "vipu/wire/messages/fields.h"

#include "lib/check.h"

TEST(every_type_of_field)
{
    /* 1: varint 300; 2: eight bytes; 3: "abc"; 4: four bytes; 5: empty; 2^29-1: varint 0 */
    struct slice rest = SLICE_LIT("\x08\xac\x02"
                                  "\x11"
                                  "12345678"
                                  "\x1a\x03"
                                  "abc"
                                  "\x25"
                                  "1234"
                                  "\x2a\x00"
                                  "\xf8\xff\xff\xff\x0f\x00");
    static const struct {
        uint32_t number;
        enum field_type type;
        const char *bytes;
    } rows[] = {
        {1, FIELD_VARINT, "\xac\x02"}, {2, FIELD_FIXED64, "12345678"}, {3, FIELD_BYTES, "abc"},
        {4, FIELD_FIXED32, "1234"},    {5, FIELD_BYTES, ""},           {536870911, FIELD_VARINT, NULL},
    };
    struct field field;

    CHECK_ROWS (row, rows) {
        CHECK(field_next(&rest, &field));
        CHECK_INT_EQ(field.number, row->number);
        CHECK_INT_EQ(field.type, row->type);
        if (row->bytes)
            CHECK_SLICE_EQ(field.bytes, row->bytes);
    }
    CHECK_INT_EQ(field.bytes.len, 1);
    CHECK(!field_next(&rest, &field));
    CHECK_INT_EQ(rest.len, 0);
}

TEST(what_is_no_field)
{
    const struct slice rows[] = {
        SLICE_LIT("\x00\x01"),                                     /* number 0 */
        SLICE_LIT("\xf8\xff\xff\xff\x1f\x00"),                     /* number 2^30-1 */
        SLICE_LIT("\x0b"),                                         /* a group */
        SLICE_LIT("\x0c"),                                         /* its end */
        SLICE_LIT("\x0e"),                                         /* types that do not exist */
        SLICE_LIT("\x0f"),                                         /* */
        SLICE_LIT("\x80"),                                         /* half a number */
        SLICE_LIT("\x08"),                                         /* no value */
        SLICE_LIT("\x08\x80\x80"),                                 /* half a value */
        SLICE_LIT("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), /* a varint of eleven bytes */
        SLICE_LIT("\x09"
                  "1234567"),
        SLICE_LIT("\x0d"
                  "123"),
        SLICE_LIT("\x0a"),
        SLICE_LIT("\x0a\x01"),
        SLICE_LIT("\x0a\x04"
                  "abc"),
        SLICE_LIT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                  "abc"), /* 2^64-1 bytes */
    };

    CHECK_ROWS (row, rows) {
        struct slice rest = *row;
        struct field field;

        CHECK(!field_next(&rest, &field));
        CHECK_INT_EQ(rest.len, row->len);
    }
}

TEST(fields_of_one_number)
{
    /* 2: "a"; 1: 7; 2: "b"; 2 as a number; 3: "c"; 2: "" */
    static const char bytes[] = "\x12\x01"
                                "a"
                                "\x08\x07\x12\x01"
                                "b"
                                "\x10\x07\x1a\x01"
                                "c"
                                "\x12";
    struct slice rest = {bytes, sizeof(bytes)}; /* with the zero, which is the last one's length */
    struct slice element;
    size_t count;

    CHECK(field_count_of(rest, 2, &count));
    CHECK_INT_EQ(count, 3);
    CHECK(field_next_of(&rest, 2, &element));
    CHECK_SLICE_EQ(element, "a");
    CHECK(field_next_of(&rest, 2, &element));
    CHECK_SLICE_EQ(element, "b");
    CHECK(field_next_of(&rest, 2, &element));
    CHECK_SLICE_EQ(element, "");
    CHECK(!field_next_of(&rest, 2, &element));
    CHECK_INT_EQ(rest.len, 0);
    CHECK(!field_count_of((struct slice){bytes, sizeof(bytes) - 1}, 2, &count));
}
