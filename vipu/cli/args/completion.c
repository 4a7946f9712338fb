#include "vipu/cli/args/completion.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/cli/args/options.h"

void completion_add_id(struct completion *c, const char *id)
{
    opts_completion_offer(&c->words, id, "");
}

void completion_release(struct completion *c)
{
    opts_completion_release(&c->words);
}

static void offer_values(struct completion *c)
{
    opts_completion_offer_values(&c->words);
    if (str_eq(c->words.value->flag, "allocation"))
        c->ids = WORD_ALLOCATION;
    else if (str_eq(c->words.value->flag, "cluster"))
        c->ids = WORD_CLUSTER;
}

static void offer_options(struct completion *c, const struct command *command)
{
    for (const struct opt *row = options_spec.rows; row->flag; row++)
        if (row->help && !(command && grammar_is_special(row->flag) && !grammar_takes(command, row->flag)))
            opts_completion_offer_option(&c->words, row);
    opts_completion_offer_help(&c->words);
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
            opts_completion_offer(&c->words, command->verb, "");
}

static void offer_kinds(struct completion *c, const char *verb)
{
    for (const struct command *command = grammar; command->verb; command++) {
        AUTO(str) struct str title = {0};

        if (!str_eq(command->verb, verb) || !command->kind)
            continue;
        grammar_title(command, &title);
        opts_completion_offer(&c->words, strchr(str_text(&title), ' ') + 1,
                              command->about ? command->about : "");
    }
}

static void offer_ids(struct completion *c, enum word_meaning word)
{
    static const char *const shells[] = OPTS_COMPLETION_SHELLS;

    if (word == WORD_SHELL)
        for (size_t i = 0; shells[i]; i++)
            opts_completion_offer(&c->words, shells[i], "");
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

static void complete_word(struct completion *c)
{
    const struct strv *before = &c->words.before;

    if (*str_text(&c->words.typed) == '-')
        offer_options(c, before->count ? command_of(before) : NULL);
    else
        offer_words(c, before);
}

void completion_of(const struct strv *words, struct completion *ret)
{
    *ret = (struct completion){0};
    opts_completion_begin(&options_spec, words, &ret->words);
    if (ret->words.value)
        offer_values(ret);
    else
        complete_word(ret);
}
