/* Text from outside - logs, other programs, peers - as it may be shown: a control character would move the
 * cursor of a terminal, or hide what follows, and a format character would reorder or hide the text around it
 * (U+202E, U+200B). Control characters (C0, C1 and DEL), format characters, separators of lines and
 * paragraphs, and bytes that are not UTF-8 become text, as in Go's %q: \n, \r, \t, \x1b, \u009b, \u202e,
 * \xff. Everything else stays as it is. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"

/* Control characters to keep: of a text of several lines, and of one line. */
#define VISIBLE_LINES "\n\t"
#define VISIBLE_LINE ""

/* Bytes of the UTF-8 character at `at` that needs no change, or 0. */
size_t visible_len(const char *at, size_t left);
bool visible_is(const char *text, const char *kept);
bool str_add_visible(struct str *out, struct slice text, const char *kept);
char *visible_new(const char *text, const char *kept); /* owned by the caller */
