/* Runs a program to its end and returns its output. It blocks the caller, so it is for command-line tools
 * and not for an event loop. Its standard error is inherited. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct capture {
    const char *program; /* found in PATH, unless it has a slash */
    char *const *argv;   /* ends with NULL, as envp */
    char *const *envp;
    bool keeps_input; /* it reads the caller's; else it has none */
    int64_t limit_ms; /* it is killed after so many milliseconds */
    size_t max_bytes; /* it is killed if it prints more */
};

/* Appends to out; *ret_status is its exit status, 128 + n if signal n ended it. ERR_NOT_FOUND if there is no
 * such program, ERR_TIMEOUT, ERR_INVALID if it prints too much. */
MUST_USE bool capture_run(const struct capture *capture, struct str *out, int *ret_status, struct err *err);
