#include "launcher/poprun/options/shell_words.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct {
    const char *text;
    const char *words[6];
} texts[] = {
    {"", {NULL}},
    {" \n\t ", {NULL}},
    {"--tag-output", {"--tag-output"}},
    {"\n --mca oob_tcp_if_include X\n --mca btl Y",
     {"--mca", "oob_tcp_if_include", "X", "--mca", "btl", "Y"}},
    {"-x A='b c' d", {"-x", "A=b c", "d"}},
    {"-x 'A=b c'", {"-x", "A=b c"}},
    {"-x \"A=\\\"b\\\" \\\\c\"", {"-x", "A=\"b\" \\c"}},
    {"-x O={\"a\":\"b\"}", {"-x", "O={\"a\":\"b\"}"}}, /* JSON needs no quotes around it */
    {"-x O='{\"a\":\"b c\"}'", {"-x", "O={\"a\":\"b c\"}"}},
    {"a\\ b c\\d \\\"", {"a b", "c\\d", "\""}},
    {"''", {""}},
    {"it's", {"it's"}},
};

/* On record: a value may hold newlines and leading blanks, as benchmark files in YAML give them. */
TEST(a_text_is_split_into_words)
{
    CHECK_ROWS (row, texts) {
        AUTO(strv) struct strv words = {0};
        struct err err;

        CHECK_OK(shell_words_split(row->text, &words, &err), err);
        for (size_t i = 0; i < words.count; i++)
            CHECK_STR_EQ(words.items[i], i < COUNT_OF(row->words) ? row->words[i] : NULL);
        CHECK(words.count == COUNT_OF(row->words) || row->words[words.count] == NULL);
    }
}

TEST(a_quote_must_be_closed)
{
    static const char *const open[] = {"'", "\"a", "a='b", "a \"b\\\""};

    CHECK_ROWS (row, open) {
        AUTO(strv) struct strv words = {0};
        struct err err;

        CHECK_ERR(shell_words_split(*row, &words, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, "unclosed quotes");
        CHECK_INT_EQ(words.count, 0);
    }
}

TEST(a_command_is_printed_for_a_shell)
{
    AUTO(strv) struct strv words = {0};
    AUTO(str) struct str text = {0};

    strv_push(&words, "/opt/poplar/bin/mpirun");
    strv_push(&words, "-x");
    strv_push(&words, "A={\"b\":\"c d\"}");
    strv_push(&words, "it's");
    strv_push(&words, "");
    shell_words_join_quoted(&words, &text);
    CHECK_STR_EQ(str_text(&text), "/opt/poplar/bin/mpirun '-x' 'A={\"b\":\"c d\"}' 'it'\\''s' ''");
}

TEST(exported_variables_are_found)
{
    AUTO(strv) struct strv words = {0};
    struct err err;

    CHECK_OK(shell_words_split("-x PATH -x A=1 --mca B=2 -x A=3 -x PATHS=4", &words, &err), err);
    CHECK_STR_EQ(shell_words_exported(&words, "PATH"), "");
    CHECK_STR_EQ(shell_words_exported(&words, "A"), "3");
    CHECK_STR_EQ(shell_words_exported(&words, "B"), NULL);
    CHECK_STR_EQ(shell_words_exported(&words, "PAT"), NULL);
}
