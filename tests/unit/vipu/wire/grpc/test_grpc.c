#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/response.h"

TEST(a_message_in_its_frame)
{
    AUTO(str) struct str out = {0};
    struct slice message;
    struct err err;

    CHECK(grpc_frame(&out, SLICE_LIT("abc")));
    CHECK_INT_EQ(out.len, 8);
    CHECK(memcmp(out.ptr, "\0\0\0\0\3abc", 8) == 0);
    CHECK_OK(grpc_unframe(str_slice(&out), &message, &err), err);
    CHECK_SLICE_EQ(message, "abc");
}

TEST(bodies_that_hold_no_message)
{
    static const struct {
        struct slice body;
        const char *part;
    } rows[] = {
        {{NULL, 0}, "expected a prefix of 5 bytes, got 0"},
        {{"\0\0\0\0", 4}, "expected a prefix of 5 bytes, got 4"},
        {{"\1\0\0\0\0", 5}, "compressed"},
        {{"\0\0\0\0\2a", 6}, "expected 2 bytes, got 1"},
        {{"\0\0\0\0\0a", 6}, "expected 0 bytes, got 1"},
        {{"\0\377\377\377\377", 5}, "expected 4294967295"},
    };

    CHECK_ROWS (row, rows) {
        struct slice message;
        struct err err;

        CHECK_ERR(grpc_unframe(row->body, &message, &err), err, ERR_IO);
        CHECK_HAS(err.msg, row->part);
    }
}

TEST(status_numbers)
{
    static const struct {
        const char *text;
        int want;
    } rows[] = {{"0", 0},
                {"5", 5},
                {"16", 16},
                {"17", GRPC_UNKNOWN},
                {"", GRPC_UNKNOWN},
                {"-1", GRPC_UNKNOWN},
                {"05", 5},
                {" 5", GRPC_UNKNOWN},
                {"1x", GRPC_UNKNOWN},
                {"0005", GRPC_UNKNOWN},
                {"9999999999", GRPC_UNKNOWN}};

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(grpc_status_parse(slice_of(row->text)), row->want);
    }
}

TEST(a_kind_survives_the_way_to_the_caller)
{
    static const enum err_kind kinds[] = {ERR_INVALID, ERR_NOT_FOUND, ERR_EXISTS,  ERR_CONFLICT,
                                          ERR_DENIED,  ERR_BUSY,      ERR_TIMEOUT, ERR_IO};

    CHECK_ROWS (kind, kinds) {
        CHECK_INT_EQ(grpc_status_kind(grpc_status_of_kind(*kind)), *kind);
    }
    CHECK_INT_EQ(grpc_status_kind(-3), ERR_IO);
    CHECK_INT_EQ(grpc_status_kind(1000), ERR_IO);
    CHECK_STR_EQ(grpc_status_name(8), "RESOURCE_EXHAUSTED");
    CHECK_STR_EQ(grpc_status_name(99), "UNKNOWN");
}

TEST(texts_of_a_status)
{
    static const struct {
        const char *text, *wire;
    } rows[] = {{"", ""},
                {"plain text", "plain text"},
                {"100 %", "100 %25"},
                {"\xc3\xbc", "%C3%BC"},
                {"a\nb", "a%0Ab"}};

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str out = {0};

        grpc_text_encode(row->text, &out);
        CHECK_STR_EQ(str_text(&out), row->wire);
    }
}

TEST(texts_that_came)
{
    static const struct {
        const char *wire, *text;
    } rows[] = {{"", ""},
                {"%41%6a", "Aj"},
                {"%", "%"},
                {"%4", "%4"},
                {"%zz", "%zz"},
                {"%0a%00x\x7f", "??x?"},
                {"\xc3\xbc", "\xc3\xbc"}};

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str out = {0};

        grpc_text_decode(slice_of(row->wire), &out);
        CHECK_STR_EQ(str_text(&out), row->text);
    }
}

TEST(timeouts)
{
    char out[16];

    CHECK_STR_EQ(grpc_timeout_format(4000, out), "4000m");
    CHECK_STR_EQ(grpc_timeout_format(-5, out), "0m");
    CHECK_STR_EQ(grpc_timeout_format(100000000, out), "100000S");
    CHECK_STR_EQ(grpc_timeout_format(INT64_MAX, out), "99999999S");
}

DEFINE_AUTO(response);

static void header(struct response *r, const char *name, const char *value)
{
    response_header(r, slice_of(name), slice_of(value));
}

TEST(the_first_status_counts)
{
    AUTO(response) struct response r;
    struct slice message;
    struct err err;

    response_init(&r, 100);
    header(&r, ":status", "200");
    CHECK(response_data(&r, "\0\0\0\0\0", 5));
    header(&r, "grpc-status", "5");
    header(&r, "grpc-message", "first");
    header(&r, "grpc-status", "0");
    header(&r, "grpc-message", "second");
    CHECK_ERR(response_judge(&r, 0, &message, &err), err, ERR_NOT_FOUND);
    CHECK_STR_EQ(err.msg, "NOT_FOUND: first");
    CHECK_INT_EQ(err.code, 5);
}

TEST(an_answer_has_a_limit)
{
    AUTO(response) struct response r;

    response_init(&r, 3);
    CHECK(response_data(&r, "12345678", 8));
    CHECK(!response_data(&r, "9", 1));
}

TEST(a_long_reason_is_cut)
{
    AUTO(response) struct response r;
    struct slice message;
    struct err err;
    char text[GRPC_TEXT_MAX + 100];

    memset(text, 'x', sizeof(text));
    response_init(&r, 0);
    header(&r, "grpc-status", "3");
    response_header(&r, SLICE_LIT("grpc-message"), (struct slice){text, sizeof(text)});
    CHECK_ERR(response_judge(&r, 0, &message, &err), err, ERR_INVALID);
    CHECK_INT_EQ(r.text.len, GRPC_TEXT_MAX);
}
