#include "launcher/poprun/options/usage_output.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/options/opts_man.h"
#include "launcher/poprun/options/option.h"

enum { HELP_COLUMN = 44, HELP_WIDTH = 100 };

#define USAGE "poprun [options] program [program args]"
#define ABOUT                                                                                                \
    "Runs a program in one or more instances with mpirun, each with its share of the model replicas and of " \
    "a V-IPU partition. The first word that is not an option is the program; everything after it belongs "   \
    "to the program. A name may be shortened as long as it stays unambiguous; --name value and "             \
    "--name=value are the same."
#define EXIT_STATUS                                                                                          \
    "That of mpirun, which is not 0 if an instance fails; 127 if the program was not found, 126 if it is "   \
    "not "                                                                                                   \
    "executable; 128 + n if signal n ended it; 1 if poprun itself fails."

static const char *const group_titles[] = {
    [OPTION_GENERIC] = "Generic options", [OPTION_LAUNCH] = "Configuration options"};

/* The text from `column` on, wrapped before HELP_WIDTH; `used` columns of the line are taken. */
static void add_wrapped(const char *text, size_t used, size_t column, struct str *out)
{
    while (*text) {
        size_t word = strcspn(text, " ");

        if (used > column && used + 1 + word > HELP_WIDTH) {
            (void)str_addc(out, '\n');
            used = 0;
        }
        (void)(used > column ? str_addc(out, ' ') : str_addf(out, "%*s", (int)(column - used), ""));
        used = (used > column ? used + 1 : column) + word;
        (void)str_add(out, text, word);
        text += word + strspn(text + word, " ");
    }
    (void)str_addc(out, '\n');
}

static void describe(const struct option_row *row, struct str *text)
{
    (void)str_adds(text, row->help);
    for (int i = 0; row->choices && row->choices[i]; i++)
        (void)str_addf(text, "%s %s", i ? "," : ":", row->choices[i]);
}

/* As Boost.Program_options prints a row: "-H [ --host ] LIST", "--num-replicas N (=1)". */
static void add_row(const struct option_row *row, struct str *out)
{
    AUTO(str) struct str head = {0}, text = {0};

    if (row->letter)
        (void)str_addf(&head, "  -%c [ --%s ]", row->letter, row->name);
    else
        (void)str_addf(&head, "  --%s", row->name);
    if (row->arg)
        (void)str_addf(&head, " %s", row->arg);
    if (row->fallback)
        (void)str_addf(&head, " (=%s)", row->fallback);
    describe(row, &text);
    (void)str_adds(out, str_text(&head));
    if (head.len >= HELP_COLUMN)
        (void)str_addc(out, '\n');
    add_wrapped(str_text(&text), head.len >= HELP_COLUMN ? 0 : head.len, HELP_COLUMN, out);
}

void usage_help(struct str *out)
{
    (void)str_adds(out, "Usage: " USAGE "\n\n");
    add_wrapped(ABOUT, 0, 0, out);
    for (int group = 0; group < OPTION_GROUPS; group++) {
        (void)str_addf(out, "\n%s:\n", group_titles[group]);
        for (const struct option_row *row = option_rows; row->name; row++)
            if ((int)row->group == group)
                add_row(row, out);
    }
    (void)str_addc(out, '\n');
    add_wrapped("Exit status: " EXIT_STATUS, 0, 0, out);
}

