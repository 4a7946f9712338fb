/* The commands of vipu: one table for the parser, the help text, the manual page and shell completion. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

enum command_name {
    COMMAND_LIST_PARTITIONS,
    COMMAND_LIST_ALLOCATIONS,
    COMMAND_LIST_CLUSTERS,
    COMMAND_LIST_IPU_ATTRS,
    COMMAND_CREATE_PARTITION,
    COMMAND_GET_PARTITION,
    COMMAND_GET_ALLOCATION,
    COMMAND_GET_CLUSTER,
    COMMAND_RESET_PARTITION,
    COMMAND_REMOVE_PARTITION,
    COMMAND_COMPLETION,
    COMMAND_HELP,
};

/* The kind of the third word. */
enum word_meaning {
    WORD_NONE,
    WORD_PARTITION,
    WORD_NEW_PARTITION,
    WORD_ALLOCATION,
    WORD_CLUSTER,
    WORD_SHELL
};

struct command {
    enum command_name name;
    const char *verb;
    const char *kind; /* singular; NULL: the verb has no kind */
    enum word_meaning word;
    const char *options; /* flags that only this and a few other commands accept, separated by spaces */
    const char *about;   /* NULL: an old spelling; accepted, but not shown */
};

extern const struct command grammar[]; /* ends with verb NULL */

/* The command that the words name; NULL with every problem if there is none, or words are missing or too
 * many. Kinds may be plural. */
const struct command *grammar_find(const struct strv *words, struct strv *problems);
bool grammar_takes(const struct command *command, const char *flag);
bool grammar_is_special(const char *flag); /* only some commands take it, like --size, but not --output */
/* Does it begin with these words, as far as there are any? Kinds may be plural. */
bool grammar_begins_with(const struct command *command, const struct strv *words);
/* "create partition ID", as in help. */
void grammar_usage(const struct command *command, struct str *out);
/* Verb and kind as they are shown: "list partitions". */
void grammar_title(const struct command *command, struct str *out);
