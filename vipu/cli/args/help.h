/* The help text and the manual page of vipu, from its tables of commands and options. Pure; appends to `out`.
 */
#pragma once

#include "base/core/str.h"

void help_text(struct str *out);
/* Of the commands that begin with these words: one with its options, or a list; all of vipu if there are
 * none. */
void help_of(const struct strv *words, struct str *out);
void help_man(struct str *out);
