/* Words in a text, as --mpi-global-args and its like hold them: split at white space, newlines too. Quotes,
 * single or double, hold a word together when they open it or follow its '='; anywhere else they are letters,
 * so that -x POPLAR_ENGINE_OPTIONS={"a":"b"} arrives as it is. And the reverse: a command as a shell would
 * read it. Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* Appends; ERR_INVALID: a quote is not closed. */
MUST_USE bool shell_words_split(const char *text, struct strv *words, struct err *err);
/* The first word bare, each other one in single quotes. */
void shell_words_join_quoted(const struct strv *words, struct str *out);
/* NULL, or what `-x NAME=...` gives NAME: "" for `-x NAME`. The last one counts. */
const char *shell_words_exported(const struct strv *words, const char *name);
/* --name or -name, alone or with =VALUE, is among them. */
bool shell_words_have_option(const struct strv *words, const char *name);
