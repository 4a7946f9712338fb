/* What `ipu-launch` itself has to say: one line on standard error, written at once, so that it stays whole
 * beside what others write. */
#pragma once

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
