#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/cli/args/completion.h"

/* Words are separated by blanks; a blank at the end begins a new, empty word. */
static struct completion complete(const char *line)
{
    struct completion completion;
    struct strv words = {0};

    for (;;) {
        size_t len = strcspn(line, " ");

        strv_push_take(&words, mem_strndup(line, len));
        if (!line[len])
            break;
        line += len + 1;
    }
    completion_of(&words, &completion);
    strv_release(&words);
    return completion;
}

/* "list create :partition :files": candidates, then what else would fit. */
static char *told(const struct completion *completion)
{
    static const char *const ids[] = {"", " :partition", "", " :allocation", " :cluster", ""};
    struct str out = {0};

    for (size_t i = 0; i < completion->words.candidates.count; i++)
        str_addf(&out, "%s%.*s", out.len ? " " : "",
                 (int)strcspn(completion->words.candidates.items[i], "\t"),
                 completion->words.candidates.items[i]);
    str_addf(&out, "%s%s", ids[completion->ids], completion->words.files ? " :files" : "");
    return str_take(&out);
}

TEST(what_a_shell_gets)
{
    static const struct {
        const char *line, *want;
    } rows[] = {
        {"", "list create get reset remove completion help"},
        {"re", "reset remove"},
        {"list ", "partitions allocations clusters ipu-attrs"},
        {"get ", "partition allocation cluster"},
        {"get p", "partition"},
        {"get partition ", " :partition"},
        {"get partitions ", " :partition"},
        {"get allocation x", " :allocation"},
        {"get cluster ", " :cluster"},
        {"delete partition ", " :partition"},
        {"delete ", "partition"},
        {"create partition ", ""},
        {"create partition p1 ", ""},
        {"nonsense ", ""},
        {"completion ", "bash zsh fish"},
        {"completion f", "fish"},
        {"-H h -P 1 list p", "partitions"},
        {"--api-host=h list p", "partitions"},
        {"--showjson list p", "partitions"},
        {"list partitions --allocation ", " :allocation"},
        {"create partition p --cluster ", " :cluster"},
        {"create partition p --routing s", "swnc"},
        {"create partition p --routing = s", "swnc"},
        {"create partition p --routing =", "dnc swnc btnc ringswnc"},
        {"create partition p --routing=s", "--routing=swnc"},
        {"create partition p --sync-type pod-native-d", "pod-native-default"},
        {"--table-layout ", "allocation cluster partition"},
        {"--config ", " :files"},
        {"--api-ca-cert=x", " :files"},
        {"create partition p --size ", ""},
        {"remove partition p --f", "--force"},
        {"list partitions --f", ""},
        {"--f", "--force"},
        {"--he", "--help"},
        {"list partitions --gcd", ""},
        {"get partition --gcd", "--gcd"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(completion) struct completion completion = complete(row->line);
        AUTO(mem) char *got = told(&completion);

        CHECK_STR_EQ(got, row->want);
    }
}

TEST(ids_have_to_begin_with_what_was_typed)
{
    AUTO(completion) struct completion completion = complete("list partitions --allocation=le");

    completion_add_id(&completion, "left");
    completion_add_id(&completion, "right");
    CHECK_INT_EQ(completion.words.candidates.count, 1);
    CHECK_STR_EQ(completion.words.candidates.items[0], "--allocation=left\t");
}
