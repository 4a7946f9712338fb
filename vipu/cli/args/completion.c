#include "vipu/cli/args/completion.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/cli/args/options.h"

static void offer(struct completion *c, const char *word, const char *about)
{
    if (str_has_prefix(word, str_text(&c->typed)))
        strv_pushf(&c->candidates, "%s%s\t%s", str_text(&c->lead), word, about);
}

void completion_add_id(struct completion *c, const char *id)
{
    offer(c, id, "");
}

void completion_release(struct completion *c)
{
    strv_release(&c->candidates);
    str_release(&c->lead);
    str_release(&c->typed);
}

/* The option of a word such as "--size", "--size=4" or "-H", or NULL. */
static const struct opt *option_of(const char *word)
{
    size_t len = strcspn(word, "=");

    for (const struct opt *row = options_spec.rows; row->flag; row++) {
        if (str_has_prefix(word, "--") && strlen(row->flag) == len - 2 &&
            strncmp(row->flag, word + 2, len - 2) == 0)
            return row;
        if (word[0] == '-' && word[1] && word[1] == row->letter && !word[2])
            return row;
    }
    return NULL;
}

/* What precedes the word being typed. */
struct before {
    struct strv words;       /* without options and their values */
    const struct opt *value; /* the option whose value is being typed, or NULL */
};

/* bash treats "=" as a word of its own. */
static struct before look_back(const struct strv *words)
{
    struct before before = {0};

    for (size_t i = 0; i + 1 < words->count; i++) {
        const char *word = words->items[i];
        const struct opt *row = option_of(word);

        if (str_eq(word, "="))
            continue;
        if (before.value)
            before.value = NULL;
        else if (row && row->type != OPT_FLAG && !strchr(word, '='))
            before.value = row;
        else if (word[0] != '-')
            strv_push(&before.words, word);
    }
    return before;
}

static void offer_values(struct completion *c, const struct opt *row)
{
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        offer(c, row->choices[i], "");
    if (str_eq(row->flag, "allocation"))
        c->ids = WORD_ALLOCATION;
    else if (str_eq(row->flag, "cluster"))
        c->ids = WORD_CLUSTER;
    c->files = str_eq(row->arg, "FILE");
}

static void offer_options(struct completion *c, const struct command *command)
{
    for (const struct opt *row = options_spec.rows; row->flag; row++) {
        AUTO(mem) char *word = mem_printf("--%s", row->flag);

        if (row->help && !(command && grammar_is_special(row->flag) && !grammar_takes(command, row->flag)))
            offer(c, word, row->help);
    }
    offer(c, "--help", OPTS_HELP_TEXT);
    offer(c, "--version", OPTS_VERSION_TEXT);
}

static bool is_first_of_verb(const struct command *command)
{
    for (const struct command *c = grammar; c < command; c++)
        if (str_eq(c->verb, command->verb))
            return false;
    return true;
}

static void offer_verbs(struct completion *c)
{
    for (const struct command *command = grammar; command->verb; command++)
        if (command->about && is_first_of_verb(command))
            offer(c, command->verb, "");
}

static void offer_kinds(struct completion *c, const char *verb)
{
    for (const struct command *command = grammar; command->verb; command++) {
        AUTO(str) struct str title = {0};

        if (!str_eq(command->verb, verb) || !command->kind)
            continue;
        grammar_title(command, &title);
        offer(c, strchr(str_text(&title), ' ') + 1, command->about ? command->about : "");
    }
}

static void offer_ids(struct completion *c, enum word_meaning word)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};

    if (word == WORD_SHELL)
        for (size_t i = 0; i < COUNT_OF(shells); i++)
            offer(c, shells[i], "");
    else if (word != WORD_NEW_PARTITION)
        c->ids = word;
}

static const struct command *command_of(const struct strv *words)
{
    AUTO(strv) struct strv ignored = {0}, whole = {0};
    const struct command *command;

    for (size_t i = 0; i < words->count && i < 2; i++)
        strv_push(&whole, words->items[i]);
    /* The table finds a command by its first words; the id may be missing or wrong. */
    command = grammar_find(&whole, &ignored);
    strv_push(&whole, "id");
    return command ? command : grammar_find(&whole, &ignored);
}

static void offer_words(struct completion *c, const struct strv *before)
{
    const struct command *command = before->count ? command_of(before) : NULL;

    if (before->count == 0)
        offer_verbs(c);
    else if (!command && before->count == 1)
        offer_kinds(c, before->items[0]);
    else if (command && before->count == 1u + (command->kind != NULL))
        offer_ids(c, command->word);
}

static void complete_word(const struct strv *before, struct completion *c)
{
    const char *typed = str_text(&c->typed);

    if (typed[0] == '-')
        offer_options(c, before->count ? command_of(before) : NULL);
    else
        offer_words(c, before);
}

void completion_of(const struct strv *words, struct completion *ret)
{
    const char *last = words->count ? words->items[words->count - 1] : "", *equals = strchr(last, '=');
    struct before before = look_back(words);
    const struct opt *row = before.value;

    *ret = (struct completion){0};
    if (!row && str_has_prefix(last, "--") && equals && (row = option_of(last))) {
        str_add(&ret->lead, last, (size_t)(equals - last) + 1);
        last = equals + 1;
    } else if (str_eq(last, "=")) {
        last = "";
    }
    str_adds(&ret->typed, last);
    if (row)
        offer_values(ret, row);
    else
        complete_word(&before.words, ret);
    strv_release(&before.words);
}
