/* Damage in SQLite's write-ahead log. SQLite reads it up to the first frame with a wrong checksum, as after a
 * crash in the middle of a transaction, and ignores the rest: a flipped bit would silently undo everything
 * after it. The format is public: https://www.sqlite.org/fileformat2.html#walformat. */
#pragma once

#include "base/core/err.h"

/* ERR_INVALID: more than the last transaction cannot be read. A missing or empty log is sound. */
MUST_USE bool store_log_check(const char *path, struct err *err);
