#include "launcher/poprun/options/usage_output.h"

#include "base/core/mem.h"
#include "launcher/poprun/options/option.h"
#include "launcher/poprun/options/settings.h"
#include "lib/check.h"

/* One table: whatever lists options lists each of its rows. */
TEST(every_option_is_on_every_page)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    AUTO(str) struct str help = {0}, man = {0};

    usage_help(&help);
    usage_man(&man);
    for (const struct option_row *row = option_rows; row->name; row++) {
        AUTO(mem) char *flag = mem_printf("--%s", row->name);
        AUTO(str) struct str escaped = {0};

        for (const char *at = flag; *at; at++)
            (void)str_addf(&escaped, *at == '-' ? "\\%c" : "%c", *at);
        CHECK_HAS(str_text(&help), flag);
        CHECK_HAS(str_text(&man), str_text(&escaped));
    }
    CHECK_ROWS (shell, shells) {
        AUTO(str) struct str script = {0};

        CHECK(usage_completion(*shell, &script));
        for (const struct option_row *row = option_rows; row->name; row++) {
            AUTO(mem) char *flag = mem_printf("%s%s", str_eq(*shell, "fish") ? "-l " : "--", row->name);

            CHECK_HAS(str_text(&script), flag);
        }
    }
}

TEST(every_lasting_option_is_a_setting_of_a_file)
{
    for (const struct option_row *row = option_rows; row->name; row++) {
        AUTO(mem) char *line = mem_printf("%s=1\n", row->name);
        AUTO(settings) struct settings settings = {0};
        AUTO(strv) struct strv problems = {0};

        settings_read_file(&settings, slice_of(line), "x.conf", &problems);
        CHECK_INT_EQ(problems.count, row->is_cli_only ? 1 : 0);
        CHECK_INT_EQ(settings_has(&settings, row), !row->is_cli_only);
    }
}

/* On record: help is laid out as -H [ --host ] arg and -v [ --verbose ]. */
TEST(help_looks_as_the_guide_shows_it)
{
    AUTO(str) struct str help = {0};

    usage_help(&help);
    CHECK_HAS(str_text(&help), "\n  -H [ --host ] LIST  ");
    CHECK_HAS(str_text(&help), "\n  -v [ --verbose ]  ");
    CHECK_HAS(str_text(&help), "\n  --num-replicas N (=1)  ");
    CHECK_HAS(str_text(&help), "Configuration options:\n");
}

TEST(there_is_no_completion_for_other_shells)
{
    AUTO(str) struct str script = {0};

    CHECK(!usage_completion("csh", &script));
    CHECK_INT_EQ(script.len, 0);
}
