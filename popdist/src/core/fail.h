/* How a function of PopDist fails: `return fail(error, POPDIST_INVALID, "...")`. error may be NULL; then
 * only the status is returned. A sentence that does not fit is truncated. */
#ifndef POPDIST_FAIL_H
#define POPDIST_FAIL_H

#include "popdist/popdist.h"

enum popdist_status fail(struct popdist_error *error, enum popdist_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

enum popdist_status fail_memory(struct popdist_error *error);

#endif
