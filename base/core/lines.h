/* Cuts a byte stream into lines, however it arrives. A line longer than the cap (bytes before its \n) is an
 * error (ERR_INVALID), so memory is bounded by the cap and the largest piece pushed. Lines end in \n; one \r
 * before it is dropped; empty lines are skipped. Take all lines between two pushes; after an error only
 * lines_release is left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct lines {
    struct str buf;
    size_t taken; /* bytes of buf already handed out */
    size_t whole; /* bytes of buf that are whole lines */
    size_t max_line;
};

void lines_init(struct lines *l, size_t max_line);
void lines_release(struct lines *l);
MUST_USE bool lines_push(struct lines *l, const void *bytes, size_t len, struct err *err);
bool lines_next(struct lines *l, struct slice *ret); /* borrowed until the next lines_push */
bool lines_is_partial(const struct lines *l);        /* bytes of an unfinished line are held */
