#include "kubectl/core/table.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct column COLUMNS[] = {{"NAME", "name", COLUMN_TEXT, false},
                                        {"STATUS", "status", COLUMN_STATUS, false},
                                        {"NOTE", "note", COLUMN_TEXT, false},
                                        {0}};

static char *shown(const struct look *look)
{
    struct err err = {0};
    AUTO(json)
    cJSON *items = json_parse(
        slice_of("[{\"name\":\"a\",\"status\":\"Running\",\"note\":\"größer als das Fenster\"}]"), &err);
    struct str out = {0};

    CHECK_OK(items, err);
    table_add(&out, COLUMNS, items, look, &(struct table_options){0});
    return str_take(&out);
}

TEST(rows_end_at_the_width_of_the_terminal)
{
    AUTO(mem) char *all = shown(&(struct look){0}), *cut = shown(&(struct look){.width = 20});

    CHECK_STR_EQ(all, "NAME   STATUS    NOTE\na      Running   größer als das Fenster\n");
    CHECK_STR_EQ(cut, "NAME   STATUS    NOT\na      Running   grö\n");
}

TEST(a_color_is_beside_the_word)
{
    AUTO(mem) char *text = shown(&(struct look){.colors = true});

    CHECK_HAS(text, "a      \x1b[32mRunning\x1b[0m   größer");
}

TEST(text_is_broken_at_blanks_and_else_anywhere)
{
    static const struct {
        const char *text, *want;
        size_t width;
    } rows[] = {
        {"one two", "one two", 7},   {"one two", "one\n  two", 6}, {"one two", "one\n  two", 3},
        {"onetwo", "onet\n  wo", 4}, {"äöü äöü", "äöü\n  äöü", 3}, {"", "", 3},
    };

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str out = {0};

        text_wrap(&out, row->text, 2, row->width);
        CHECK_STR_EQ(str_text(&out), row->want);
    }
}
