/* Splits a byte stream into lines, whatever the sizes of its pieces. A line longer than the limit (bytes
 * before its \n) is an error (ERR_INVALID), so memory is bounded by the limit and the largest piece pushed.
 * Lines end in \n; one \r before it is dropped; empty lines are skipped. Take all lines between two pushes;
 * after an error only lines_release may be called. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct lines {
    struct str buf;
    size_t taken; /* bytes of buf already returned */
    size_t whole; /* bytes of buf that are complete lines */
    size_t max_line;
};

void lines_init(struct lines *l, size_t max_line);
void lines_release(struct lines *l);
MUST_USE bool lines_push(struct lines *l, const void *bytes, size_t len, struct err *err);
bool lines_next(struct lines *l, struct slice *ret); /* borrowed until the next lines_push */
