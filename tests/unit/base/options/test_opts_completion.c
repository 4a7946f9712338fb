#include "lib/check.h"

#include <stddef.h>

#include "base/core/mem.h"
#include "base/options/opts_completion.h"

struct sample {
    char *config, *dir;
    int level;
    bool quiet;
};

static const char *const levels[] = {"debug", "info", NULL};
static const struct opt rows[] = {
    OPT_VALUE("config", OPT_STR, offsetof(struct sample, config), "FILE", "the settings", .letter = 'c'),
    OPT_VALUE("level", OPT_CHOICE, offsetof(struct sample, level), "LEVEL", "how much is said",
              .choices = levels),
    OPT_SWITCH("quiet", offsetof(struct sample, quiet), "say less", .letter = 'q'),
    OPT_VALUE("conf", OPT_STR, offsetof(struct sample, config), NULL, NULL), /* an old spelling */
    {0},
};
static const struct opts_spec spec = {
    .program = "a-tool", .usage = "a-tool", .about = "Completes.", .rows = rows};

TEST(what_a_shell_gets)
{
    static const struct opts_command commands[] = {{"list", "what there is"}, {"look", ""}, {0}};
    static const struct {
        const char *words[4];
        const char *want;
    } cases[] = {
        {{""}, "list\twhat there is\nlook\t\n"},
        {{"lis"}, "list\twhat there is\n"},
        {{"list", ""}, ""},
        {{"-q", "lo"}, "look\t\n"},
        {{"--l"}, "--level\thow much is said\n"},
        {{"--conf"}, "--config\tthe settings\n"},
        {{"list", "--ve"}, "--version\tprint the version and exit\n"},
        {{"--level", ""}, "debug\t\ninfo\t\n"},
        {{"--level=i"}, "--level=info\t\n"},
        {{"--level", "=", "d"}, "debug\t\n"},
        {{"--config", "x"}, ":files\n"},
        {{"-c", ""}, ":files\n"},
        {{"-c", "x", "li"}, "list\twhat there is\n"},
    };

    CHECK_ROWS (row, cases) {
        char *argv[6] = {(char *)(uintptr_t) "a-tool", (char *)(uintptr_t) "__complete"};
        AUTO(str) struct str out = {0};
        int argc = 2;

        for (; row->words[argc - 2]; argc++)
            argv[argc] = (char *)(uintptr_t)row->words[argc - 2];
        CHECK(opts_completion_answer(&spec, commands, argc, argv, &out));
        CHECK_STR_EQ(str_text(&out), row->want);
    }
}

TEST(other_command_lines_are_left_alone)
{
    static const struct {
        int argc;
        const char *words[2];
    } cases[] = {{1, {NULL}}, {2, {"list"}}, {2, {"__completion"}}, {3, {"__completion", "tcsh"}}};

    CHECK_ROWS (row, cases) {
        char *argv[] = {(char *)(uintptr_t) "a-tool", (char *)(uintptr_t)row->words[0],
                        (char *)(uintptr_t)row->words[1]};
        AUTO(str) struct str out = {0};

        CHECK(!opts_completion_answer(&spec, NULL, row->argc, argv, &out));
        CHECK_INT_EQ(out.len, 0);
    }
}

TEST(scripts_for_three_shells)
{
    static const struct {
        const char *shell, *has[3];
    } cases[] = {
        {"bash",
         {"source <(a-tool print bash)", "complete -F _a-tool a-tool old-tool",
          "${COMP_WORDS[@]:1:COMP_CWORD}"}},
        {"zsh", {"#compdef a-tool old-tool\n", "source <(a-tool print zsh)", "    _a-tool \"$@\"\n"}},
        {"fish",
         {"a-tool print fish | source", "function __a-tool_complete", "for name in a-tool old-tool\n"}},
    };

    CHECK_ROWS (row, cases) {
        AUTO(str) struct str out = {0};

        CHECK(opts_completion_script(row->shell, "a-tool old-tool", "a-tool print", &out));
        for (size_t i = 0; i < COUNT_OF(row->has); i++)
            CHECK_HAS(str_text(&out), row->has[i]);
    }
}
