#include "lib/check.h"

#include "vipu/cli/args/hcl.h"

static void note(void *ctx, const char *key, const char *value, unsigned line)
{
    str_addf(ctx, "%u %s=%s;", line, key, value);
}

TEST(files_that_are_read)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"api-host=\"a\"", "1 api-host=a;"},
        {"a = \"x y\"\n\n# c\nb=1 // d\nc /* e\n*/ = true", "1 a=x y;4 b=1;5 c=true;"},
        {"a = \"q\\\"\\\\\\n\"\r\nb = \"\"", "1 a=q\"\\\n;2 b=;"},
    };

    CHECK_ROWS (row, rows) {
        struct strv problems = {0};
        struct str seen = {0};

        CHECK(hcl_parse(slice_of(row->text), "f", note, &seen, &problems));
        CHECK_STR_EQ(str_text(&seen), row->want);
        str_release(&seen);
        strv_release(&problems);
    }
}

TEST(files_that_are_not)
{
    static const struct {
        const char *text, *problem;
    } rows[] = {
        {"a", "f: line 1: expected \"=\" after the key"},
        {"\na = ", "f: line 2: expected a quoted string"},
        {"a = \"x", "f: line 1: unterminated string"},
        {"a = \"x\ny\"", "f: line 1: unterminated string"},
        {"a = \"\\x\"", "f: line 1: invalid escape sequence"},
        {"a = \"${b}\"", "f: line 1: expressions"},
        {"a = 1 b = 2", "f: line 1: unexpected text after the value"},
        {"/* a", "f: line 1: unterminated comment"},
        {"block {", "f: line 1: expected \"=\" after the key"},
        {"= 1", "f: line 1: expected key = "},
        {"a = [1]", "f: line 1: expected a quoted string"},
        {"a = vipu", "f: line 1: expected a quoted string"},
        {"a = 5s", "f: line 1: expected a quoted string"},
    };

    CHECK_ROWS (row, rows) {
        struct strv problems = {0};
        struct str seen = {0};

        CHECK(!hcl_parse(slice_of(row->text), "f", note, &seen, &problems));
        CHECK_HAS(problems.items[0], row->problem);
        str_release(&seen);
        strv_release(&problems);
    }
}
