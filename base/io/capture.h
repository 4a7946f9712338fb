/* Runs a program to its end and takes what it prints. The caller waits, so this is for tools and never for a
 * loop that others depend on. The program reads nothing; its errors go where ours do. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct capture {
    const char *program; /* found in PATH, unless it has a slash */
    char *const *argv;   /* ends with NULL, as envp */
    char *const *envp;
    int64_t limit_ms; /* it is killed after so long */
    size_t max_bytes; /* it is killed when it prints more */
};

/* Appends to out; *ret_status is its exit status, 128 + n when signal n ended it. ERR_NOT_FOUND when there is
 * no such program, ERR_TIMEOUT, ERR_INVALID when it prints too much. */
MUST_USE bool capture_run(const struct capture *capture, struct str *out, int *ret_status, struct err *err);
