#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/cli/args/grammar.h"
#include "vipu/cli/args/options.h"

static struct strv words_of(const char *line)
{
    struct strv words = {0};

    while (*line) {
        size_t len = strcspn(line, " ");

        strv_push_take(&words, mem_strndup(line, len));
        line += len + strspn(line + len, " ");
    }
    return words;
}

TEST(commands_that_are_there)
{
    static const struct {
        const char *line;
        enum command_name want;
    } rows[] = {
        {"list partition", COMMAND_LIST_PARTITIONS},
        {"list partitions", COMMAND_LIST_PARTITIONS},
        {"list allocations", COMMAND_LIST_ALLOCATIONS},
        {"list cluster", COMMAND_LIST_CLUSTERS},
        {"list ipu-attrs", COMMAND_LIST_IPU_ATTRS},
        {"create partition p", COMMAND_CREATE_PARTITION},
        {"get partitions p", COMMAND_GET_PARTITION},
        {"get allocation a", COMMAND_GET_ALLOCATION},
        {"get cluster c", COMMAND_GET_CLUSTER},
        {"reset partition p", COMMAND_RESET_PARTITION},
        {"remove partition list", COMMAND_REMOVE_PARTITION},
        {"delete partition p", COMMAND_REMOVE_PARTITION},
        {"completion bash", COMMAND_COMPLETION},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv words = words_of(row->line), problems = {0};
        const struct command *command = grammar_find(&words, &problems);

        CHECK(command && command->name == row->want);
        CHECK_INT_EQ(problems.count, 0);
    }
}

TEST(commands_that_are_not)
{
    static const struct {
        const char *line, *problem;
    } rows[] = {
        {"", "missing command; for example: "},
        {"lst partitions", "unknown command \"lst\"; did you mean \"list\"?"},
        {"frobnicate", "unknown command \"frobnicate\", expected one of: list, create"},
        {"list", "list: missing resource, expected one of: partition, allocation, cluster, ipu-attr"},
        {"list partitons", "list: unknown resource \"partitons\"; did you mean \"list partition\"?"},
        {"reset cluster c", "reset: unknown resource \"cluster\", expected one of: partition"},
        {"get allocation", "get allocation requires the ID of the allocation"},
        {"completion", "completion requires one of: bash|zsh|fish"},
        {"list partitions p1", "unexpected argument \"p1\""},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv words = words_of(row->line), problems = {0};

        CHECK(!grammar_find(&words, &problems));
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(every_unexpected_argument_is_reported)
{
    AUTO(strv) struct strv words = words_of("remove partition p1 p2 p3"), problems = {0};

    CHECK(!grammar_find(&words, &problems));
    CHECK_INT_EQ(problems.count, 2);
    CHECK_HAS(problems.items[1], "\"p3\"");
}

/* What a command takes is an option, so that a slip in one table does not hide behind the other. */
TEST(the_tables_fit_each_other)
{
    for (const struct command *c = grammar; c->verb; c++) {
        AUTO(strv) struct strv flags = words_of(c->options);

        for (size_t i = 0; i < flags.count; i++) {
            CHECK(opts_find(&options_spec, flags.items[i]) != NULL);
            CHECK(grammar_takes(c, flags.items[i]));
        }
        CHECK(!grammar_takes(c, "api-host"));
        CHECK(!grammar_takes(c, ""));
    }
}
