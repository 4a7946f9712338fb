/* Completion of vipu's words in a shell. The shells' scripts are thin: they ask `vipu __complete WORD...`
 * (the last word is the one being typed, perhaps empty) and get one candidate a line, a tab, and what it is.
 * Pure: which ids would fit is said, and asking the controller for them is the caller's. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "vipu/cli/args/grammar.h"

struct completion {
    struct strv candidates; /* "WORD\tDESCRIPTION", all beginning with what was typed */
    enum word_meaning ids;  /* ids of these fit too; WORD_NONE: none do */
    bool files;             /* names of files fit */
    struct str lead;        /* "--allocation=": stands in front of an id */
    struct str typed;       /* what an id has to begin with */
};

void completion_of(const struct strv *words, struct completion *ret);
void completion_add_id(struct completion *completion, const char *id);
void completion_release(struct completion *completion);

/* The script for a shell ("bash", "zsh", "fish"); NULL for another one. */
const char *completion_script(const char *shell);

static inline void completion_auto(struct completion *completion)
{
    completion_release(completion);
}
