#include "vipu/cli/args/help.h"

#include "base/core/mem.h"
#include "base/options/opts_man.h"
#include "vipu/cli/args/grammar.h"
#include "vipu/cli/args/options.h"

static void add_commands(const struct strv *words, struct str *out)
{
    for (const struct command *c = grammar; c->verb; c++) {
        AUTO(str) struct str usage = {0};

        if (!c->about || !grammar_begins_with(c, words))
            continue;
        grammar_usage(c, &usage);
        opts_help_row(str_text(&usage), c->about, out);
    }
}

void help_text(struct str *out)
{
    AUTO(str) struct str about = {0};
    struct opts_spec spec = options_spec;

    str_addf(&about, "%s\n\nCommands:\n", spec.about);
    add_commands(&(struct strv){0}, &about);
    about.ptr[--about.len] = '\0';
    spec.about = str_text(&about);
    opts_help(&spec, out);
}

static void add_options(const struct command *command, bool special, struct str *out)
{
    for (const struct opt *row = options_spec.rows; row->flag; row++)
        if (row->help && grammar_is_special(row->flag) == special &&
            (!special || grammar_takes(command, row->flag)))
            opts_help_option(row, out);
}

static void help_command(const struct command *command, struct str *out)
{
    AUTO(str) struct str usage = {0};

    grammar_usage(command, &usage);
    str_addf(out, "Usage: vipu %s\n\n", str_text(&usage));
    str_addf(out, "%s\n", command->about);
    if (*command->options)
        str_adds(out, "\nOptions of this command:\n");
    add_options(command, true, out);
    str_adds(out, "\nOptions of all commands:\n");
    add_options(command, false, out);
}

void help_of(const struct strv *words, struct str *out)
{
    const struct command *found = NULL;
    size_t count = 0;

    for (const struct command *c = grammar; c->verb; c++)
        if (c->about && grammar_begins_with(c, words)) {
            found = c;
            count++;
        }
    if (words->count == 0 || count == 0) {
        help_text(out);
    } else if (count == 1) {
        help_command(found, out);
    } else {
        str_addf(out, "Usage: vipu %s KIND ...\n\nCommands:\n", words->items[0]);
        add_commands(words, out);
        str_adds(out, "\nFor the options of one of them, see `vipu help VERB KIND`.\n");
    }
}

static void add_command_entries(struct str *out)
{
    roff_section("COMMANDS", out);
    for (const struct command *c = grammar; c->verb; c++) {
        AUTO(str) struct str usage = {0}, text = {0};

        if (!c->about)
            continue;
        grammar_usage(c, &usage);
        str_adds(&text, c->about);
        str_adds(&text, *c->options ? "; options: " : "");
        for (const struct opt *row = options_spec.rows; row->flag; row++)
            if (row->help && grammar_takes(c, row->flag))
                str_addf(&text, "%s--%s", str_has_suffix(str_text(&text), ": ") ? "" : ", ", row->flag);
        roff_entry(str_text(&usage), str_text(&text), out);
    }
}

static void add_closing(struct str *out)
{
    roff_section("CONFIGURATION, EXIT STATUS", out);
    roff_text(options_spec.footer, out);
    str_addc(out, '\n');
    roff_section("FILES", out);
    roff_entry(OPTIONS_DEFAULT_FILE, "default configuration file, see --config", out);
    roff_entry("~/.ipuof.conf.d/",
               "IPUoF files: ID_ipuof.conf, or ID_gcdN_ipuof.conf for each of several GCDs", out);
    roff_section("EXAMPLES", out);
    roff_entry("vipu create partition p1 --size 16 --reconfigurable",
               "a partition of 16 IPUs for any program", out);
    roff_entry("vipu get partition p1 --gcd 0 --ipuof-configs", "the IPUoF file of its first GCD", out);
    roff_section("SEE ALSO", out);
    str_adds(out, ".BR gc-info (1),\n.BR gc-monitor (1),\n.BR vipu-server (1)\n");
}

void help_man(struct str *out)
{
    AUTO(str) struct str commands = {0}, closing = {0};
    struct opts_man man = {.summary = "command line of a V-IPU controller",
                           .version = "ipu-operator " IPU_OPERATOR_VERSION};

    add_command_entries(&commands);
    add_closing(&closing);
    man.commands = str_text(&commands);
    man.closing = str_text(&closing);
    opts_man(&options_spec, &man, out);
}
