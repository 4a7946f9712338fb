/* A call as it arrives, by the rules of grpc/grpc, doc/PROTOCOL-HTTP2.md and doc/compression.md. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/grpc/request.h"

DEFINE_AUTO(request);

static struct request begun(void)
{
    struct request r;

    request_init(&r, 100);
    request_header(&r, SLICE_LIT(":method"), SLICE_LIT("POST"));
    request_header(&r, SLICE_LIT(":path"), SLICE_LIT("/a.B/C"));
    request_header(&r, SLICE_LIT("content-type"), SLICE_LIT("application/grpc+proto"));
    return r;
}

TEST(a_call_in_order)
{
    AUTO(request) struct request r = begun();
    struct slice message;
    struct err err;

    request_header(&r, SLICE_LIT("grpc-timeout"), SLICE_LIT("2S"));
    request_header(&r, SLICE_LIT("grpc-encoding"), SLICE_LIT("gzip")); /* this message is not compressed */
    CHECK_OK(request_check_headers(&r, &err), err);
    str_add(&r.body, "\0\0\0\0\3abc", 8);
    CHECK_OK(request_validate(&r, str_slice(&r.body), &message, &err), err);
    CHECK_SLICE_EQ(message, "abc");
    CHECK_STR_EQ(str_text(&r.path), "/a.B/C");
    CHECK_INT_EQ(r.timeout_ms, 2000);
    CHECK_INT_EQ(request_http_status(&r), 200);
}

TEST(calls_that_are_rejected_for_a_header)
{
    static const struct {
        const char *name, *value;
        int status, http_status;
        const char *says;
    } rows[] = {
        {":method", "GET", GRPC_INVALID_ARGUMENT, 405, "POST"},
        {"content-type", "text/html", GRPC_INVALID_ARGUMENT, 415, "application/grpc"},
        {"grpc-timeout", "1", GRPC_INVALID_ARGUMENT, 200, "grpc-timeout must be"},
        {"grpc-timeout", "123456789m", GRPC_INVALID_ARGUMENT, 200, "grpc-timeout must be"},
        {"vipu-user-id", "a\x80", GRPC_UNAUTHENTICATED, 200, "printable ASCII"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(request) struct request r = begun();
        struct err err;

        request_header(&r, slice_of(row->name), slice_of(row->value));
        CHECK(!request_check_headers(&r, &err));
        CHECK_INT_EQ(err.code, row->status);
        CHECK_HAS(err.msg, row->says);
        CHECK_INT_EQ(request_http_status(&r), row->http_status);
    }
}

TEST(metadata_has_a_limit)
{
    AUTO(request) struct request r = begun();
    static char value[REQUEST_HEADERS_MAX];
    struct err err;

    request_header(&r, SLICE_LIT("x"), (struct slice){value, sizeof(value) - 1000});
    CHECK_OK(request_check_headers(&r, &err), err);
    request_header(&r, SLICE_LIT("y"), (struct slice){value, 1000});
    CHECK(!request_check_headers(&r, &err));
    CHECK_INT_EQ(err.code, GRPC_RESOURCE_EXHAUSTED);
    CHECK_HAS(err.msg, "limit 16384 bytes");
}

TEST(compressed_messages)
{
    static const struct {
        const char *encoding;
        int status;
    } rows[] = {{"gzip", GRPC_UNIMPLEMENTED}, {"identity", GRPC_INTERNAL}, {NULL, GRPC_INTERNAL}};

    CHECK_ROWS (row, rows) {
        AUTO(request) struct request r = begun();
        struct slice message;
        struct err err;

        if (row->encoding)
            request_header(&r, SLICE_LIT("grpc-encoding"), slice_of(row->encoding));
        str_add(&r.body, "\1\0\0\0\1a", 6);
        CHECK(!request_validate(&r, str_slice(&r.body), &message, &err));
        CHECK_INT_EQ(err.code, row->status);
        CHECK(r.is_compressed);
    }
}

TEST(timeouts)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: invalid */
    } rows[] = {{"1H", 3600000}, {"2M", 120000}, {"3S", 3000},
                {"4m", 4},       {"5000u", 5},   {"5001u", 6},
                {"1n", 1},       {"0m", 0},      {"99999999H", 359999996400000},
                {"", -1},        {"1", -1},      {"m", -1},
                {"-1m", -1},     {"1.5S", -1},   {"123456789m", -1},
                {"1h", -1}};

    CHECK_ROWS (row, rows) {
        int64_t ms = -1;

        CHECK_INT_EQ(grpc_timeout_parse(slice_of(row->text), &ms), row->ms >= 0);
        CHECK_INT_EQ(ms, row->ms);
    }
}
