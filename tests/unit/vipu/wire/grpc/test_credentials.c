#include "vipu/wire/grpc/credentials.h"

#include "lib/check.h"

#define X16 "xxxxxxxxxxxxxxxx"
#define X128 X16 X16 X16 X16 X16 X16 X16 X16
#define X512 X128 X128 X128 X128

TEST(what_a_client_may_send)
{
    static const struct {
        const char *user_id, *access_key, *problem;
    } rows[] = {
        {NULL, NULL, NULL},
        {"", "", NULL},
        {"alice", "685X_K4uCzN", NULL},
        {X128, X512, NULL},
        {X128 "x", NULL, "user ID is too long, limit 128 bytes"},
        {NULL, X512 "x", "access key is too long, limit 512 bytes"},
        {"a b", "~!\" #", NULL},
        {" a", NULL, "begins or ends with a blank"},
        {NULL, "a ", "access key begins or ends with a blank"},
        {"a\tb", NULL, "not printable ASCII"},
        {"\xc3\xa4", NULL, "not printable ASCII"},
        {NULL, "a\r\ngrpc-status: 0", "access key contains a character"},
    };

    CHECK_ROWS (row, rows) {
        struct credentials c = {0};
        struct err err = {0};

        if (row->problem) {
            CHECK_ERR(credentials_set(&c, row->user_id, row->access_key, &err), err, ERR_INVALID);
            CHECK_HAS(err.msg, row->problem);
            CHECK(!c.user_id && !c.access_key);
        } else {
            CHECK_OK(credentials_set(&c, row->user_id, row->access_key, &err), err);
            CHECK_STR_EQ(c.user_id, row->user_id && *row->user_id ? row->user_id : NULL);
            CHECK_STR_EQ(c.access_key, row->access_key && *row->access_key ? row->access_key : NULL);
        }
        credentials_release(&c);
    }
}

TEST(headers_that_came_in)
{
    struct credentials c = {0};

    CHECK(credentials_header(&c, SLICE_LIT("user-agent"), SLICE_LIT("\xff")));
    CHECK(!c.user_id && !c.access_key);
    CHECK(!credentials_header(&c, SLICE_LIT(CREDENTIALS_USER_ID), SLICE_LIT("a\x7f")));
    CHECK(!credentials_header(&c, SLICE_LIT(CREDENTIALS_USER_ID), SLICE_LIT("a\0b")));
    CHECK(!credentials_header(&c, SLICE_LIT(CREDENTIALS_USER_ID), SLICE_LIT(X128 "x")));
    CHECK(!credentials_header(&c, SLICE_LIT(CREDENTIALS_ACCESS_KEY), SLICE_LIT(X512 "x")));
    CHECK(credentials_header(&c, SLICE_LIT(CREDENTIALS_USER_ID), SLICE_LIT(X128)));
    CHECK(credentials_header(&c, SLICE_LIT(CREDENTIALS_ACCESS_KEY), SLICE_LIT("")));
    CHECK_STR_EQ(c.user_id, X128);
    CHECK_STR_EQ(c.access_key, "");
    /* A second value, be it the same, is rejected. */
    CHECK(!credentials_header(&c, SLICE_LIT(CREDENTIALS_ACCESS_KEY), SLICE_LIT("")));
    CHECK(!credentials_header(&c, SLICE_LIT(CREDENTIALS_USER_ID), SLICE_LIT("bob")));
    CHECK_STR_EQ(c.user_id, X128);
    credentials_release(&c);
    CHECK(!c.user_id && !c.access_key);
}
