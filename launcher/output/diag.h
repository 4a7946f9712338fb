/* Diagnostics of `ipu-launch` itself: one line on standard error, in a single write, so that it is not mixed
 * with other output. */
#pragma once

void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
