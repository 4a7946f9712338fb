#include "base/options/opts.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"

enum { HELP_COLUMN = 34, HELP_WIDTH = 100, COMMAND_WORDS = 2 };

static void *place(const struct opt *row, void *target)
{
    return (char *)target + row->offset;
}

static bool set_flag(const struct opt *row, void *target, const char *text, struct err *err)
{
    bool on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

    if (!on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return err_set(err, ERR_INVALID, "--%s: expected true or false, got \"%s\"", row->flag, text);
    *(bool *)place(row, target) = on;
    return true;
}

static bool set_u32(const struct opt *row, void *target, const char *text, struct err *err)
{
    if (!parse_u32(text, row->min, row->max, place(row, target)))
        return err_set(err, ERR_INVALID, "--%s: expected a number%s from %u to %u, got \"%s\"", row->flag,
                       str_eq(row->arg, "SECONDS") ? " of seconds" : "", row->min, row->max, text);
    return true;
}

static bool set_choice(const struct opt *row, void *target, const char *text, struct err *err)
{
    AUTO(str) struct str all = {0};

    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *(int *)place(row, target) = i;
            return true;
        }
        (void)str_addf(&all, "%s%s", i ? ", " : "", row->choices[i]);
    }
    return err_set(err, ERR_INVALID, "--%s: expected one of %s, got \"%s\"", row->flag, str_text(&all), text);
}

bool opts_set(const struct opt *row, void *target, const char *text, struct err *err)
{
    switch (row->type) {
    case OPT_FLAG:
        return set_flag(row, target, text, err);
    case OPT_STR:
        mem_set_str(place(row, target), text);
        return true;
    case OPT_U32:
        return set_u32(row, target, text, err);
    case OPT_CHOICE:
        return set_choice(row, target, text, err);
    case OPT_LIST:
        strv_push(place(row, target), text);
        return true;
    }
    return err_set(err, ERR_INTERNAL, "--%s: the table row has no type", row->flag);
}

static void clear(const struct opt *row, void *target)
{
    switch (row->type) {
    case OPT_FLAG:
        *(bool *)place(row, target) = false;
        break;
    case OPT_STR:
        mem_set_str(place(row, target), NULL);
        break;
    case OPT_U32:
        *(uint32_t *)place(row, target) = 0;
        break;
    case OPT_CHOICE:
        *(int *)place(row, target) = 0;
        break;
    case OPT_LIST:
        strv_release(place(row, target));
        break;
    }
}

void opts_defaults(const struct opts_spec *spec, void *target)
{
    struct err err;

    for (const struct opt *row = spec->rows; row->flag; row++) {
        bool fits = true;

        if (!row->help)
            continue; /* its field is set by another row */
        if (row->fallback)
            fits = opts_set(row, target, row->fallback, &err);
        else
            clear(row, target);
        assert(fits); /* a default that does not fit its own row is a bug of the table */
        (void)fits;
    }
}

void opts_release(const struct opts_spec *spec, void *target)
{
    for (const struct opt *row = spec->rows; row->flag; row++) {
        if (row->type == OPT_STR || row->type == OPT_LIST)
            clear(row, target);
    }
}

static const struct opt *find_flag(const struct opts_spec *spec, const char *name, size_t len)
{
    for (const struct opt *row = spec->rows; row->flag; row++) {
        if (strlen(row->flag) == len && strncmp(row->flag, name, len) == 0)
            return row;
    }
    return NULL;
}

const struct opt *opts_find(const struct opts_spec *spec, const char *flag)
{
    return find_flag(spec, flag, strlen(flag));
}

static const struct opt *find_letter(const struct opts_spec *spec, char letter)
{
    for (const struct opt *row = spec->rows; row->flag; row++) {
        if (row->letter == letter)
            return row;
    }
    return NULL;
}

/* One pass over argv. */
struct scan {
    const struct opts_spec *spec;
    char **argv;
    int argc;
    int at; /* the argument being read */
    void *target;
    struct strv *words;
    struct strv *problems;
    struct strv given;      /* flags with values */
    enum opts_result asked; /* OPTS_HELP or OPTS_VERSION once seen */
};

/* A value that would be lost without a word. */
static void note_given(struct scan *scan, const struct opt *row)
{
    size_t times = 0;

    if (row->type == OPT_FLAG || row->type == OPT_LIST || !scan->spec->once)
        return;
    for (size_t i = 0; i < scan->given.count; i++)
        times += strcmp(scan->given.items[i], row->flag) == 0;
    if (times < 2)
        strv_push(&scan->given, row->flag);
    if (times == 1)
        strv_pushf(scan->problems, "--%s is given more than once", row->flag);
}

