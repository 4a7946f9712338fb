/* Makes a sound storage file from what can be read of a damaged one. */
#pragma once

#include <stddef.h>

#include "base/core/err.h"

/* Copies every partition with the right checksum to a new file, which takes the place of the damaged one;
 * that one is kept as FILE.damaged. No server may have it open. */
MUST_USE bool store_repair(const char *path, size_t *ret_partitions, struct err *err);
