#include "base/options/opts_completion.h"

#include <string.h>

#include "base/core/mem.h"

/* The option of a word such as "--size", "--size=4" or "-H", or NULL. */
static const struct opt *option_of(const struct opts_spec *spec, const char *word)
{
    size_t len = strcspn(word, "=");

    for (const struct opt *row = spec->rows; row->flag; row++) {
        if (str_has_prefix(word, "--") && strlen(row->flag) == len - 2 &&
            strncmp(row->flag, word + 2, len - 2) == 0)
            return row;
        if (word[0] == '-' && word[1] && word[1] == row->letter && !word[2])
            return row;
    }
    return NULL;
}

/* bash treats "=" as a word of its own. */
static void look_back(const struct opts_spec *spec, const struct strv *words, struct opts_completion *c)
{
    for (size_t i = 0; i + 1 < words->count; i++) {
        const char *word = words->items[i];
        const struct opt *row = option_of(spec, word);

        if (str_eq(word, "="))
            continue;
        if (c->value)
            c->value = NULL;
        else if (row && row->type != OPT_FLAG && !strchr(word, '='))
            c->value = row;
        else if (word[0] != '-')
            strv_push(&c->before, word);
    }
}

void opts_completion_begin(const struct opts_spec *spec, const struct strv *words,
                           struct opts_completion *ret)
{
    const char *last = words->count ? words->items[words->count - 1] : "", *equals = strchr(last, '=');

    *ret = (struct opts_completion){0};
    look_back(spec, words, ret);
    if (!ret->value && str_has_prefix(last, "--") && equals && (ret->value = option_of(spec, last))) {
        str_add(&ret->lead, last, (size_t)(equals - last) + 1);
        last = equals + 1;
    } else if (str_eq(last, "=")) {
        last = "";
    }
    str_adds(&ret->typed, last);
}

void opts_completion_offer(struct opts_completion *c, const char *word, const char *about)
{
    if (str_has_prefix(word, str_text(&c->typed)))
        strv_pushf(&c->candidates, "%s%s\t%s", str_text(&c->lead), word, about);
}

void opts_completion_offer_option(struct opts_completion *c, const struct opt *row)
{
    AUTO(mem) char *word = mem_printf("--%s", row->flag);

    opts_completion_offer(c, word, row->help);
}

void opts_completion_offer_help(struct opts_completion *c)
{
    opts_completion_offer(c, "--help", OPTS_HELP_TEXT);
    opts_completion_offer(c, "--version", OPTS_VERSION_TEXT);
}

void opts_completion_offer_values(struct opts_completion *c)
{
    for (size_t i = 0; c->value->choices && c->value->choices[i]; i++)
        opts_completion_offer(c, c->value->choices[i], "");
    c->files = str_eq(c->value->arg, "FILE") || str_eq(c->value->arg, "DIR");
}

void opts_completion_print(const struct opts_completion *c, struct str *out)
{
    for (size_t i = 0; i < c->candidates.count; i++)
        str_addf(out, "%s\n", c->candidates.items[i]);
    if (c->files)
        str_adds(out, ":files\n");
}

void opts_completion_release(struct opts_completion *c)
{
    strv_release(&c->candidates);
    str_release(&c->lead);
    str_release(&c->typed);
    strv_release(&c->before);
}

static void complete(const struct opts_spec *spec, const struct opts_command *commands, int argc, char **argv,
                     struct str *out)
{
    AUTO(opts_completion) struct opts_completion c = {0};
    AUTO(strv) struct strv words = {0};

    for (int i = 0; i < argc; i++)
        strv_push(&words, argv[i]);
    opts_completion_begin(spec, &words, &c);
    if (c.value) {
        opts_completion_offer_values(&c);
    } else if (*str_text(&c.typed) == '-') {
        for (const struct opt *row = spec->rows; row->flag; row++)
            if (row->help)
                opts_completion_offer_option(&c, row);
        opts_completion_offer_help(&c);
    } else if (commands && c.before.count == 0) {
        for (const struct opts_command *command = commands; command->name; command++)
            opts_completion_offer(&c, command->name, command->about);
    }
    opts_completion_print(&c, out);
}

bool opts_completion_answer(const struct opts_spec *spec, const struct opts_command *commands, int argc,
                            char **argv, struct str *out)
{
    AUTO(mem) char *source = mem_printf("%s __completion", spec->program);

    if (argc > 1 && str_eq(argv[1], "__complete"))
        complete(spec, commands, argc - 2, argv + 2, out);
    else if (argc != 3 || !str_eq(argv[1], "__completion") ||
             !opts_completion_script(argv[2], spec->program, source, out))
        return false;
    return true;
}

/* @P is the program, @N all its names, @S the command that prints the script. A script calls the program by
 * the name in the command line, so that the program that completes is the one that will run. */
static const char bash[] =
    "# Completion of @P for bash. Load it with:  source <(@S bash)\n"
    "_@P() {\n"
    "    local line typed=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"${typed#=}\")\n"
    "            compopt -o filenames 2>/dev/null\n"
    "        else\n"
    "            COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _@P @N\n";

static const char zsh[] =
    "#compdef @N\n"
    "# Completion of @P for zsh. Put it into a folder of $fpath as _@P, or load it with:\n"
    "#   source <(@S zsh)\n"
    "_@P() {\n"
    "    local line word about\n"
    "    local -a found shown\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            _files\n"
    "            continue\n"
    "        fi\n"
    "        word=${line%%$'\\t'*}\n"
    "        about=${line#*$'\\t'}\n"
    "        found+=(\"$word\")\n"
    "        shown+=(\"$word${about:+  -- $about}\")\n"
    "    done < <(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    (( ${#found} )) && compadd -l -d shown -a found\n"
    "}\n"
    "if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n"
    "    _@P \"$@\"\n"
    "else\n"
    "    compdef _@P @N\n"
    "fi\n";

static const char fish[] = "# Completion of @P for fish. Load it with:  @S fish | source\n"
                           "function __@P_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)\n"
                           "        if test \"$line\" = :files\n"
                           "            __fish_complete_path (commandline -ct)\n"
                           "        else\n"
                           "            echo $line\n"
                           "        end\n"
                           "    end\n"
                           "end\n"
                           "for name in @N\n"
                           "    complete -c $name -f -a '(__@P_complete)'\n"
                           "end\n";

bool opts_completion_script(const char *shell, const char *names, const char *source, struct str *out)
{
    static const char *const shells[] = OPTS_COMPLETION_SHELLS, *const scripts[] = {bash, zsh, fish};
    const char *at = NULL;

    for (size_t i = 0; shells[i]; i++)
        if (str_eq(shells[i], shell))
            at = scripts[i];
    for (const char *next = at; next; at = next) {
        next = strpbrk(at, "@");
        str_add(out, at, next ? (size_t)(next - at) : strlen(at));
        if (!next)
            return true;
        if (next[1] == 'P')
            str_add(out, names, strcspn(names, " "));
        else if (next[1] == 'N')
            str_adds(out, names);
        else if (next[1] == 'S')
            str_adds(out, source);
        else
            str_add(out, next, 2);
        next += 2;
    }
    return false;
}
