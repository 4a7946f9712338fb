#include "popdist/src/core/fail.h"

#include <stdarg.h>
#include <stdio.h>

enum popdist_status fail(struct popdist_error *error, enum popdist_status status, const char *fmt, ...)
{
    va_list args;

    if (!error)
        return status;
    error->status = status;
    va_start(args, fmt);
    (void)vsnprintf(error->text, sizeof error->text, fmt, args);
    va_end(args);
    return status;
}

enum popdist_status fail_memory(struct popdist_error *error)
{
    return fail(error, POPDIST_NO_MEMORY, "not enough memory for the operation");
}
