/* Splits a string such as --mpi-global-args into words: at white space, including newlines. Quotes, single
 * or double, group a word if they start it or follow its '='; anywhere else they are ordinary characters, so
 * that -x POPLAR_ENGINE_OPTIONS={"a":"b"} is unchanged. And the reverse: a command as a shell would read it.
 * Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* Appends; ERR_INVALID: a quote is not closed. */
MUST_USE bool shell_words_split(const char *text, struct strv *words, struct err *err);
/* The first word unquoted, all others in single quotes. */
void shell_words_join_quoted(const struct strv *words, struct str *out);
/* NULL, or the value that `-x NAME=...` sets: "" for `-x NAME`. The last one counts. */
const char *shell_words_exported(const struct strv *words, const char *name);
/* Whether they contain --name or -name, alone or with =VALUE. */
bool shell_words_have_option(const struct strv *words, const char *name);