static void give(struct scan *scan, const struct opt *row, const char *text)
{
    struct err err;

    note_given(scan, row);
    if (!opts_set(row, scan->target, text, &err))
        strv_push(scan->problems, err.msg);
}

/* The value of the row: the rest of the same argument, or the next argument. */
static void take_value(struct scan *scan, const struct opt *row, const char *attached)
{
    if (attached)
        give(scan, row, attached);
    else if (row->type == OPT_FLAG)
        give(scan, row, "true");
    else if (scan->at + 1 < scan->argc)
        give(scan, row, scan->argv[++scan->at]);
    else
        strv_pushf(scan->problems, "--%s requires a value: --%s %s", row->flag, row->flag,
                   row->arg ? row->arg : "VALUE");
}

/* Whether the option that may have been meant has a value. */
static bool reject_long(struct scan *scan, const char *name, size_t len)
{
    AUTO(mem) char *word = mem_strndup(name, len < 200 ? len : 200);
    struct suggest suggest = suggest_init(word);
    const struct opt *meant;

    for (const struct opt *row = scan->spec->rows; row->flag; row++)
        if (row->help)
            suggest_candidate(&suggest, row->flag);
    suggest_candidate(&suggest, "help");
    suggest_candidate(&suggest, "version");
    if (!suggest_best(&suggest)) {
        strv_pushf(scan->problems, "unknown option --%s; see %s --help", word, scan->spec->program);
        return true;
    }
    strv_pushf(scan->problems, "unknown option --%s; did you mean --%s?", word, suggest_best(&suggest));
    meant = opts_find(scan->spec, suggest_best(&suggest));
    return meant && meant->type != OPT_FLAG;
}

/* Of an unknown option. A word that may be a command is none. */
static void skip_value(struct scan *scan)
{
    const char *next = scan->at + 1 < scan->argc ? scan->argv[scan->at + 1] : "-";
    bool is_command = scan->words && scan->words->count < COMMAND_WORDS && isalpha((unsigned char)*next);

    if (*next != '-' && !is_command)
        scan->at++;
}

static void scan_long(struct scan *scan, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct opt *row = find_flag(scan->spec, name, len);

    if (row) {
        take_value(scan, row, equals ? equals + 1 : NULL);
    } else if (strcmp(name, "help") == 0) {
        scan->asked = OPTS_HELP;
    } else if (strcmp(name, "version") == 0) {
        scan->asked = OPTS_VERSION;
    } else if (reject_long(scan, name, len) && !equals) {
        skip_value(scan);
    }
}

/* "-xyz": flags may be bundled; the first letter that takes a value has the rest of the argument, or the next
 * one. */
static void scan_letters(struct scan *scan, const char *letters)
{
    for (; *letters; letters++) {
        const struct opt *row = find_letter(scan->spec, *letters);
        if (row && row->type != OPT_FLAG) {
            const char *rest = letters[1] == '=' ? letters + 2 : letters + 1;
            take_value(scan, row, letters[1] ? rest : NULL);
            return;
        }
        if (row) {
            give(scan, row, "true");
        } else if (*letters == 'h') {
            scan->asked = OPTS_HELP;
        } else {
            strv_pushf(scan->problems, "unknown option -%.200s; see %s --help", letters, scan->spec->program);
            skip_value(scan);
            return;
        }
    }
}

static void scan_environment(struct scan *scan, const char *(*env)(const char *))
{
    for (const struct opt *row = scan->spec->rows; row->flag; row++) {
        const char *text = row->env ? env(row->env) : NULL;
        struct err err;

        if (text && *text && !opts_set(row, scan->target, text, &err)) {
            (void)err_wrap(&err, "variable %s", row->env);
            strv_push(scan->problems, err.msg);
        }
    }
}

static void take_word(struct scan *scan, const char *word)
{
    if (scan->words)
        strv_push(scan->words, word);
    else
        strv_pushf(scan->problems, "unexpected argument \"%.200s\"; see %s --help", word,
                   scan->spec->program);
}

static void scan_words(struct scan *scan, int from)
{
    for (scan->at = from; scan->at < scan->argc; scan->at++)
        take_word(scan, scan->argv[scan->at]);
}

static void scan_arguments(struct scan *scan, bool stop_at_word)
{
    for (scan->at = 1; scan->at < scan->argc; scan->at++) {
        const char *arg = scan->argv[scan->at];

        if (strcmp(arg, "--") == 0) {
            scan_words(scan, scan->at + 1);
        } else if (arg[0] == '-' && arg[1] == '-') {
            scan_long(scan, arg + 2);
        } else if (arg[0] == '-' && arg[1]) {
            scan_letters(scan, arg + 1);
        } else if (stop_at_word) {
            scan_words(scan, scan->at);
        } else {
            take_word(scan, arg);
        }
    }
}

