#include "operator/kube/auth/base64.h"

#include "lib/check.h"

TEST(bytes_come_out_of_every_padding)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9v\nYmE=\n", "fooba"},
        {"+/+/", "\xfb\xff\xbf"},
    };

    CHECK_ROWS (row, rows) {
        struct str out = {0};

        CHECK(base64_decode(slice_of(row->text), &out));
        CHECK_STR_EQ(str_text(&out), row->want);
        str_release(&out);
    }
}

TEST(what_is_no_base64_is_rejected)
{
    static const char *const rows[] = {"Z", "Zg", "Zg=", "Zm8==", "Z===", "Zg==Zg==", "Zm9-", "=Zm9v"};

    CHECK_ROWS (row, rows) {
        struct str out = {0};

        CHECK(!base64_decode(slice_of(*row), &out));
        str_release(&out);
    }
}

TEST(bytes_go_into_every_padding)
{
    static const struct {
        const char *bytes, *want;
    } rows[] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xfb\xff\xbf", "+/+/"}};

    CHECK_ROWS (row, rows) {
        struct str out = {0};

        base64_encode(slice_of(row->bytes), &out);
        CHECK_STR_EQ(str_text(&out), row->want);
        str_release(&out);
    }
}
