/* Cuts a byte stream into lines, however it arrives. A line longer than the cap is an error (ERR_INVALID), so memory
 * is bounded by the cap. Lines end in \n; one \r before it is dropped; empty lines are skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct lines {
    struct str buf;
    size_t taken; /* bytes of buf already handed out */
    size_t scanned;
    size_t max_line;
};

void lines_init(struct lines *l, size_t max_line);
void lines_release(struct lines *l);
MUST_USE bool lines_push(struct lines *l, const void *bytes, size_t len, struct err *err);
bool lines_next(struct lines *l, struct slice *ret); /* borrowed until the next lines_push */
bool lines_is_partial(const struct lines *l);        /* bytes of an unfinished line are held */
