#include "base/options/opts_man.h"

#include <string.h>

#include "base/core/mem.h"

/* At the start of a line '.' and '\'' would be requests; an unescaped '-' may be shown as a hyphen, which
 * does not work when pasted into a shell. */
void roff_text(const char *text, struct str *out)
{
    bool at_start = true;

    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            str_adds(out, "\\&");
        if (*text == '\\')
            str_adds(out, "\\e");
        else if (*text == '-')
            str_adds(out, "\\-");
        else
            str_addc(out, *text);
        at_start = *text == '\n';
    }
}

void roff_section(const char *title, struct str *out)
{
    str_addf(out, ".SH %s\n", title);
}

void roff_entry(const char *head, const char *text, struct str *out)
{
    str_adds(out, ".TP\n\\fB");
    roff_text(head, out);
    str_adds(out, "\\fR\n");
    roff_text(text, out);
    str_addc(out, '\n');
}

static void add_head(const struct opt *row, struct str *head)
{
    if (row->letter)
        str_addf(head, "-%c, ", row->letter);
    str_addf(head, "--%s", row->flag);
    if (row->type != OPT_FLAG)
        str_addf(head, " %s", row->arg ? row->arg : "VALUE");
}

static void add_options(const struct opts_spec *spec, struct str *out)
{
    roff_section("OPTIONS", out);
    for (const struct opt *row = spec->rows; row->flag; row++) {
        AUTO(str) struct str head = {0}, text = {0};

        if (!row->help)
            continue;
        add_head(row, &head);
        opts_describe(row, &text);
        roff_entry(str_text(&head), str_text(&text), out);
    }
    roff_entry(opts_has_letter(spec, 'h') ? "--help" : "-h, --help", OPTS_HELP_TEXT, out);
    if (!opts_find(spec, "version"))
        roff_entry("--version", OPTS_VERSION_TEXT, out);
}

static void add_environment(const struct opts_spec *spec, struct str *out)
{
    bool has_any = false;

    for (const struct opt *row = spec->rows; row->flag; row++) {
        AUTO(mem) char *text = NULL;

        if (!row->help || !row->env)
            continue;
        if (!has_any)
            roff_section("ENVIRONMENT", out);
        has_any = true;
        text = mem_printf("the same as --%s", row->flag);
        roff_entry(row->env, text, out);
    }
}

static void add_name(const char *program, struct str *out)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz", large[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (; *program; program++) {
        const char *found = strchr(small, *program);

        str_add(out, found ? &large[found - small] : program, 1);
    }
}

void opts_man(const struct opts_spec *spec, const struct opts_man *man, struct str *out)
{
    str_adds(out, ".TH ");
    add_name(spec->program, out);
    str_addf(out, " 1 \"\" \"%s\"\n", man->version);
    roff_section("NAME", out);
    roff_text(spec->program, out);
    str_adds(out, " \\- ");
    roff_text(man->summary, out);
    str_addc(out, '\n');
    roff_section("SYNOPSIS", out);
    str_adds(out, ".nf\n");
    roff_text(spec->usage, out);
    str_adds(out, "\n.fi\n");
    roff_section("DESCRIPTION", out);
    roff_text(spec->about, out);
    str_addc(out, '\n');
    if (man->commands)
        str_adds(out, man->commands);
    add_options(spec, out);
    add_environment(spec, out);
    if (man->closing)
        str_adds(out, man->closing);
}
