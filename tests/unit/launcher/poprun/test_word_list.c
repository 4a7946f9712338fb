#include "launcher/poprun/plan/word_list.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct {
    const char *words[4];
    const char *list;
} lists[] = {
    {{NULL}, ""},
    {{"a"}, "a\n"},
    {{"", "a b", ""}, "\na b\n\n"},
    {{"a\nb", "\\n", "\\"}, "a\\nb\n\\\\n\n\\\\\n"},
};

TEST(words_come_out_as_they_went_in)
{
    CHECK_ROWS (row, lists) {
        AUTO(str) struct str list = {0};
        AUTO(strv) struct strv words = {0};

        for (size_t i = 0; row->words[i]; i++)
            word_list_add(&list, row->words[i]);
        CHECK_STR_EQ(str_text(&list), row->list);
        word_list_read(row->list, &words);
        for (size_t i = 0; i < words.count; i++)
            CHECK_STR_EQ(words.items[i], row->words[i]);
        CHECK_STR_EQ(row->words[words.count], NULL);
    }
}

TEST(what_is_no_list_gives_no_word)
{
    AUTO(strv) struct strv words = {0};

    word_list_read("a\\", &words);
    CHECK_INT_EQ(words.count, 0);
}
