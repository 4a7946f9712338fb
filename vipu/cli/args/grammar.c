#include "vipu/cli/args/grammar.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/nearest.h"

#define CREATE_OPTIONS                                                                                       \
    "size reconfigurable num-gcds gcds gcd-sync-replicas num-ilds routing gw-routing sync-type cluster "     \
    "allocation index ipus relocatable disable-auto-reset"

const struct command grammar[] = {
    {COMMAND_LIST_PARTITIONS, "list", "partition", WORD_NONE, "allocation table-layout",
     "the partitions that the user may see, with their states"},
    {COMMAND_LIST_ALLOCATIONS, "list", "allocation", WORD_NONE, "",
     "the allocations that the user may use, with their agents"},
    {COMMAND_LIST_CLUSTERS, "list", "cluster", WORD_NONE, "", "the clusters, with their IPU-Link domains"},
    {COMMAND_LIST_IPU_ATTRS, "list", "ipu-attr", WORD_NONE, "", "what each IPU says of itself"},
    {COMMAND_CREATE_PARTITION, "create", "partition", WORD_NEW_PARTITION, CREATE_OPTIONS,
     "make a partition, wait until it is active, and write its IPUoF files"},
    {COMMAND_GET_PARTITION, "get", "partition", WORD_PARTITION, "gcd ipuof-configs ipu-configs",
     "everything about one partition, or its IPUoF configurations"},
    {COMMAND_GET_ALLOCATION, "get", "allocation", WORD_ALLOCATION, "",
     "one allocation: how many of its IPUs are free, and how many more partitions of each size would fit"},
    {COMMAND_GET_CLUSTER, "get", "cluster", WORD_CLUSTER, "", "the same of a whole cluster"},
    {COMMAND_RESET_PARTITION, "reset", "partition", WORD_PARTITION, "relocatable",
     "bring a partition back to the state after its creation, and wait for it"},
    {COMMAND_REMOVE_PARTITION, "remove", "partition", WORD_PARTITION, "force",
     "give the IPUs back, wait until they are free, and take the IPUoF files away"},
    {COMMAND_REMOVE_PARTITION, "delete", "partition", WORD_PARTITION, "force", NULL},
    {COMMAND_COMPLETION, "completion", NULL, WORD_SHELL, "",
     "print what makes bash, zsh or fish complete the words of vipu"},
    {0},
};

static const char *word_name(enum word_meaning word)
{
    switch (word) {
    case WORD_SHELL:
        return "bash|zsh|fish";
    case WORD_PARTITION:
    case WORD_NEW_PARTITION:
    case WORD_ALLOCATION:
    case WORD_CLUSTER:
        return "ID";
    case WORD_NONE:
        break;
    }
    return NULL;
}

static bool is_kind(const char *word, const char *kind)
{
    AUTO(mem) char *plural = mem_printf("%ss", kind);

    return str_eq(word, kind) || str_eq(word, plural);
}

static const struct command *complain_of_verb(const char *word, struct strv *problems)
{
    struct nearest nearest = nearest_to(word);

    for (const struct command *c = grammar; c->verb; c++)
        nearest_offer(&nearest, c->verb);
    if (nearest_found(&nearest))
        strv_pushf(problems, "there is no command \"%.60s\"; did you mean %s?", word,
                   nearest_found(&nearest));
    else
        strv_pushf(problems,
                   "there is no command \"%.60s\"; there are list, create, get, reset, remove and "
                   "completion",
                   word);
    return NULL;
}

static const struct command *complain_of_kind(const char *verb, const char *word, struct strv *problems)
{
    struct nearest nearest = nearest_to(word);
    AUTO(str) struct str all = {0};

    for (const struct command *c = grammar; c->verb; c++) {
        if (!str_eq(c->verb, verb) || !c->kind)
            continue;
        nearest_offer(&nearest, c->kind);
        str_addf(&all, "%s%s", all.len ? ", " : "", c->kind);
    }
    if (nearest_found(&nearest))
        strv_pushf(problems, "there is no %s \"%.60s\"; did you mean %s %s?", verb, word, verb,
                   nearest_found(&nearest));
    else
        strv_pushf(problems, "there is no %s \"%.60s\"; %s takes: %s", verb, word, verb, str_text(&all));
    return NULL;
}

static const struct command *complain_of_missing_kind(const char *verb, struct strv *problems)
{
    AUTO(str) struct str all = {0};

    for (const struct command *c = grammar; c->verb; c++)
        if (str_eq(c->verb, verb))
            str_addf(&all, "%s%s", all.len ? ", " : "", c->kind);
    strv_pushf(problems, "%s what? There is: %s", verb, str_text(&all));
    return NULL;
}

static const struct command *named_by(const struct strv *words, struct strv *problems)
{
    const char *verb = words->items[0], *kind = words->count > 1 ? words->items[1] : NULL;
    bool is_verb = false;

    for (const struct command *c = grammar; c->verb; c++) {
        if (!str_eq(verb, c->verb))
            continue;
        is_verb = true;
        if (!c->kind || (kind && is_kind(kind, c->kind)))
            return c;
    }
    if (!is_verb)
        return complain_of_verb(verb, problems);
    return kind ? complain_of_kind(verb, kind, problems) : complain_of_missing_kind(verb, problems);
}

const struct command *grammar_find(const struct strv *words, struct strv *problems)
{
    const struct command *command;
    size_t wanted;

    if (words->count == 0) {
        strv_push(problems, "what to do? For example: vipu list partitions");
        return NULL;
    }
    command = named_by(words, problems);
    if (!command)
        return NULL;
    wanted = 1u + (command->kind != NULL) + (command->word != WORD_NONE);
    if (words->count < wanted && command->kind)
        strv_pushf(problems, "%s %s needs the %s's id", command->verb, command->kind, command->kind);
    else if (words->count < wanted)
        strv_pushf(problems, "%s needs one of: %s", command->verb, word_name(command->word));
    for (size_t i = wanted; i < words->count; i++)
        strv_pushf(problems, "\"%.60s\" is one word too many", words->items[i]);
    return words->count == wanted ? command : NULL;
}

bool grammar_takes(const struct command *command, const char *flag)
{
    size_t len = strlen(flag);

    for (const char *at = command->options; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");

        if (word == len && strncmp(at, flag, len) == 0)
            return true;
        at += word;
    }
    return false;
}

void grammar_title(const struct command *command, struct str *out)
{
    bool is_plural = str_eq(command->verb, "list");

    str_adds(out, command->verb);
    if (command->kind)
        str_addf(out, " %s%s", command->kind, is_plural ? "s" : "");
}

void grammar_usage(const struct command *command, struct str *out)
{
    grammar_title(command, out);
    if (command->word != WORD_NONE)
        str_addf(out, " %s", word_name(command->word));
    if (*command->options)
        str_adds(out, " [OPTIONS]");
}
