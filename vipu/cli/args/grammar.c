#include "vipu/cli/args/grammar.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"

#define CREATE_OPTIONS                                                                                       \
    "size reconfigurable num-gcds gcds gcd-sync-replicas num-ilds routing gw-routing sync-type cluster "     \
    "allocation index ipus relocatable disable-auto-reset"

const struct command grammar[] = {
    {COMMAND_LIST_PARTITIONS, "list", "partition", WORD_NONE, "allocation table-layout",
     "list partitions and their states"},
    {COMMAND_LIST_ALLOCATIONS, "list", "allocation", WORD_NONE, "", "list allocations and their agents"},
    {COMMAND_LIST_CLUSTERS, "list", "cluster", WORD_NONE, "", "list clusters and their IPU-Link domains"},
    {COMMAND_LIST_IPU_ATTRS, "list", "ipu-attr", WORD_NONE, "", "list the attributes of every IPU"},
    {COMMAND_CREATE_PARTITION, "create", "partition", WORD_NEW_PARTITION, CREATE_OPTIONS,
     "create a partition, wait until it is active, and write its IPUoF files"},
    {COMMAND_GET_PARTITION, "get", "partition", WORD_PARTITION, "gcd ipuof-configs ipu-configs",
     "show a partition, or print its IPUoF configurations"},
    {COMMAND_GET_ALLOCATION, "get", "allocation", WORD_ALLOCATION, "",
     "show an allocation: its free IPUs, and how many more partitions of each size fit"},
    {COMMAND_GET_CLUSTER, "get", "cluster", WORD_CLUSTER, "",
     "show a cluster: its free IPUs, and how many more partitions of each size fit"},
    {COMMAND_RESET_PARTITION, "reset", "partition", WORD_PARTITION, "relocatable",
     "reset a partition to its initial state, and wait until it is active"},
    {COMMAND_REMOVE_PARTITION, "remove", "partition", WORD_PARTITION, "force",
     "remove a partition, wait until its IPUs are free, and remove its IPUoF files"},
    {COMMAND_REMOVE_PARTITION, "delete", "partition", WORD_PARTITION, "force", NULL},
    {COMMAND_COMPLETION, "completion", NULL, WORD_SHELL, "",
     "print the completion script for bash, zsh or fish"},
    {COMMAND_HELP, "help", NULL, WORD_NONE, "", "print this text, or that of the command whose words follow"},
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

static const struct command *add_unknown_verb(const char *word, struct strv *problems)
{
    struct suggest suggest = suggest_init(word);

    for (const struct command *c = grammar; c->verb; c++)
        suggest_candidate(&suggest, c->verb);
    if (suggest_best(&suggest))
        strv_pushf(problems, "unknown command \"%.60s\"; did you mean \"%s\"?", word, suggest_best(&suggest));
    else
        strv_pushf(
            problems,
            "unknown command \"%.60s\", expected one of: list, create, get, reset, remove, completion, help",
            word);
    return NULL;
}

static const struct command *add_unknown_kind(const char *verb, const char *word, struct strv *problems)
{
    struct suggest suggest = suggest_init(word);
    AUTO(str) struct str all = {0};

    for (const struct command *c = grammar; c->verb; c++) {
        if (!str_eq(c->verb, verb) || !c->kind)
            continue;
        suggest_candidate(&suggest, c->kind);
        str_addf(&all, "%s%s", all.len ? ", " : "", c->kind);
    }
    if (suggest_best(&suggest))
        strv_pushf(problems, "%s: unknown resource \"%.60s\"; did you mean \"%s %s\"?", verb, word, verb,
                   suggest_best(&suggest));
    else
        strv_pushf(problems, "%s: unknown resource \"%.60s\", expected one of: %s", verb, word,
                   str_text(&all));
    return NULL;
}

static const struct command *add_missing_kind(const char *verb, struct strv *problems)
{
    AUTO(str) struct str all = {0};

    for (const struct command *c = grammar; c->verb; c++)
        if (str_eq(c->verb, verb))
            str_addf(&all, "%s%s", all.len ? ", " : "", c->kind);
    strv_pushf(problems, "%s: missing resource, expected one of: %s", verb, str_text(&all));
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
        return add_unknown_verb(verb, problems);
    return kind ? add_unknown_kind(verb, kind, problems) : add_missing_kind(verb, problems);
}

const struct command *grammar_find(const struct strv *words, struct strv *problems)
{
    const struct command *command;
    size_t wanted;

    if (words->count == 0) {
        strv_push(problems, "missing command; for example: vipu list partitions");
        return NULL;
    }
    command = named_by(words, problems);
    if (!command)
        return NULL;
    wanted = 1u + (command->kind != NULL) + (command->word != WORD_NONE);
    if (words->count < wanted && command->kind)
        strv_pushf(problems, "%s %s requires the ID of the %s", command->verb, command->kind, command->kind);
    else if (words->count < wanted)
        strv_pushf(problems, "%s requires one of: %s", command->verb, word_name(command->word));
    for (size_t i = wanted; i < words->count; i++)
        strv_pushf(problems, "unexpected argument \"%.60s\"", words->items[i]);
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

bool grammar_is_special(const char *flag)
{
    for (const struct command *c = grammar; c->verb; c++)
        if (grammar_takes(c, flag))
            return true;
    return false;
}

bool grammar_begins_with(const struct command *command, const struct strv *words)
{
    return (words->count < 1 || str_eq(words->items[0], command->verb)) &&
           (words->count < 2 || !command->kind || is_kind(words->items[1], command->kind));
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
