/* Shell completion of vipu's command line. The shells' scripts are thin: they call `vipu __complete WORD...`
 * (the last word is the one being typed, possibly empty) and get one candidate per line: the word, a tab,
 * and its description. Pure: it reports which kind of id fits; the caller asks the controller for them. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "vipu/cli/args/grammar.h"

struct completion {
    struct strv candidates; /* "WORD\tDESCRIPTION", all starting with what was typed */
    enum word_meaning ids;  /* ids of these fit too; WORD_NONE: none */
    bool files;             /* file names fit */
    struct str lead;        /* "--allocation=": prefix of each id */
    struct str typed;       /* prefix that an id must have */
};

void completion_of(const struct strv *words, struct completion *ret);
void completion_add_id(struct completion *completion, const char *id);
void completion_release(struct completion *completion);
DEFINE_AUTO(completion);

/* The script for a shell ("bash", "zsh", "fish"); NULL for any other. */
const char *completion_script(const char *shell);
