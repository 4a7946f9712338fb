#include "lib/check.h"

#include "base/text/suggest.h"

static const char *guess(const char *word)
{
    static const char *const known[] = {"size", "showjson", "server-version", "api-host", "list", "a", NULL};
    struct suggest suggest = suggest_init(word);

    for (size_t i = 0; known[i]; i++)
        suggest_candidate(&suggest, known[i]);
    return suggest_best(&suggest);
}

TEST(slips_of_a_finger_are_seen_through)
{
    static const struct {
        const char *word, *want;
    } rows[] = {
        {"siez", "size"},          {"sizze", "size"}, {"ize", "size"},
        {"show-json", "showjson"}, {"lsit", "list"},  {"server", "server-version"},
        {"api_host", "api-host"},  {"size", "size"},
    };

    CHECK_ROWS (row, rows)
        CHECK_STR_EQ(guess(row->word), row->want);
}

TEST(strangers_stay_strangers)
{
    static const char *const words[] = {
        "", "x", "bogus", "ls", "nonsense", "a-word-of-more-letters-than-anybody-ever-typed-by-mistake"};

    CHECK_ROWS (word, words)
        CHECK_STR_EQ(guess(*word), NULL);
}
