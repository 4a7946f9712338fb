#include "vipu/cli/args/help.h"

#include "base/core/mem.h"
#include "base/core/opts_man.h"
#include "vipu/cli/args/grammar.h"
#include "vipu/cli/args/options.h"

static void add_commands(struct str *out)
{
    for (const struct command *c = grammar; c->verb; c++) {
        AUTO(str) struct str usage = {0};

        if (!c->about)
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
    add_commands(&about);
    about.ptr[--about.len] = '\0';
    spec.about = str_text(&about);
    opts_help(&spec, out);
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
