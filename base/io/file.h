/* Small files, read and written completely. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* Appends the file to ret; ERR_INVALID if it is larger than max_bytes. The path is part of the message. */
MUST_USE bool file_read(const char *path, size_t max_bytes, struct str *ret, struct err *err);
/* Replaces the file atomically (write beside it, fsync, rename). */
MUST_USE bool file_write(const char *path, unsigned mode, struct slice bytes, struct err *err);
/* Whether a path stays below the folder that it is taken from: relative, with no component "..". */
bool file_path_is_inside(const char *path);
