/* Diagnostics of `ipu-launch` itself: one line on standard error, in a single write, so that it stays whole
 * beside what others write. */
#pragma once

void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
