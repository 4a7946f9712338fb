#include "base/core/err.h"

#include <errno.h>
#include <string.h>

#include "lib/check.h"

TEST(a_message_has_its_kind_and_code)
{
    struct err err = {0};

    CHECK(!err_set(&err, ERR_CONFLICT, "row %d", 7));
    CHECK_INT_EQ(err.kind, ERR_CONFLICT);
    CHECK_INT_EQ(err.code, 0);
    CHECK_STR_EQ(err.msg, "row 7");
    CHECK(!err_set_code(&err, ERR_BUSY, 429, "later"));
    CHECK_INT_EQ(err.code, 429);
}

TEST(a_long_message_ends_in_dots_and_in_whole_characters)
{
    char text[400];
    struct err err;

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    err_set(&err, ERR_IO, "%s", text);
    CHECK_INT_EQ(strlen(err.msg), sizeof err.msg - 1);
    CHECK(str_has_suffix(err.msg, "x..."));

    memset(text, '\xe2',
           sizeof text - 1); /* lead bytes everywhere, so that the cut falls beside tails below */
    for (size_t i = 0; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    for (size_t shift = 0; shift < 3; shift++) {
        err_set(&err, ERR_IO, "%.*s%s", (int)shift, "ab", text);
        size_t len = strlen(err.msg);
        CHECK(str_has_suffix(err.msg, "\xac..."));
        CHECK(len < sizeof err.msg);
    }
}

TEST(a_message_is_one_line)
{
    struct err err;
    char text[300];

    err_set(&err, ERR_IO, "a\nb\tc\x1b[1m\x7f\xff");
    CHECK_STR_EQ(err.msg, "a b c\\x1b[1m\\x7f\\xff");
    memset(text, '\x1b', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, ERR_IO, "%s", text);
    CHECK(str_has_prefix(err.msg, "\\x1b\\x1b") && str_has_suffix(err.msg, "..."));
    CHECK(strlen(err.msg) < sizeof err.msg);
}

TEST(errno_chooses_the_kind)
{
    static const struct {
        int errnum;
        enum err_kind kind;
        const char *msg;
    } rows[] = {
        {ENOENT, ERR_NOT_FOUND, "/x: No such file or directory"},
        {EACCES, ERR_DENIED, "/x: Permission denied"},
        {EPERM, ERR_DENIED, "/x: Operation not permitted"},
        {EEXIST, ERR_EXISTS, "/x: File exists"},
        {ETIMEDOUT, ERR_TIMEOUT, "/x: Connection timed out"},
        {ECONNRESET, ERR_IO, "/x: Connection reset by peer"},
    };

    CHECK_ROWS (row, rows) {
        struct err err;

        CHECK(!err_errno(&err, row->errnum, "%s", "/x"));
        CHECK_INT_EQ(err.kind, row->kind);
        CHECK_INT_EQ(err.code, row->errnum);
        CHECK_STR_EQ(err.msg, row->msg);
    }
}

TEST(wrapping_puts_the_subject_in_front)
{
    struct err err;

    err_set_code(&err, ERR_GONE, 410, "expired");
    CHECK(!err_wrap(&err, "partition %s", "p7"));
    CHECK_STR_EQ(err.msg, "partition p7: expired");
    CHECK_INT_EQ(err.kind, ERR_GONE);
    CHECK_INT_EQ(err.code, 410);

    for (int i = 0; i < 100; i++)
        err_wrap(&err, "subject");
    CHECK(str_has_prefix(err.msg, "subject: subject: "));
    CHECK(str_has_suffix(err.msg, "..."));
}

TEST(a_message_may_be_made_of_itself)
{
    struct err err;

    err_set(&err, ERR_IO, "inner");
    err_set(&err, ERR_INVALID, "outer (%s)", err.msg);
    CHECK_STR_EQ(err.msg, "outer (inner)");
    err_wrap(&err, "%s", err.msg);
    CHECK_STR_EQ(err.msg, "outer (inner): outer (inner)");
}

TEST(every_kind_has_a_name_of_its_own)
{
    for (int a = ERR_NONE; a <= ERR_INTERNAL; a++) {
        CHECK(err_kind_name((enum err_kind)a)[0] != '\0');
        for (int b = ERR_NONE; b < a; b++)
            CHECK(!str_eq(err_kind_name((enum err_kind)a), err_kind_name((enum err_kind)b)));
    }
    CHECK_STR_EQ(err_kind_name((enum err_kind)99), "unknown");
}