void usage_man(struct str *out)
{
    (void)str_adds(out, ".TH POPRUN 1 \"\" \"poprun " IPU_OPERATOR_VERSION "\"\n");
    roff_section("NAME", out);
    roff_text("poprun - run a program in several instances on IPUs\n", out);
    roff_section("SYNOPSIS", out);
    roff_text(USAGE "\n", out);
    roff_section("DESCRIPTION", out);
    roff_text(ABOUT "\n", out);
    roff_section("OPTIONS", out);
    for (const struct option_row *row = option_rows; row->name; row++) {
        AUTO(str) struct str head = {0}, text = {0};

        if (row->letter)
            (void)str_addf(&head, "-%c, ", row->letter);
        (void)str_addf(&head, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
        describe(row, &text);
        if (row->fallback)
            (void)str_addf(&text, " (default %s)", row->fallback);
        roff_entry(str_text(&head), str_text(&text), out);
    }
    roff_section("EXIT STATUS", out);
    roff_text(EXIT_STATUS "\n", out);
}

static bool is_path(const struct option_row *row)
{
    return row->arg && (strcmp(row->arg, "FILE") == 0 || strcmp(row->arg, "DIR") == 0);
}

/* The possible values, separated by spaces: "yes no", or "" if the table does not define them. */
static void add_values(const struct option_row *row, struct str *out)
{
    if (row->type == OPTION_BOOL)
        (void)str_adds(out, "yes no");
    for (int i = 0; row->choices && row->choices[i]; i++)
        (void)str_addf(out, "%s%s", i ? " " : "", row->choices[i]);
}

static void add_bash(struct str *out)
{
    (void)str_adds(out, "# Completion of poprun for bash. Load it with:  source <(poprun __completion bash)\n"
                        "_poprun() {\n"
                        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i\n"
                        "    [[ $word == = ]] && word=\n"
                        "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
                        "    case $before in\n");
    for (const struct option_row *row = option_rows; row->name; row++) {
        AUTO(str) struct str values = {0};

        add_values(row, &values);
        if (values.len)
            (void)str_addf(out, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
                           row->name, str_text(&values));
        else if (is_path(row))
            (void)str_addf(out, "    --%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", row->name);
    }
    (void)str_adds(out, "    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W '");
    for (const struct option_row *row = option_rows; row->name; row++)
        (void)str_addf(out, "%s--%s", row == option_rows ? "" : " ", row->name);
    (void)str_adds(out, "' -- \"$word\"))\n"
                        "    else\n"
                        "        COMPREPLY=($(compgen -c -f -- \"$word\"))\n"
                        "    fi\n"
                        "}\n"
                        "complete -F _poprun poprun\n");
}

/* In single quotes, and without the characters that are special to _arguments. */
static void add_zsh_text(const char *text, struct str *out)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            (void)str_addc(out, '\\');
        if (*text == '\'')
            (void)str_adds(out, "'\\''");
        else
            (void)str_addc(out, *text);
    }
}

static void add_zsh(struct str *out)
{
    (void)str_adds(out, "#compdef poprun\n"
                        "# Completion of poprun for zsh. Put it into a folder of $fpath as _poprun.\n"
                        "_arguments -S \\\n");
    for (const struct option_row *row = option_rows; row->name; row++) {
        AUTO(str) struct str values = {0};

        add_values(row, &values);
        (void)str_addf(out, "  '%s--%s%s[", row->type == OPTION_LIST ? "*" : "", row->name,
                       row->arg ? "=" : "");
        add_zsh_text(row->help, out);
        (void)str_addc(out, ']');
        if (values.len)
            (void)str_addf(out, ":%s:(%s)", row->arg, str_text(&values));
        else if (row->arg) {
            (void)str_addc(out, ':');
            add_zsh_text(row->arg, out);
            (void)str_adds(out, is_path(row) ? ":_files" : ":");
        }
        (void)str_adds(out, "' \\\n");
    }
    (void)str_adds(out, "  '*:::program:_normal'\n");
}

static void add_fish(struct str *out)
{
    (void)str_adds(out,
                   "# Completion of poprun for fish. Load it with:  poprun __completion fish | source\n");
    for (const struct option_row *row = option_rows; row->name; row++) {
        AUTO(str) struct str values = {0};

        add_values(row, &values);
        (void)str_addf(out, "complete -c poprun -l %s", row->name);
        if (row->letter)
            (void)str_addf(out, " -s %c", row->letter);
        if (values.len)
            (void)str_addf(out, " -x -a '%s'", str_text(&values));
        else if (row->arg)
            (void)str_adds(out, is_path(row) ? " -r" : " -x");
        (void)str_adds(out, " -d '");
        for (const char *at = row->help; *at; at++)
            (void)(*at == '\'' || *at == '\\' ? str_addf(out, "\\%c", *at) : str_addc(out, *at));
        (void)str_adds(out, "'\n");
    }
}

bool usage_completion(const char *shell, struct str *out)
{
    static const struct {
        const char *shell;
        void (*add)(struct str *out);
    } shells[] = {{"bash", add_bash}, {"zsh", add_zsh}, {"fish", add_fish}};

    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (strcmp(shells[i].shell, shell) != 0)
            continue;
        shells[i].add(out);
        return true;
    }
    return false;
}
