/* Shell completion of vipu's command line: options as base/options/opts_completion.h has them, and the words
 * of the grammar. Pure: it reports which kind of id fits; the caller asks the controller for them. */
#pragma once

#include "base/options/opts_completion.h"
#include "vipu/cli/args/grammar.h"

struct completion {
    struct opts_completion words;
    enum word_meaning ids; /* ids of these fit too; WORD_NONE: none */
};

void completion_of(const struct strv *words, struct completion *ret);
void completion_add_id(struct completion *completion, const char *id);
void completion_release(struct completion *completion);
DEFINE_AUTO(completion);

#define COMPLETION_NAMES "vipu vipu-cli"
#define COMPLETION_SOURCE "vipu completion"
