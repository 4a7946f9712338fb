/* Members of a tar archive (POSIX.1-1988 ustar, pax(1)). Pure. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"

#define ARCHIVE_NAME_MAX 99 /* bytes of a name in a header */
#define ARCHIVE_BLOCK 512

/* The header of a file that only its owner may read. A longer name is cut, and characters that no name of
 * Kubernetes has, or that a part of it may not begin with, become '_'. */
void archive_header(const char *name, uint64_t size, int64_t time_s, unsigned char ret[ARCHIVE_BLOCK]);
/* Zeros after so many bytes of a file. */
size_t archive_padding(uint64_t size);
