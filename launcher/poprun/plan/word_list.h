/* A list of words as one text, for a variable: each word ends with a newline; \n and \\ stand for a newline
 * and a backslash in a word. Pure. */
#pragma once

#include "base/core/str.h"

void word_list_add(struct str *list, const char *word);
void word_list_read(const char *list, struct strv *ret_words); /* appends */