enum opts_result opts_overlay(const struct opts_spec *spec, int argc, char **argv,
                              const char *(*env)(const char *), bool stop_at_word, void *target,
                              struct strv *words, struct strv *problems)
{
    struct scan scan = {.spec = spec,
                        .argv = argv,
                        .argc = argc,
                        .target = target,
                        .words = words,
                        .problems = problems,
                        .asked = OPTS_RUN};
    size_t known = problems->count;

    if (env)
        scan_environment(&scan, env);
    scan_arguments(&scan, stop_at_word);
    strv_release(&scan.given);
    if (scan.asked != OPTS_RUN)
        return scan.asked;
    return problems->count > known ? OPTS_BAD : OPTS_RUN;
}

enum opts_result opts_parse(const struct opts_spec *spec, int argc, char **argv,
                            const char *(*env)(const char *), bool stop_at_word, void *target,
                            struct strv *words, struct strv *problems)
{
    opts_defaults(spec, target);
    return opts_overlay(spec, argc, argv, env, stop_at_word, target, words, problems);
}

static void pad(struct str *out, size_t line_start, size_t column)
{
    while (out->len - line_start < column && str_addc(out, ' ')) {
    }
}

/* Wraps text at spaces so that it stays between `column` and HELP_WIDTH; its own line breaks are kept. */
static void add_wrapped(struct str *out, size_t line_start, size_t column, const char *text)
{
    bool at_start = true;

    while (*text) {
        size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " \n");

        if (!at_start && word && out->len - line_start + blanks + word > HELP_WIDTH) {
            (void)str_addc(out, '\n');
            line_start = out->len;
            pad(out, line_start, column);
            text += blanks;
            blanks = 0;
        }
        (void)str_add(out, text, blanks + word);
        text += blanks + word;
        at_start = *text == '\n';
        if (at_start) {
            (void)str_addc(out, *text++);
            line_start = out->len;
        }
    }
}

bool opts_has_letter(const struct opts_spec *spec, char letter)
{
    return find_letter(spec, letter) != NULL;
}

void opts_describe(const struct opt *row, struct str *text)
{
    (void)str_adds(text, row->help);
    if (row->type == OPT_CHOICE) {
        (void)str_adds(text, ":");
        for (int i = 0; row->choices[i]; i++)
            (void)str_addf(text, "%s %s", i ? "," : "", row->choices[i]);
    }
    if (row->fallback && row->type != OPT_FLAG)
        (void)str_addf(text, " (default %s)", row->fallback);
    if (row->env)
        (void)str_addf(text, " [%s]", row->env);
}

void opts_help_row(const char *head, const char *text, struct str *out)
{
    size_t line_start = out->len;

    (void)str_addf(out, "  %s", head);
    if (out->len - line_start + 2 > HELP_COLUMN) {
        (void)str_addc(out, '\n');
        line_start = out->len;
    }
    pad(out, line_start, HELP_COLUMN);
    add_wrapped(out, line_start, HELP_COLUMN, text);
    (void)str_addc(out, '\n');
}

static void add_row(struct str *out, char letter, const char *flag, const char *arg, const char *text)
{
    char short_form[] = {'-', letter, ',', ' ', '\0'};
    AUTO(mem)
    char *head = mem_printf("%s--%s%s%s", letter ? short_form : "    ", flag, arg ? " " : "", arg ? arg : "");

    opts_help_row(head, text, out);
}

void opts_help_option(const struct opt *row, struct str *out)
{
    AUTO(str) struct str text = {0};

    opts_describe(row, &text);
    add_row(out, row->letter, row->flag,
            row->type == OPT_FLAG ? NULL
            : row->arg            ? row->arg
                                  : "VALUE",
            str_text(&text));
}

void opts_help(const struct opts_spec *spec, struct str *out)
{
    (void)str_addf(out, "Usage: %s\n\n", spec->usage);
    add_wrapped(out, out->len, 0, spec->about);
    (void)str_adds(out, "\n\nOptions:\n");
    for (const struct opt *row = spec->rows; row->flag; row++)
        if (row->help)
            opts_help_option(row, out);
    add_row(out, opts_has_letter(spec, 'h') ? 0 : 'h', "help", NULL, OPTS_HELP_TEXT);
    if (!opts_find(spec, "version"))
        add_row(out, 0, "version", NULL, OPTS_VERSION_TEXT);
    if (!spec->footer)
        return;
    (void)str_addc(out, '\n');
    add_wrapped(out, out->len, 0, spec->footer);
    (void)str_addc(out, '\n');
}
